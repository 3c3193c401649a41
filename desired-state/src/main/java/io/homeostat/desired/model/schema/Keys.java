package io.homeostat.desired.model.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The pattern that the whole of each key of a map field has to match, and the words for it in an error. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Keys {
    /** A regular expression that Java and ECMA-262 (the JSON Schema's dialect) read alike. */
    String value();

    /** What is allowed, as a noun phrase. */
    String words();
}
