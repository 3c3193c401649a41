package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import java.time.Instant;

/** Starts what was stopped, or paused, and waits until it is as declared. */
final class StartCommand implements Command {
    private final Workspace workspace;
    private final Operation.Start start;

    StartCommand(Workspace workspace, Operation.Start start) {
        this.workspace = workspace;
        this.start = start;
    }

    @Override
    public int run() throws InterruptedException {
        ImmutableList<WorkloadId> ids = start.workloads();
        PauseCommand.requireKnown(ids, workspace, "nothing was started");
        Instant now = workspace.environment().clock().instant();
        return workspace.enforcer().enforce(workspace, Verb.START, start.timeout(), ids, store -> {
            ids.forEach(id -> store.resume(id, start.reason(), now));
            // Whoever starts it has looked after it: what it was given up for counts no more.
            store.retryNow(ids);
        });
    }
}
