/** Turns observations and the outcomes of steps into history, events and conditions. */
@NullMarked
package io.homeostat.reconcile.record;

import org.jspecify.annotations.NullMarked;
