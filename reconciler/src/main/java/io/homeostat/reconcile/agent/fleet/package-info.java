/** The machine as one of a fleet: what it reports. */
@NullMarked
package io.homeostat.reconcile.agent.fleet;

import org.jspecify.annotations.NullMarked;
