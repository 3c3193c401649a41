/** Tasks: work that a driver of this machine runs, in directories and control groups that are ours. */
@NullMarked
package io.homeostat.reconcile.runtime.task;

import org.jspecify.annotations.NullMarked;
