/** Unpacks archives, and trusts nothing in them. */
@NullMarked
package io.homeostat.actuate.unpack;

import org.jspecify.annotations.NullMarked;
