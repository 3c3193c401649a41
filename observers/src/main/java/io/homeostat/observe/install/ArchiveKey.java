package io.homeostat.observe.install;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * The name of an archive in the cache and in the marker of an installation: its SHA-256 or, when none is declared, a hash of workload,
 * revision and URL. A renewed signature in the URL's query does not change the key.
 */
public final class ArchiveKey {
    private ArchiveKey() {}

    public static String of(WorkloadId id, String revision, Source source) {
        String sha256 = source.sha256();
        if (sha256 != null) {
            return sha256.toLowerCase(Locale.ROOT);
        }
        String what = id + "\0" + revision + "\0" + Redaction.url(source.url());
        return "unverified-" + Hashing.sha256().hashString(what, StandardCharsets.UTF_8);
    }
}
