package io.homeostat.observe.files;

import com.google.common.collect.ImmutableMap;
import com.google.common.hash.Hashing;
import java.util.Optional;

/** What is at a path whose content matters: for comparing, not for showing. */
public sealed interface FileContent {
    /** What a file is read as. */
    enum Use {
        /** An {@link EnvironmentFile}. */
        VARIABLES,
        /** A {@link FileValue}. */
        VALUE,
        /** Whatever the program makes of it. */
        BYTES
    }

    /**
     * A file that can be read.
     *
     * @param sha256 of its bytes, lowercase hexadecimal. Of a short secret it tells too much to be shown
     * @param unfit why it can't be read as that, as a sentence about it that quotes no value
     */
    record Present(String sha256, ImmutableMap<Use, String> unfit) implements FileContent {
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
        ImmutableMap.Builder<Use, String> unfit = ImmutableMap.builder();
        EnvironmentFile.of(bytes).problem().ifPresent(why -> unfit.put(Use.VARIABLES, why));
        FileValue.of(bytes).problem().ifPresent(why -> unfit.put(Use.VALUE, why));
        return new Present(Hashing.sha256().hashBytes(bytes).toString(), unfit.buildOrThrow());
    }

    /** Why it can't be used so, as a sentence about it; empty when it can. */
    default Optional<String> problem(Use use) {
        return switch (this) {
            case Present present -> Optional.ofNullable(present.unfit().get(use));
            case Absent absent -> Optional.of("it does not exist");
            case Unusable(String why) -> Optional.of(why);
        };
    }
}
