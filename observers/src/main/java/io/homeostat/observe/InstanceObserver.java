package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.usage.Meter;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Looks at the instances of one kind of workload. */
public interface InstanceObserver extends AutoCloseable {
    /**
     * Finds out what has become of a workload's instances: those that are remembered and those that only the machine knows, oldest first.
     */
    Observation<ImmutableList<ObservedInstance>> look(WorkloadId id, ImmutableList<Instance> instances, Checks checks);

    /**
     * Whether an instance that is not known as a process of this host is known not to run any more, see {@link Observer#isGone}. The
     * default is to look at it; a kind may know a better way.
     */
    default boolean isGone(Instance instance) {
        return look(instance.workload(), ImmutableList.of(instance), Checks.NONE)
                        instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var found)
                && found.stream()
                        .filter(one -> one.instance().launchId().equals(instance.launchId()))
                        .allMatch(one -> one.liveness() instanceof Liveness.Ended
                                || one.liveness() instanceof Liveness.Orphaned);
    }

    /** How those that were found are limited. A kind whose runtime sets limits has to answer, or they are set again and again. */
    default Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
        return Observation.seen(ObservedLimits.NONE);
    }

    /** As {@link Observer#refusal}; what only the machine can tell, before anything is stopped for it. */
    default String refusal(Workload declared) {
        return "";
    }

    /**
     * Checks those fields of a declaration that only what runs on this machine can check, within some seconds; nothing by default.
     *
     * @param inForce what is declared of this workload now; null when nothing is
     */
    default FieldCheck check(Workload declared, @Nullable Workload inForce) {
        return FieldCheck.NONE;
    }

    /** What a workload says of itself, asked of it within some seconds; nothing by default. */
    default Optional<SelfDescription> describe(WorkloadId id) {
        return Optional.empty();
    }

    /** The fields that what runs takes by rules of its own, asked of it within some seconds. Unseen: it has none, or could not be asked. */
    default Observation<ImmutableList<Explanation>> explain(WorkloadId id) {
        String title = id.kind().title();
        return Observation.unseen("a " + title + " takes nothing but what homeostat explain " + title + " shows");
    }

    /**
     * Begins to wait for the end of an instance that is no process of this host; those are waited for by pidfd. Nothing by default:
     * such an end is seen by the next look.
     *
     * @param instance with its identity
     * @param ended to be called once, from any thread, when it has ended or has already; never after {@link #close}. Does not block
     */
    default void watch(Instance instance, Runnable ended) {}

    /** How what a workload uses is measured, where it is no process tree of this host; empty: it is one. */
    default Optional<Meter> meter(WorkloadId id) {
        return Optional.empty();
    }

    @Override
    default void close() {}
}
