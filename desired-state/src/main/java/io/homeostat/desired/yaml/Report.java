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

    String file() {
        return file;
    }

    /** @param path the keys that lead to it; empty if it is no field's problem */
    void error(Node at, String path, String detail) {
        error(new Problem(file, at.line(), at.column(), path, detail));
    }

    void error(Node at, String detail) {
        error(at, "", detail);
    }

    void error(int line, int column, String detail) {
        error(new Problem(file, line, column, detail));
    }

    private void error(Problem problem) {
        count++;
        if (count <= MAX_ERRORS) {
            errors.add(problem);
        } else if (count == MAX_ERRORS + 1) {
            errors.add(new Problem(
                    file, problem.line(), problem.column(), "and more; the first " + MAX_ERRORS + " errors are shown"));
        }
    }

    void error(String message) {
        error(0, 0, message);
    }

    void warning(Node at, String path, String detail) {
        warnings.add(new Problem(file, at.line(), at.column(), path, detail));
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
