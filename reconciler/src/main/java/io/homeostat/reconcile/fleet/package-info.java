/** The controller of a fleet: decides which wave of a rollout is open, from what machines report. */
@NullMarked
package io.homeostat.reconcile.fleet;

import org.jspecify.annotations.NullMarked;
