/** Decides what to do with a workload, from what is declared, observed and remembered. */
@NullMarked
package io.homeostat.reconcile.plan;

import org.jspecify.annotations.NullMarked;
