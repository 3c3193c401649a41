/** Stops what was launched. */
@NullMarked
package io.homeostat.actuate.stop;

import org.jspecify.annotations.NullMarked;
