/** The logs that workloads write: their last lines, for events, and their size. */
@NullMarked
package io.homeostat.reconcile.logs;

import org.jspecify.annotations.NullMarked;
