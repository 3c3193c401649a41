package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.LaunchedValues;
import io.homeostat.reconcile.secrets.SecretMask;
import java.util.stream.Stream;

/** The runtimes of all kinds on this machine. What changes nothing uses {@link InstanceObservers} instead. */
public final class Runtimes {
    private final ImmutableMap<Kind, KindRuntime> runtimes;
    private final LaunchedValues launched;

    /** @param observers used, not closed */
    public Runtimes(InstanceObservers observers) {
        this.runtimes = observers.runtimes();
        this.launched = observers.launched();
    }

    /**
     * The runtime of a kind.
     *
     * @throws IllegalArgumentException when it has none
     */
    public KindRuntime of(Kind kind) {
        return RuntimeProvider.of(kind, runtimes);
    }

    /** As {@link KindRuntime#upkeep}, for all kinds. */
    public void upkeep() {
        runtimes.values().forEach(KindRuntime::upkeep);
    }

    /**
     * The same with the secrets of a workload masked in its own words of why it refused, which become part of events and conditions.
     *
     * @param declared what it was given just now
     * @param store has what it was given before
     */
    public Outcome masked(Workload declared, Outcome outcome, StateReader store) {
        if (!(outcome instanceof Outcome.Failed(FailureCause cause, String error, boolean fatal))) {
            return outcome;
        }
        WorkloadId id = declared.id();
        SecretMask mask = DeclaredSecrets.everGiven(Stream.of(declared), store.history(id), store.revisions(id));
        launched.learn(id, mask);
        return new Outcome.Failed(cause, mask.mask(error), fatal);
    }
}
