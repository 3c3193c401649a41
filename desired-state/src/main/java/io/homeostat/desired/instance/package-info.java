/** Whose state a state directory is: one instance's, and a clone of its disk is another one. */
@NullMarked
package io.homeostat.desired.instance;

import org.jspecify.annotations.NullMarked;
