/** In the package of what is measured, which nobody else may create as it is needed here. */
@NullMarked
package io.homeostat.observe.usage;

import org.jspecify.annotations.NullMarked;
