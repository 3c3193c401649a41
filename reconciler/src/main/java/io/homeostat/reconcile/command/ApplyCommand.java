package io.homeostat.reconcile.command;

import io.homeostat.desired.source.StoredState;
import io.homeostat.reconcile.command.output.Rivals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Stores documents as desired state and brings the machine to it. */
public final class ApplyCommand implements Command {
    public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);

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
        // Said at the end: while the store is changed nobody may be waited for, a slow reader neither.
        List<String> notes = new ArrayList<>();
        int status = workspace.enforcer().enforce(workspace, Verb.APPLY, timeout, store -> {
            store.apply(given.documents(), given.origins(), given.prune());
            notes.addAll(Rivals.overruled(given.ids(), StoredState.desired(store.declarations())));
            // Whoever applies has usually removed the cause of a failure, and waits in front of the screen.
            store.retryNow(given.ids());
        });
        notes.forEach(workspace.console()::say);
        return status;
    }
}
