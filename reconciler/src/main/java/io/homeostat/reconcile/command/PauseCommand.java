package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader;
import io.homeostat.reconcile.command.output.Declared;
import java.time.Instant;
import java.util.stream.Stream;

/** Has workloads left alone: nothing is done to them, or for them, until they are resumed. */
final class PauseCommand implements Command {
    private final Workspace workspace;
    private final ImmutableList<WorkloadId> ids;
    private final String reason;

    /** @param reason for whoever finds the workload paused; not blank */
    PauseCommand(Workspace workspace, ImmutableList<WorkloadId> ids, String reason) {
        this.workspace = workspace;
        this.ids = ids;
        this.reason = reason;
    }

    @Override
    public int run() throws InterruptedException {
        requireKnown(ids, workspace, "nothing was paused");
        Instant now = workspace.environment().clock().instant();
        workspace
                .enforcer()
                .remember(workspace, Verb.PAUSE, ids, store -> ids.forEach(id -> store.pause(id, reason, now)));
        PausesReport.print(ids, workspace);
        return ExitStatus.OK;
    }

    /** @throws CommandFailure when one of them is neither declared, nor paused, nor on this machine */
    static void requireKnown(ImmutableList<WorkloadId> ids, Workspace workspace, String soWhat) {
        ImmutableSortedSet<WorkloadId> known = known(workspace);
        for (WorkloadId id : ids) {
            if (!known.contains(id)) {
                throw new CommandFailure(
                        id + " is neither declared nor on this machine, so " + soWhat + "; " + Declared.words(known));
            }
        }
    }

    private static ImmutableSortedSet<WorkloadId> known(Workspace workspace) {
        Stream<WorkloadId> declared =
                workspace.remembered(PauseCommand::remembered).orElse(ImmutableList.of()).stream();
        return Stream.concat(declared, workspace.traces().stream())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }

    private static ImmutableList<WorkloadId> remembered(StateReader reader) {
        return Stream.concat(
                        reader.declarations().stream()
                                .map(declaration -> declaration.workload().id()),
                        // Whose reason is to be another.
                        reader.pauses().stream().map(Pause::workload))
                .collect(ImmutableList.toImmutableList());
    }
}
