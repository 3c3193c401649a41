package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Pause;
import java.time.Instant;

/** Ends pauses. What there is to do then is done by whoever enforces. */
final class ResumeCommand implements Command {
    private final Workspace workspace;
    private final ImmutableList<WorkloadId> ids;
    private final String reason;

    /** @param reason for the event; may be empty */
    ResumeCommand(Workspace workspace, ImmutableList<WorkloadId> ids, String reason) {
        this.workspace = workspace;
        this.ids = ids;
        this.reason = reason;
    }

    /** What is not paused may have been given up, or waits for its next try: that ends, too. */
    @Override
    public int run() throws InterruptedException {
        PauseCommand.requireKnown(ids, workspace, "nothing was resumed");
        ImmutableSet<WorkloadId> paused = workspace
                .remembered(
                        reader -> reader.pauses().stream().map(Pause::workload).collect(ImmutableSet.toImmutableSet()))
                .orElse(ImmutableSet.of());
        for (WorkloadId id : ids) {
            if (!paused.contains(id)) {
                workspace.console().say(id + " was not paused; if it has failed, that holds it back no longer");
            }
        }
        resume();
        PausesReport.print(ids, workspace);
        return ExitStatus.OK;
    }

    private void resume() throws InterruptedException {
        Instant now = workspace.environment().clock().instant();
        workspace.enforcer().remember(workspace, Verb.RESUME, ids, store -> {
            ids.forEach(id -> store.resume(id, reason, now));
            // Whoever resumes has looked after it: what it was given up for counts no more.
            store.retryNow(ids);
        });
        if (workspace.enforcer().agent().isEmpty()) {
            workspace.console().say("no agent runs here; the next homeostat apply brings about what is declared");
        }
    }
}
