/** Shows whether a running agent leaks. Run by the JDK from its sources, so it uses nothing but the JDK. */
@NullMarked
package io.homeostat.e2e.soak;

import org.jspecify.annotations.NullMarked;
