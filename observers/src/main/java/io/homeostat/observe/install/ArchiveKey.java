package io.homeostat.observe.install;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * What an archive is called in the cache and in the note of an installation: its SHA-256, or, where none is declared, a hash of
 * who wants which revision from where. A renewed signature in the URL's query makes no new key.
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
