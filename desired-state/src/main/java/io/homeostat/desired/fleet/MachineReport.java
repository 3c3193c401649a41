package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableList;
import java.time.Instant;

/**
 * What a machine says of itself. It is believed for as long as the machine is heard of; none of it can be verified.
 *
 * @param agent version of the agent
 * @param at when it was written, by the machine's clock: for people
 * @param source of the set that is in force, in words; empty without one
 * @param version of that set: a commit, an entity tag, a revision
 * @param sequence of that set; 0 when it has none
 * @param problems how many things of the machine's sources can't be read
 */
public record MachineReport(
        String agent,
        Instant at,
        String source,
        String version,
        long sequence,
        int problems,
        ImmutableList<ReportedWorkload> workloads) {

    /** The same as if it had been written then. */
    public MachineReport at(Instant time) {
        return new MachineReport(agent, time, source, version, sequence, problems, workloads);
    }

    /**
     * A workload of it.
     *
     * @param id {@code kind/name}
     * @param revision that is there now; empty when none is
     * @param desired that is declared
     * @param failed that was undone, or could not be made to run; empty when there is none
     * @param state one of the words of status
     * @param restarts since this revision was launched first
     * @param failure the last one, in words, without secrets
     */
    public record ReportedWorkload(
            String id,
            String revision,
            String desired,
            String failed,
            String state,
            boolean converged,
            boolean healthy,
            boolean paused,
            boolean givenUp,
            int restarts,
            String failure) {}
}
