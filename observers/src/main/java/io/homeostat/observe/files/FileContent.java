package io.homeostat.observe.files;

import com.google.common.hash.Hashing;
import java.util.Optional;

/** What is at a path whose content matters: for comparing, not for showing. */
public sealed interface FileContent {
    /**
     * A file that can be read.
     *
     * @param sha256 of its bytes, lowercase hexadecimal. Of a short secret it tells too much to be shown
     */
    record Present(String sha256) implements FileContent {
        @Override
        public String toString() {
            return "Present";
        }
    }

    /** Nothing. */
    record Absent() implements FileContent {}

    /** Something that is no file we can read, and why, as a sentence about it. */
    record Unusable(String why) implements FileContent {}

    static FileContent of(byte[] bytes) {
        return new Present(Hashing.sha256().hashBytes(bytes).toString());
    }

    /** Why it can't be read, as a sentence about it; empty when it can. */
    default Optional<String> problem() {
        return switch (this) {
            case Present present -> Optional.empty();
            case Absent absent -> Optional.of("it does not exist");
            case Unusable(String why) -> Optional.of(why);
        };
    }
}
