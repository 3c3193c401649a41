package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Kind;

/** The runtimes of all kinds on this machine. What changes nothing uses {@link InstanceObservers} instead. */
public final class Runtimes {
    private final ImmutableMap<Kind, KindRuntime> runtimes;

    /** @param observers used, not closed */
    public Runtimes(InstanceObservers observers) {
        this.runtimes = observers.runtimes();
    }

    /**
     * The runtime of a kind.
     *
     * @throws IllegalArgumentException when it has none
     */
    public KindRuntime of(Kind kind) {
        return RuntimeProvider.of(kind, runtimes);
    }
}
