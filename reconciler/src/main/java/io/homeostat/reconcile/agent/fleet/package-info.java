/**
 * The machine as one of a fleet: keeps up with sets that are published elsewhere, verifies, stores and declares them, and reports how it
 * fares.
 */
@NullMarked
package io.homeostat.reconcile.agent.fleet;

import org.jspecify.annotations.NullMarked;
