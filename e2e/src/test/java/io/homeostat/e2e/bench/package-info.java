/** Measures the built program, and others beside it: {@code e2e/bench}. */
@NullMarked
package io.homeostat.e2e.bench;

import org.jspecify.annotations.NullMarked;
