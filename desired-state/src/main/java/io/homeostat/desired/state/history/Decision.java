package io.homeostat.desired.state.history;

import io.homeostat.desired.model.lifecycle.Execution;
import java.time.Instant;

/**
 * Whether a workload was last found to be meant for this machine. It stays when its rules can't be answered for a while, and over
 * restarts of the agent.
 *
 * @param why which rule decided, for people; empty when no rule had to be asked
 * @param since when the state last changed
 */
public record Decision(Execution.State state, String why, Instant since) {}
