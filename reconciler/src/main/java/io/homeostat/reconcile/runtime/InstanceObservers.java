package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.common.io.Closer;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.observe.FieldCheck;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.MachineObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.usage.Meter;
import io.homeostat.reconcile.runtime.RuntimeProvider.Access;
import io.homeostat.reconcile.secrets.LaunchedValues;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The observers of the instances of all kinds on this machine. */
public final class InstanceObservers implements AutoCloseable {
    private final Machine machine;
    private final ImmutableMap<Kind, Access> kinds;

    public InstanceObservers(Machine machine) {
        this(machine, RuntimeProvider.openAll(machine));
    }

    InstanceObservers(Machine machine, ImmutableMap<Kind, Access> kinds) {
        this.machine = machine;
        this.kinds = kinds;
    }

    LaunchedValues launched() {
        return machine.launched();
    }

    /** A new runtime of each kind, which may use what its observer has opened. */
    ImmutableMap<Kind, KindRuntime> runtimes() {
        return ImmutableMap.copyOf(
                Maps.transformValues(kinds, access -> access.runtime().get()));
    }

    /**
     * An observer of the whole machine that uses these.
     *
     * @param metadata used, not closed
     */
    public MachineObserver with(MetadataServer metadata) {
        return new MachineObserver(
                machine.layout(), machine.procFs(), machine.unknown(), this::of, metadata, machine.clock());
    }

    /** Of one kind. */
    public InstanceObserver of(Kind kind) {
        return RuntimeProvider.of(kind, kinds).observer();
    }

    /** Whether anything of a workload runs, or may. What an instance that is over has left behind does not. */
    public boolean mayRun(WorkloadId id) {
        ImmutableList<Instance> remembered = machine.instances().apply(id).stream()
                .filter(instance -> !instance.isOver())
                .collect(ImmutableList.toImmutableList());
        return switch (of(id.kind()).look(id, remembered, Checks.NONE)) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(var found) ->
                found.stream().anyMatch(instance -> !(instance.liveness() instanceof Liveness.Ended));
            case Observation.Unseen<ImmutableList<ObservedInstance>> unseen -> true;
        };
    }

    /** As {@link InstanceObserver#check}. */
    public FieldCheck check(Workload declared, @Nullable Workload inForce) {
        return of(declared.id().kind()).check(declared, inForce);
    }

    /** As {@link InstanceObserver#describe}. */
    public Optional<SelfDescription> describe(WorkloadId id) {
        return of(id.kind()).describe(id);
    }

    /** As {@link InstanceObserver#explain}. */
    public Observation<ImmutableList<Explanation>> explain(WorkloadId id) {
        return of(id.kind()).explain(id);
    }

    /** As {@link InstanceObserver#watch}. */
    public void watch(Instance instance, Runnable ended) {
        of(instance.workload().kind()).watch(instance, ended);
    }

    /** As {@link InstanceObserver#meter}. */
    public Optional<Meter> meter(WorkloadId id) {
        return of(id.kind()).meter(id);
    }

    /** Closes all of them, whatever one of them throws. */
    @Override
    public void close() {
        try (Closer all = Closer.create()) {
            kinds.values().forEach(access -> all.register(access.observer()::close));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
