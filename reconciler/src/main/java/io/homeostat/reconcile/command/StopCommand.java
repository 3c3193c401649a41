package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.ProcessIdentity;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Stops workloads. They are left so, by whoever enforces, until they are started or resumed. */
final class StopCommand implements Command {
    private final Workspace workspace;
    private final Operation.Stop stop;

    StopCommand(Workspace workspace, Operation.Stop stop) {
        this.workspace = workspace;
        this.stop = stop;
    }

    @Override
    public int run() throws InterruptedException {
        ImmutableList<WorkloadId> ids = stop.workloads();
        PauseCommand.requireKnown(ids, workspace, "nothing was stopped");
        ImmutableList<WorkloadId> idle =
                ids.stream().filter(id -> !mayRun(id)).collect(ImmutableList.toImmutableList());
        Instant now = workspace.environment().clock().instant();
        int status = workspace
                .enforcer()
                .enforce(
                        workspace,
                        Verb.STOP,
                        stop.timeout(),
                        ids,
                        store -> ids.forEach(id -> store.stop(id, stop.reason(), now)));
        idle.forEach(id -> workspace.console().say(id + " was not running; it stays so until homeostat start " + id));
        return status;
    }

    private boolean mayRun(WorkloadId id) {
        ProcFs procFs = new ProcFs();
        return workspace.instances(id).stream().map(Instance::process).anyMatch(identity -> mayRun(procFs, identity));
    }

    private static boolean mayRun(ProcFs procFs, @Nullable ProcessIdentity identity) {
        try {
            return identity == null || procFs.runs(identity);
        } catch (IOException e) {
            throw new CommandFailure("cannot look at process " + identity.pid() + ": " + e.getMessage(), e);
        }
    }
}
