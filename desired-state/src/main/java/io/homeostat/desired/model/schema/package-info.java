/** Annotations that describe the fields of a document: defaults, ranges, patterns, documentation. */
@NullMarked
package io.homeostat.desired.model.schema;

import org.jspecify.annotations.NullMarked;
