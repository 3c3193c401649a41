/** Starts programs so that they outlive us, and rotates their logs. */
@NullMarked
package io.homeostat.actuate.launch;

import org.jspecify.annotations.NullMarked;
