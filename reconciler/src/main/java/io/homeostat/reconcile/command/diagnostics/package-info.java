/** Looking for faults: checks of the host and the state directory, and the archive for whoever looks from afar. */
@NullMarked
package io.homeostat.reconcile.command.diagnostics;

import org.jspecify.annotations.NullMarked;
