package io.homeostat.reconcile.cli;

import io.homeostat.desired.source.StoredState;
import java.time.Duration;

/** Stores documents as desired state and brings the machine to it. */
final class ApplyCommand implements Command {
    static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);

    private final Workspace workspace;
    private final Given given;
    private final Duration timeout;

    ApplyCommand(Workspace workspace, Given given, Duration timeout) {
        this.workspace = workspace;
        this.given = given;
        this.timeout = timeout;
    }

    @Override
    public int run() throws InterruptedException {
        return workspace.enforcer().enforce(workspace, Verb.APPLY, timeout, store -> {
            store.apply(given.documents(), given.origins(), given.prune());
            Rivals.overruled(given.ids(), StoredState.desired(store.declarations()))
                    .forEach(workspace.console()::say);
            // Whoever applies has usually removed the cause of a failure, and waits in front of the screen.
            store.retryNow(given.ids());
        });
    }
}
