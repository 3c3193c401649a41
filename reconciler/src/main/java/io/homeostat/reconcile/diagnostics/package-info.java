/** What somebody needs who looks for a fault from afar, in one file, without secrets. */
@NullMarked
package io.homeostat.reconcile.diagnostics;

import org.jspecify.annotations.NullMarked;
