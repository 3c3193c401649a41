/** Checks of the host and the state directory. */
@NullMarked
package io.homeostat.reconcile.command.doctor;

import org.jspecify.annotations.NullMarked;
