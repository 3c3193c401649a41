/** Takes workloads to their desired state: one pass each when it is due, one step at a time. */
@NullMarked
package io.homeostat.reconcile.loop;

import org.jspecify.annotations.NullMarked;
