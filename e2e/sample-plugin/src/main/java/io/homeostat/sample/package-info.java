/** A plugin to test against: a greeter that behaves well, or badly in the way it is told to. */
@NullMarked
package io.homeostat.sample;

import org.jspecify.annotations.NullMarked;
