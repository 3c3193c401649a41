package io.homeostat.desired.hcl;

/** A driver answered with a schema that can't be used. The message names the key of the schema and what is wrong with it. */
public final class SchemaException extends Exception {
    private static final long serialVersionUID = 1L;

    SchemaException(String place, String what) {
        super("the driver's schema " + (place.isEmpty() ? "" : "of \"" + place + "\" ") + what);
    }
}
