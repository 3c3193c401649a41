/** How the fields of a document are described (annotations) and how their values are written (sizes, durations, shares of a CPU). */
@NullMarked
package io.homeostat.desired.model.schema;

import org.jspecify.annotations.NullMarked;
