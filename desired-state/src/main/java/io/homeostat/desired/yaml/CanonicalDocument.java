package io.homeostat.desired.yaml;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Workload;
import java.nio.charset.StandardCharsets;

/**
 * A workload with what its stored form is compared by. The form itself, see {@link DocumentCodec}, is printed when it is needed: of most
 * documents it is only compared, and all of many would take more memory than anything else.
 *
 * @param length of the stored form, in characters
 * @param hash lowercase hexadecimal SHA-256 of the stored form
 */
public record CanonicalDocument(Workload workload, int length, String hash) {
    public static CanonicalDocument of(Workload workload) {
        String text = DocumentCodec.toJson(workload);
        return new CanonicalDocument(
                workload,
                text.length(),
                Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString());
    }

    /** The stored form. Contains secrets. */
    public String text() {
        return DocumentCodec.toJson(workload);
    }

    @Override
    public String toString() {
        return workload.id() + " " + hash;
    }
}
