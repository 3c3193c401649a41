package io.homeostat.desired.model;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Location;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import io.homeostat.desired.model.schema.Fields.Secret;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** An archive (tar.gz, tar or zip) and how to fetch it. */
public record Source(
        @Doc(
                "Where the archive is: https, http, file, or a path relative to this file. The query of a signed URL is a secret.")
        @Secret
        @Location
        String url,

        @Doc("SHA-256 of the archive. Without it the revision alone says what is installed, and nothing is verified.")
        @Matches(value = "[0-9a-fA-F]{64}", words = "64 hexadecimal digits")
        @Nullable
        String sha256,

        @Doc(
                "Ed25519 signature of the archive's SHA-256 (the 32 bytes), in base64; checked with the keys in agent.yaml. It covers the archive alone, not name and revision.")
        @Matches(value = "[A-Za-z0-9+/]{85}[AQgw]==", words = "64 bytes in base64 (86 characters and '==')")
        @Nullable
        String signature,

        @Doc("How long one attempt may take.") @Default("60s") @Range(min = 1)
        Duration timeout,

        @Doc("How often the download is tried before it counts as failed.") @Default("3") @Range(min = 1, max = 1000)
        int attempts) {

    /** An archive that nobody has signed. */
    public Source(String url, @Nullable String sha256, Duration timeout, int attempts) {
        this(url, sha256, null, timeout, attempts);
    }

    /**
     * The name of the archive in the cache and in the marker of an installation: its SHA-256 or, if none is declared, a hash of workload,
     * revision and URL without query, so that a renewed signature does not change it.
     */
    public String archiveKey(WorkloadId id, String revision) {
        return sha256 != null
                ? sha256.toLowerCase(Locale.ROOT)
                : "unverified-"
                        + Hashing.sha256().hashString(id + "\0" + revision + "\0" + shownUrl(), StandardCharsets.UTF_8);
    }

    /** By which a revision tells it from others: its SHA-256, else its URL, of which it makes no difference how it is signed. */
    String identity() {
        return sha256 == null ? url.replaceAll("\\?.*", "") : sha256;
    }

    /** The URL as it may be shown: without its query and user information. */
    public String shownUrl() {
        return Redaction.url(url);
    }
}
