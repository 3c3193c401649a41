package io.homeostat.desired.yaml;

import java.util.Comparator;

/**
 * Something wrong with what was read. Never quotes a secret.
 *
 * @param line from 1; 0 if the problem is the file as a whole
 * @param column from 1, in characters; 0 if the problem is the file as a whole
 * @param path the keys that lead to it, such as {@code spec.limits.cpu}; empty if it is no field's problem
 * @param detail what is wrong and what would be right
 */
public record Problem(String file, int line, int column, String path, String detail) implements Comparable<Problem> {
    private static final Comparator<Problem> ORDER = Comparator.comparing(Problem::file)
            .thenComparingInt(Problem::line)
            .thenComparingInt(Problem::column)
            .thenComparing(Problem::message);

    @Override
    public int compareTo(Problem other) {
        return ORDER.compare(this, other);
    }

    Problem(String file, int line, int column, String detail) {
        this(file, line, column, "", detail);
    }

    /** {@code path: detail}, or only the detail. */
    public String message() {
        return path.isEmpty() ? detail : path + ": " + detail;
    }

    /** {@code file:line:column}. */
    String place() {
        return line == 0 ? file : file + ":" + line + ":" + column;
    }

    /** {@code file:line:column: message}. */
    @Override
    public String toString() {
        return place() + ": " + message();
    }
}
