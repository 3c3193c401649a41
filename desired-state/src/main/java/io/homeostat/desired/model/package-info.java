/** What can be declared, as records: workloads, their kinds, and the configuration of the agent. */
@NullMarked
package io.homeostat.desired.model;

import org.jspecify.annotations.NullMarked;
