package io.homeostat.reconcile.sim;

import io.homeostat.desired.store.Exit;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.ProcessIdentity;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A process of the fake machine. */
final class FakeProcess {
    final Handle launched;
    final ProcessIdentity identity;
    final Instant since;
    final Behaviour behaviour;
    int starts;
    boolean healthy = true;
    String configHash = "";

    @Nullable
    Exit exit;

    FakeProcess(Handle launched, ProcessIdentity identity, Instant since, Behaviour behaviour) {
        this.launched = launched;
        this.identity = identity;
        this.since = since;
        this.behaviour = behaviour;
    }

    boolean alive() {
        return exit == null;
    }
}
