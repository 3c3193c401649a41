/** The agent of a guest as it behaves, for tests. */
@NullMarked
package io.homeostat.guest;

import org.jspecify.annotations.NullMarked;
