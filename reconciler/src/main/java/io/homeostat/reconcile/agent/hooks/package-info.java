/** Tells others of what happens to workloads, as {@code notify} in agent.yaml says. */
@NullMarked
package io.homeostat.reconcile.agent.hooks;

import org.jspecify.annotations.NullMarked;
