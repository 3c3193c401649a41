/** The diagnostics archive: what is needed to look for a fault from afar, without secrets. */
@NullMarked
package io.homeostat.reconcile.command.diagnostics;

import org.jspecify.annotations.NullMarked;
