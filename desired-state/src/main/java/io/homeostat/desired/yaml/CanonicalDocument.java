package io.homeostat.desired.yaml;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Workload;
import java.nio.charset.StandardCharsets;

/**
 * A workload with its stored form, see {@link DocumentCodec}, printed once for all who need it.
 *
 * @param text contains secrets
 * @param hash lowercase hexadecimal SHA-256 of the text
 */
public record CanonicalDocument(Workload workload, String text, String hash) {
    public static CanonicalDocument of(Workload workload) {
        String text = DocumentCodec.toJson(workload);
        return new CanonicalDocument(
                workload,
                text,
                Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString());
    }

    /** Without the text. */
    @Override
    public String toString() {
        return workload.id() + " " + hash;
    }
}
