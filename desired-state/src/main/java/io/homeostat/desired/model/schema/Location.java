package io.homeostat.desired.model.schema;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A URL (https, http, file), or a path that starts from the directory of the file that names it. What was read is always a
 * URL; of a path it is an absolute {@code file:} URL.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Location {}
