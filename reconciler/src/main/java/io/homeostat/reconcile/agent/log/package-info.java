/** The log of the agent. */
@NullMarked
package io.homeostat.reconcile.agent.log;

import org.jspecify.annotations.NullMarked;
