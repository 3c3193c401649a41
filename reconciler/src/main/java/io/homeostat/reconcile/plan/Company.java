package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;

/**
 * What a decision about one workload depends on of others.
 *
 * @param needs what it says it depends on, as that is now
 * @param cycle when it depends on itself: the way there, itself first; else empty
 * @param leaving workloads that depend on it, that nobody wants any more, and that still run
 * @param down others that count against its {@code maxDisruption} now
 */
public record Company(
        ImmutableList<Need> needs,
        ImmutableList<WorkloadId> cycle,
        ImmutableList<WorkloadId> leaving,
        ImmutableList<Need> down) {
    /** Of a workload that has nothing to do with any other. */
    public static final Company NONE =
            new Company(ImmutableList.of(), ImmutableList.of(), ImmutableList.of(), ImmutableList.of());

    /** Something that a workload waits for. */
    public record Need(WorkloadId id, State state) {
        /** How far it has come. */
        public enum State {
            /** It runs well; of a one-shot, its run is completed. */
            WELL,
            /** It is on its way, as far as is known. */
            COMING,
            /** Something is in its way that time alone may not remove. */
            STUCK,
            /** Nobody wants it. */
            UNDECLARED
        }

        String words() {
            return switch (state) {
                case WELL -> id + " is well";
                case COMING -> id + " is not well yet";
                case STUCK -> id + " does not become well";
                case UNDECLARED -> id + " is declared by nobody";
            };
        }
    }
}
