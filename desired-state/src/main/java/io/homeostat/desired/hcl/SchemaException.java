package io.homeostat.desired.hcl;

/** A driver answered with a schema that can't be used. The message names the key of the schema and what is wrong with it. */
public final class SchemaException extends Exception {
    private static final long serialVersionUID = 1L;

    SchemaException(String place, String what) {
        super("the driver's schema " + (place.isEmpty() ? "" : "of \"" + place + "\" ") + what);
    }

    /** Describes what reading a schema failed with that passed all checks: whatever a driver answers is the driver's mistake. */
    static SchemaException unreadable(Throwable problem) {
        SchemaException unreadable = new SchemaException(
                "",
                problem instanceof StackOverflowError
                        ? "is nested too deep"
                        : "can't be read (" + problem.getClass().getSimpleName() + ")");
        unreadable.initCause(problem);
        return unreadable;
    }
}
