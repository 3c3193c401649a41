package io.homeostat.desired.yaml;

import java.util.ArrayList;
import java.util.List;

/** Collects what is wrong with one file. */
final class Report {
    private final String file;
    private final List<Problem> errors = new ArrayList<>();
    private final List<Problem> warnings = new ArrayList<>();

    Report(String file) {
        this.file = file;
    }

    String file() {
        return file;
    }

    void error(Node at, String message) {
        error(at.line(), at.column(), message);
    }

    void error(int line, int column, String message) {
        errors.add(new Problem(file, line, column, message));
    }

    void error(String message) {
        error(0, 0, message);
    }

    void warning(Node at, String message) {
        warnings.add(new Problem(file, at.line(), at.column(), message));
    }

    List<Problem> errors() {
        return errors;
    }

    List<Problem> warnings() {
        return warnings;
    }
}
