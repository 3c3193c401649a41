/** Puts limits into force with control groups. */
@NullMarked
package io.homeostat.actuate.limits;

import org.jspecify.annotations.NullMarked;
