/** What exists of workloads on this machine, one {@link io.homeostat.reconcile.runtime.KindRuntime} a kind: how it is seen, created and ended. */
@NullMarked
package io.homeostat.reconcile.runtime;

import org.jspecify.annotations.NullMarked;
