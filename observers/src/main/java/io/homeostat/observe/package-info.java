/** Looks at the machine and changes nothing. */
@NullMarked
package io.homeostat.observe;

import org.jspecify.annotations.NullMarked;
