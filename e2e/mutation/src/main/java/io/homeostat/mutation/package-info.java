/** Measures with PIT how many changes of a package its unit tests notice. */
@NullMarked
package io.homeostat.mutation;

import org.jspecify.annotations.NullMarked;
