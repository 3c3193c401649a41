package io.homeostat.desired.yaml;

import java.util.ArrayList;
import java.util.List;

/** Collects what is wrong with one file; of a file that is nothing but errors the first thousand. */
final class Report {
    static final int MAX_ERRORS = 1000;

    private final String file;
    private final List<Problem> errors = new ArrayList<>();
    private final List<Problem> warnings = new ArrayList<>();
    private int count;

    Report(String file) {
        this.file = file;
    }

    /** Goes on from the errors of an earlier one, of which there were so many in all. */
    Report(String file, List<Problem> errors, int count) {
        this(file);
        this.errors.addAll(errors);
        this.count = count;
    }

    String file() {
        return file;
    }

    /** @param path the keys that lead to it; empty if it is no field's problem */
    void error(Problem.Kind kind, Node at, String path, String detail) {
        error(kind, "", at, path, detail);
    }

    /** @param subject see {@link Problem#subject} */
    void error(Problem.Kind kind, String subject, Node at, String path, String detail) {
        error(new Problem(kind, subject, file, at.line(), at.column(), path, detail));
    }

    void error(Problem.Kind kind, int line, int column, String detail) {
        error(new Problem(kind, file, line, column, detail));
    }

    void error(Problem problem) {
        count++;
        if (count <= MAX_ERRORS) {
            errors.add(problem);
        } else if (count == MAX_ERRORS + 1) {
            errors.add(new Problem(
                    Problem.Kind.TOO_LARGE,
                    file,
                    problem.line(),
                    problem.column(),
                    "and more; the first " + MAX_ERRORS + " errors are shown"));
        }
    }

    void error(Problem.Kind kind, String message) {
        error(kind, 0, 0, message);
    }

    void warning(Node at, String path, String detail) {
        warnings.add(new Problem(Problem.Kind.VALUE, "", file, at.line(), at.column(), path, detail));
    }

    /** How many errors there have been, those that {@link #errors} leaves out included. */
    int count() {
        return count;
    }

    List<Problem> errors() {
        return errors;
    }

    List<Problem> warnings() {
        return warnings;
    }
}
