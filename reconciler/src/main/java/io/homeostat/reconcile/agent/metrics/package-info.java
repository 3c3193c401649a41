/** Metrics and health of the agent, and the server that answers for them. */
@NullMarked
package io.homeostat.reconcile.agent.metrics;

import org.jspecify.annotations.NullMarked;
