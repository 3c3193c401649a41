package io.homeostat.desired.model.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The annotations with which a record says how its components are written in a document. */
public final class Fields {
    private Fields() {}

    /** One or two sentences on a field (or on a whole object): what {@code explain} prints and the JSON Schema describes. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.RECORD_COMPONENT, ElementType.TYPE, ElementType.FIELD})
    public @interface Doc {
        String value();
    }

    /**
     * The key of a field, where Java reserves the word. On a record: the value of {@code type} that tells it from the other records of
     * its sealed interface.
     */
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.RECORD_COMPONENT, ElementType.TYPE})
    public @interface Key {
        String value();
    }

    /** A record of one text, written as that text. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    public @interface Bare {}

    /** The fields of this record component stand in the document beside the fields of the record that holds it. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface Inline {}

    /**
     * The default, in the notation of a document. A field without one is required, unless it is {@code @Nullable}, a collection, or an
     * object whose fields all have defaults.
     */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface Default {
        String value();
    }

    /** The inclusive bounds of a number; for a duration in milliseconds, for a size in bytes, for a list its least length, and the most of each of its numbers. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface Range {
        long min() default 0;

        long max() default Long.MAX_VALUE;
    }

    /** The part of a pattern that a port matches where 0 stands for any that is free. */
    public static final String PORT = "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5]?[0-9]{1,4})";

    /** The same where something listens. */
    public static final String PORT_OF_OTHERS =
            "0*(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})";

    /** The pattern that the whole of a string field has to match, and the words for it in an error. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface Matches {
        /** A regular expression that Java and ECMA-262 (the JSON Schema's dialect) read alike. */
        String value();

        /** What is allowed, as a noun phrase: "64 lowercase hexadecimal digits". */
        String words();

        /** Whether any text but an empty one is allowed in messages and in the store, whatever the pattern says. */
        boolean anyInMessages() default false;
    }

    /** The pattern that the whole of each key of a map field has to match, and the words for it in an error. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface Keys {
        /** A regular expression that Java and ECMA-262 (the JSON Schema's dialect) read alike. */
        String value();

        /** What is allowed, as a noun phrase. */
        String words();
    }

    /**
     * A URL (https, http, file), or a path relative to the directory of the file that names it, which becomes an absolute {@code file:}
     * URL.
     */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface Location {}

    /** Each text of the field is {@code KIND/NAME} of a kind that there is. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface NamesWorkload {}

    /** A kind that serves others for as long as it is declared: none of its runs is ever over, so it can't be a oneShot. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    public @interface NeverOver {
        /** Why, as the beginning of a sentence: "a Driver serves its tasks for as long as it is declared". */
        String value();
    }

    /** A kind whose workloads run inside something else, which starts their commands: none of these can be run as this machine's root. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    public @interface RunsInside {}

    /** The value never appears in plans, status, events, logs or errors. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    public @interface Secret {}
}
