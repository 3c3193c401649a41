/** Measures the built program. Run by the JDK from its sources, so it uses nothing but the JDK. */
@NullMarked
package io.homeostat.e2e.bench;

import org.jspecify.annotations.NullMarked;
