package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observer.InstanceObserver;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.LaunchInputs;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Function;

/** One kind: its traits for the planner, and how its instances are seen and handled. Has a row in the services file of {@link KindTraits}. */
public interface RuntimeProvider extends KindTraits {
    /**
     * What all kinds share; used, not closed.
     *
     * @param instances what is remembered of those of a workload
     */
    record Machine(
            Layout layout,
            ProcFs procFs,
            CgroupLayout cgroups,
            InstantSource clock,
            Function<WorkloadId, ImmutableList<Instance>> instances) {
        public Machine(
                Layout layout,
                ProcFs procFs,
                InstantSource clock,
                Function<WorkloadId, ImmutableList<Instance>> instances) {
            this(layout, procFs, CgroupLayout.detect(layout), clock, instances);
        }

        /** The parent's instance that this one was launched in; empty when there was none, and when it has ended. */
        public Optional<Instance> parent(Instance instance) {
            return LaunchInputs.parent(instance, instances);
        }
    }

    /** Sees instances; all that is needed by what changes nothing. */
    InstanceObserver observer(Machine machine);

    /**
     * Creates and ends instances.
     *
     * @param observer as made here for that machine, and closed later: what it has opened can be used
     */
    KindRuntime runtime(Machine machine, InstanceObserver observer);

    /** Makes one thing for each kind. */
    static <T> ImmutableMap<Kind, T> ofAllKinds(Function<RuntimeProvider, T> part) {
        return ImmutableMap.copyOf(Maps.transformValues(KindTraits.all(), kind -> {
            if (kind instanceof RuntimeProvider provider) {
                return part.apply(provider);
            }
            throw new IllegalStateException(kind.kind() + " is registered without a runtime");
        }));
    }

    /**
     * That of one kind.
     *
     * @throws IllegalArgumentException when it has none
     */
    static <T> T of(Kind kind, ImmutableMap<Kind, T> all) {
        T one = all.get(kind);
        if (one == null) {
            throw new IllegalArgumentException("nobody provides the runtime of " + kind);
        }
        return one;
    }
}
