/** A fleet: what is published for all its machines, how a rollout stands, and what each machine reports. */
@NullMarked
package io.homeostat.desired.fleet;

import org.jspecify.annotations.NullMarked;
