package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.runtime.RuntimeProvider.Machine;
import java.time.InstantSource;

/** The runtimes of all kinds on this machine. */
public final class Runtimes implements AutoCloseable {
    private final ImmutableMap<Kind, KindRuntime> runtimes;
    private final LimitObserver groups;

    /** @param plugins used, not closed */
    public Runtimes(Layout layout, ProcFs procFs, PluginChannel plugins, InstantSource clock) {
        Machine machine = new Machine(layout, procFs, plugins, CgroupLayout.detect(layout), clock);
        this.groups = new LimitObserver(machine.cgroups());
        this.runtimes =
                ImmutableMap.copyOf(Maps.transformValues(KindTraits.all(), provider -> runtime(provider, machine)));
    }

    private static KindRuntime runtime(KindTraits kind, Machine machine) {
        if (kind instanceof RuntimeProvider provider) {
            return provider.runtime(machine);
        }
        throw new IllegalStateException(kind.kind() + " is registered without a runtime");
    }

    /**
     * The runtime of a kind.
     *
     * @throws IllegalArgumentException when it has none
     */
    public KindRuntime of(Kind kind) {
        KindRuntime runtime = runtimes.get(kind);
        if (runtime == null) {
            throw new IllegalArgumentException("nobody provides the runtime of " + kind);
        }
        return runtime;
    }

    /** Which limits are in force, for whoever looks. */
    public LimitObserver groups() {
        return groups;
    }

    @Override
    public void close() {
        runtimes.values().forEach(KindRuntime::close);
    }
}
