/** What happened to a workload and cannot be observed: attempts, exits, conditions, runs. */
@NullMarked
package io.homeostat.desired.state.history;

import org.jspecify.annotations.NullMarked;
