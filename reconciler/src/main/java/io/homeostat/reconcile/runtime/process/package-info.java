/** Processes, and what is common to all kinds that launch a process of this host. */
@NullMarked
package io.homeostat.reconcile.runtime.process;

import org.jspecify.annotations.NullMarked;
