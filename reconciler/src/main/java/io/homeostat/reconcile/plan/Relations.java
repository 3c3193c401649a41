package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a decision about one workload depends on of others.
 *
 * @param needs what it says it depends on, as that is now
 * @param cycle when it depends on itself: the way there, itself first, or a cycle of what it depends on; else empty
 * @param leaving workloads that depend on it and still run, though nobody wants them any more, or they are stopped by request as it is
 * @param down others that count against its {@code maxDisruption} now
 * @param parent the workload whose instance an instance of this one is part of; null when there is none
 * @param lastGoodParent the same of the last good revision
 * @param parts what runs in its instance and ends with it, and so is to be stopped before; not what is left alone, or can't be stopped
 * @param hosts those of {@link Traits#hosts} that run, and are to run on: what has come to its end is not what a machine runs in
 */
public record Relations(
        ImmutableList<Need> needs,
        ImmutableList<WorkloadId> cycle,
        ImmutableList<WorkloadId> leaving,
        ImmutableList<Need> down,
        @Nullable Parent parent,
        @Nullable Parent lastGoodParent,
        ImmutableList<WorkloadId> parts,
        ImmutableSet<WorkloadId> hosts) {
    /** Of a workload that has nothing to do with any other. */
    public static final Relations NONE =
            new Relations(ImmutableList.of(), ImmutableList.of(), ImmutableList.of(), ImmutableList.of());

    /**
     * What of it matters when the last good revision is to run in place of what is declared: it waits for nothing that only the
     * declaration depends on, but is part of what it was part of.
     */
    Relations of(Workload lastGood) {
        ImmutableSet<WorkloadId> needed = DependencyGraph.needs(lastGood);
        boolean sameCycle = !cycle.isEmpty() && needed.contains(cycle.get(cycle.size() > 1 ? 1 : 0));
        ImmutableSet.Builder<Need> both = ImmutableSet.builder();
        needs.stream().filter(need -> needed.contains(need.id())).forEach(both::add);
        if (lastGoodParent != null) {
            both.add(lastGoodParent.need());
        }
        return new Relations(
                both.build().asList(),
                sameCycle ? cycle : ImmutableList.of(),
                leaving,
                down,
                lastGoodParent,
                lastGoodParent,
                parts,
                hosts);
    }

    /** What an instance is part of, if that waits for it to end first. */
    Optional<Parent> endingParent(Instance child) {
        return Stream.concat(Stream.ofNullable(parent), Stream.ofNullable(lastGoodParent))
                .filter(one -> one.ends() && one.isOf(child))
                .findFirst();
    }

    /** Whether an instance, of what is declared or of the last good revision, has to end with the one that it was launched in. */
    public boolean endedWithParent(Instance child) {
        Parent one = parent == null ? lastGoodParent : parent;
        Parent other = lastGoodParent == null ? one : lastGoodParent;
        return one != null && other != null && one.takesAlong(child) && other.takesAlong(child);
    }

    /** Of a workload that is part of no other. */
    public Relations(
            ImmutableList<Need> needs,
            ImmutableList<WorkloadId> cycle,
            ImmutableList<WorkloadId> leaving,
            ImmutableList<Need> down) {
        this(needs, cycle, leaving, down, null, null);
    }

    /** Of a workload that is in no machine of its own, and that nothing is part of. */
    public Relations(
            ImmutableList<Need> needs,
            ImmutableList<WorkloadId> cycle,
            ImmutableList<WorkloadId> leaving,
            ImmutableList<Need> down,
            @Nullable Parent parent,
            @Nullable Parent lastGoodParent) {
        this(needs, cycle, leaving, down, parent, lastGoodParent, ImmutableList.of(), ImmutableSet.of());
    }

    /**
     * What a workload is part of.
     *
     * @param instance the parent's started instance; null when there is none
     * @param recreates whether an instance that was launched in another one has to be launched again
     * @param ends whether it is to be stopped, and waits until what is part of it has ended
     */
    public record Parent(Need need, @Nullable String instance, boolean recreates, boolean ends) {
        public Parent(Need need, @Nullable String instance, boolean recreates) {
            this(need, instance, recreates, false);
        }

        private boolean isOf(Instance child) {
            return recreates && instance != null && instance.equals(LaunchInputs.parent(child));
        }

        boolean isAnotherThan(Instance child) {
            return recreates && instance != null && !instance.equals(LaunchInputs.parent(child));
        }

        /** Whether an instance has to end because the one that it was launched in is gone, or another one by now. */
        private boolean takesAlong(Instance child) {
            String launchedIn = LaunchInputs.parent(child);
            return recreates && launchedIn != null && !launchedIn.equals(instance);
        }
    }

    /**
     * Something that a workload waits for.
     *
     * @param why it is stuck, as the end of a sentence; empty when that is to be seen from itself
     */
    public record Need(WorkloadId id, State state, String why) {
        public Need(WorkloadId id, State state) {
            this(id, state, "");
        }

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
                case STUCK -> id + " does not become well" + (why.isEmpty() ? "" : ": " + why);
                case UNDECLARED -> id + " is declared by nobody";
            };
        }
    }
}
