/** Speaks with Nomad's task drivers: what they can do, how they are, what has become of their tasks. */
@NullMarked
package io.homeostat.observe.driver;

import org.jspecify.annotations.NullMarked;
