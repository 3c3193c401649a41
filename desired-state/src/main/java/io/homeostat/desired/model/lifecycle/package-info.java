/** What is declared about running a workload, whatever its kind: limits, start, stop, health, restarts, when it runs. */
@NullMarked
package io.homeostat.desired.model.lifecycle;

import org.jspecify.annotations.NullMarked;
