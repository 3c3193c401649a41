package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Declared;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.StatusJson;
import io.homeostat.reconcile.command.output.StatusText;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.time.Duration;
import java.time.Instant;

/** Shows what is wanted and what is there, looked at now; changes nothing. */
final class StatusCommand implements Command {
    private static final Duration PAUSE = Duration.ofSeconds(2);

    /** To the upper left corner, and everything away (ECMA-48 CUP, ED). */
    private static final String CLEAR = "\u001b[H\u001b[2J";

    private final Workspace workspace;
    private final ImmutableList<WorkloadId> asked;
    private final boolean watch;

    /**
     * Makes the command.
     *
     * @param asked none: all
     * @param watch again and again, until interrupted
     */
    StatusCommand(Workspace workspace, ImmutableList<WorkloadId> asked, boolean watch) {
        this.workspace = workspace;
        this.asked = asked;
        this.watch = watch;
    }

    @Override
    public int run() throws InterruptedException {
        Console console = workspace.console();
        boolean redrawn = watch && !console.json() && workspace.environment().outIsDrawable();
        if (redrawn) {
            console.out().print(CLEAR);
            console.out().flush();
        }
        int status = look(true);
        while (watch && console.isRead()) {
            Thread.sleep(PAUSE);
            if (!console.json()) {
                console.out().print(redrawn ? CLEAR : System.lineSeparator());
                console.out().flush();
            }
            status = look(redrawn);
        }
        return status;
    }

    /** @param introduced whether to say who enforces */
    private int look(boolean introduced) throws InterruptedException {
        Console console = workspace.console();
        Workspace.Sight sight = workspace.survey(StoredState::desired, ImmutableList.of(), Situations.Depth.HEALTH);
        ImmutableList<WorkloadStatus> all =
                sight.findings().stream().map(this::status).collect(ImmutableList.toImmutableList());
        ImmutableList<WorkloadStatus> shown = asked.isEmpty()
                ? all
                : all.stream().filter(status -> asked.contains(status.id())).collect(ImmutableList.toImmutableList());
        Instant now = workspace.environment().clock().instant();
        if (console.json()) {
            Json.print(
                    console.out(), json -> StatusJson.write(workspace.enforcer(), now, shown, sight.problems(), json));
        } else if (introduced) {
            workspace.enforcer().agent().ifPresent(agent -> StatusText.agent(agent, now, console));
            workspace.enforcer().controlPlane().ifPresent(one -> StatusText.controlPlane(one, now, console));
        }
        if (!console.json() && !asked.isEmpty()) {
            shown.forEach(status -> StatusText.details(status, now, console));
        } else if (!console.json() && !shown.isEmpty()) {
            StatusText.table(shown, now, console);
        }
        sight.problems().forEach(problem -> console.say(StatusText.problem(problem)));
        if (all.isEmpty() && !sight.everDeclared() && sight.problems().isEmpty()) {
            console.say("nothing was ever declared in " + workspace.layout().stateDir()
                    + "; homeostat apply -f FILE declares something");
            return ExitStatus.NOTHING_DECLARED;
        }
        if (all.isEmpty() && asked.isEmpty()) {
            console.say("nothing is declared");
        }
        if (!asked.isEmpty() && shown.isEmpty()) {
            throw new CommandFailure(
                    asked.getFirst() + " is neither declared nor on this machine; " + Declared.words(ids(sight)));
        }
        return shown.stream().allMatch(WorkloadStatus::isWell)
                        && sight.problems().isEmpty()
                ? ExitStatus.OK
                : ExitStatus.FAILED;
    }

    private WorkloadStatus status(Finding finding) {
        return WorkloadStatus.of(
                finding, workspace.enforcer().usage(finding.id()).orElse(null));
    }

    private static ImmutableSortedSet<WorkloadId> ids(Workspace.Sight sight) {
        return sight.findings().stream()
                .map(Finding::id)
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }
}
