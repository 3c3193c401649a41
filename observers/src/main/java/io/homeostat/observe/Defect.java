package io.homeostat.observe;

import java.util.Arrays;

/** What is said of an exception that nobody expected. */
public final class Defect {
    private Defect() {}

    /** For people: that this is nobody's mistake but ours, what was thrown, and where, without its stack. */
    public static String words(Throwable problem) {
        String where = Arrays.stream(problem.getStackTrace())
                .filter(frame -> frame.getClassName().startsWith("io.homeostat."))
                .findFirst()
                .map(frame -> " (" + frame.getFileName() + ":" + frame.getLineNumber() + ")")
                .orElse("");
        String what = problem.toString().lines().findFirst().orElse("");
        return "internal error, a defect of homeostat: " + what + where;
    }
}
