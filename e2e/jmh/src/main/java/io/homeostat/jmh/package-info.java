/** Parts of the program alone. */
@NullMarked
package io.homeostat.jmh;

import org.jspecify.annotations.NullMarked;
