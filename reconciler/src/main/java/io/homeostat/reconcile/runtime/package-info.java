/** Instances of workloads on this machine: how those of each kind are seen, created and ended. */
@NullMarked
package io.homeostat.reconcile.runtime;

import org.jspecify.annotations.NullMarked;
