package io.homeostat.observe.process;

import io.homeostat.observe.limits.KernelFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The environment with which a process's program was executed, /proc/PID/environ. A process can show any of its memory there, prctl(2), and
 * gigabytes of it: so it is read piece by piece, and no further than an environment can be long.
 */
record ProcessEnvironment(Path file) {
    /** More than the 6 MiB of arguments and environment that execve(2) takes. */
    private static final int LONGEST = 8 << 20;

    /** As long as a path. What is found is kept. */
    private static final int LONGEST_VALUE = 4096;

    private static final int PIECE = 4096;

    /**
     * What was found.
     *
     * @param value empty also when it is longer than any of ours, or the environment is longer than any that a program is executed with
     * @param isWhole false of a program that is being executed: it is nothing then, or the first part of what the former one had
     */
    record Found(Optional<String> value, boolean isWhole) {}

    /** Finds the first variable with this name. */
    Found find(String variable) throws IOException {
        Search search = new Search(variable);
        byte[] piece = new byte[PIECE];
        int length = 0;
        boolean isWhole = false;
        try (InputStream in = KernelFile.open(file)) {
            for (int count = in.read(piece); count > 0; count = in.read(piece)) {
                length += count;
                if (length > LONGEST) {
                    return new Found(Optional.empty(), true);
                }
                search.go(piece, count);
                isWhole = piece[count - 1] == 0;
            }
        }
        return new Found(Optional.ofNullable(search.found), isWhole);
    }

    private static final class Search {
        private static final int OTHER = -1;

        private final byte[] start;
        private final StringBuilder value = new StringBuilder();
        /** How many bytes of the start the variable has so far that is being read. */
        private int matched;

        private @Nullable String found;

        Search(String variable) {
            start = (variable + "=").getBytes(StandardCharsets.ISO_8859_1);
        }

        void go(byte[] piece, int count) {
            for (int i = 0; i < count && found == null; i++) {
                byte next = piece[i];
                if (next == 0) {
                    found = matched == start.length ? value.toString() : null;
                    matched = 0;
                } else if (matched == start.length) {
                    value.append((char) (next & 0xff));
                    matched = value.length() > LONGEST_VALUE ? OTHER : matched;
                } else if (matched != OTHER) {
                    matched = next == start[matched] ? matched + 1 : OTHER;
                }
            }
        }
    }
}
