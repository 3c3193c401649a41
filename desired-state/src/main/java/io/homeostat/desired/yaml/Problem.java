package io.homeostat.desired.yaml;

import io.homeostat.desired.model.VisibleText;
import java.util.Comparator;

/**
 * Something wrong with what was read. Never quotes a secret.
 *
 * @param subject what is missing, where several things can be at one place; else empty
 * @param line from 1; 0 if the problem is the file as a whole
 * @param column from 1, in characters; 0 if the problem is the file as a whole
 * @param path the keys that lead to it, such as {@code spec.limits.cpu}; may be empty
 * @param detail what is wrong and what would be right
 */
public record Problem(Kind kind, String subject, String file, int line, int column, String path, String detail)
        implements Comparable<Problem> {
    /** What is wrong, for programs. Stored by name. */
    public enum Kind {
        /** Stored by a version that did not tell kinds apart. */
        UNSPECIFIED,
        /** There is nothing, or it can't be read. */
        UNREADABLE,
        /** A symbolic link where none may be, or one that leads nowhere or back. */
        LINK,
        /** Somebody can change it whose declarations are not obeyed here. */
        UNTRUSTED,
        /** Neither a file nor a directory. */
        NO_FILE,
        /** Larger, deeper or more than is read. */
        TOO_LARGE,
        /** Not in the language in which documents are written. */
        SYNTAX,
        UNKNOWN_KEY,
        MISSING_KEY,
        /** A field says what it can't say. */
        VALUE,
        /** Two of one name. */
        DUPLICATE,
        /** Workloads that depend on themselves. */
        CYCLE
    }

    private static final Comparator<Problem> ORDER = Comparator.comparing(Problem::file)
            .thenComparingInt(Problem::line)
            .thenComparingInt(Problem::column)
            .thenComparing(Problem::message);

    @Override
    public int compareTo(Problem other) {
        return ORDER.compare(this, other);
    }

    Problem(Kind kind, String file, int line, int column, String detail) {
        this(kind, "", file, line, column, "", detail);
    }

    /** A file as a whole is wrong. */
    Problem(Kind kind, String file, String detail) {
        this(kind, file, 0, 0, detail);
    }

    /** {@code path: detail}, or only the detail. */
    public String message() {
        return path.isEmpty() ? detail : path + ": " + detail;
    }

    /** Where in the file it is: two problems of one kind are the same one when this is equal, whatever their words. */
    public String whereInFile() {
        String key = subject.isEmpty() ? path : Binder.join(path, subject);
        return line + ":" + column + (key.isEmpty() ? "" : " " + key);
    }

    /** {@code file:line:column}. */
    String place() {
        return line == 0 ? file : file + ":" + line + ":" + column;
    }

    /** {@code file:line:column: message}, for people: who names a file may not be who reads this. */
    @Override
    public String toString() {
        return VisibleText.line(place()) + ": " + VisibleText.line(message());
    }
}
