package io.homeostat.desired.model.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The key of a field in a document, where Java reserves the word. On a record: the word in the field {@code type} that tells it from
 * the other records of its sealed interface.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.TYPE})
public @interface Key {
    String value();
}
