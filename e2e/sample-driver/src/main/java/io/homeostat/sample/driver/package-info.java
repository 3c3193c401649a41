/** A task driver of Nomad to test against: it runs commands, and behaves well, or badly in the way it is told to. */
@NullMarked
package io.homeostat.sample.driver;

import org.jspecify.annotations.NullMarked;
