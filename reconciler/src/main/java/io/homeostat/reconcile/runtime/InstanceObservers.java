package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableMap;
import com.google.common.io.Closer;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.MachineObserver;
import io.homeostat.observe.Observer.InstanceObserver;
import io.homeostat.reconcile.runtime.RuntimeProvider.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The observers of the instances of all kinds on this machine. */
public final class InstanceObservers implements AutoCloseable {
    private final Machine machine;
    private final ImmutableMap<Kind, InstanceObserver> observers;

    public InstanceObservers(Machine machine) {
        this(machine, RuntimeProvider.ofAllKinds(provider -> provider.observer(machine)));
    }

    InstanceObservers(Machine machine, ImmutableMap<Kind, InstanceObserver> observers) {
        this.machine = machine;
        this.observers = observers;
    }

    Machine machine() {
        return machine;
    }

    /**
     * An observer of the whole machine that uses these.
     *
     * @param metadata used, not closed
     */
    public MachineObserver with(MetadataServer metadata) {
        return new MachineObserver(machine.layout(), machine.procFs(), this::of, metadata);
    }

    InstanceObserver of(Kind kind) {
        return RuntimeProvider.of(kind, observers);
    }

    /** As {@link InstanceObserver#watch}. */
    public void watch(Instance instance, Runnable ended) {
        of(instance.workload().kind()).watch(instance, ended);
    }

    /** Closes all of them, whatever one of them throws. */
    @Override
    public void close() {
        try (Closer all = Closer.create()) {
            observers.values().forEach(observer -> all.register(observer::close));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
