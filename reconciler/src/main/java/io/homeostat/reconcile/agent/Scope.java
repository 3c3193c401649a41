package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.Observation;
import io.homeostat.observe.Observer;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workloads that passes are about.
 *
 * @param all that are declared, remembered or left on the machine
 * @param declared those of them that somebody wants
 */
public record Scope(ImmutableSortedSet<WorkloadId> all, ImmutableSortedSet<WorkloadId> declared) {
    private static final Logger LOG = LoggerFactory.getLogger(Scope.class);

    /** Only those of these workloads. */
    Scope about(ImmutableCollection<WorkloadId> ids) {
        return new Scope(
                ImmutableSortedSet.copyOf(ids),
                ImmutableSortedSet.copyOf(Sets.intersection(declared, ImmutableSet.copyOf(ids))));
    }

    static Scope of(DesiredState desired, StateReader store, Observer observer) {
        ImmutableSortedSet<WorkloadId> wanted =
                ImmutableSortedSet.copyOf(desired.declarations().keySet());
        TreeSet<WorkloadId> all = new TreeSet<>(wanted);
        all.addAll(store.histories().keySet());
        store.instances().stream().map(Instance::workload).forEach(all::add);
        switch (observer.traces()) {
            case Observation.Seen<ImmutableSet<WorkloadId>>(var found) -> all.addAll(found);
            case Observation.Unseen<ImmutableSet<WorkloadId>>(String why) ->
                LOG.warn("what is left of workloads that nobody declares could not be seen: {}", why);
        }
        return new Scope(ImmutableSortedSet.copyOf(all), wanted);
    }
}
