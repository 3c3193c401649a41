/** Activates installations and removes what is no longer wanted. */
@NullMarked
package io.homeostat.actuate.install;

import org.jspecify.annotations.NullMarked;
