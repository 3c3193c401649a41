/** Shows whether a running agent leaks: {@code e2e/soak}. */
@NullMarked
package io.homeostat.e2e.soak;

import org.jspecify.annotations.NullMarked;
