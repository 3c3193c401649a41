package io.homeostat.reconcile.command;

import io.homeostat.desired.yaml.Problem;
import io.homeostat.desired.yaml.ReadResult;
import java.io.PrintStream;

/** Tells people what is wrong with their files. */
public final class Problems {
    private Problems() {}

    /** One line each: {@code file:line:column: message}. */
    public static void print(ReadResult read, PrintStream err) {
        for (Problem warning : read.warnings()) {
            err.println("warning: " + warning);
        }
        for (Problem error : read.errors()) {
            err.println(error);
        }
        err.flush();
    }

    /** "1 error", "3 errors". */
    static String count(ReadResult read) {
        int errors = read.errors().size();
        return errors == 1 ? "1 error" : errors + " errors";
    }
}
