package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StoredDeclaration;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.PlanJson;
import io.homeostat.reconcile.command.output.PlanText;
import io.homeostat.reconcile.command.output.Rivals;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.status.Survey.Finding;

/** Shows what apply would do; touches nothing. */
final class PlanCommand implements Command {
    private final Workspace workspace;
    private final Given given;
    private final boolean detailedExitCode;

    PlanCommand(Workspace workspace, Given given, boolean detailedExitCode) {
        this.workspace = workspace;
        this.given = given;
        this.detailedExitCode = detailedExitCode;
    }

    @Override
    public int run() throws InterruptedException {
        Console console = workspace.console();
        // As apply does: what it is given is tried at once.
        Workspace.Sight sight = workspace.survey(this::desired, given.ids(), Situations.Depth.PRESENCE);
        Plan plan = new Plan(sight.findings().stream().map(Finding::plan).collect(ImmutableList.toImmutableList()));
        Rivals.overruled(given.ids(), sight.desired()).forEach(console::say);
        if (console.json()) {
            Json.print(console.out(), json -> PlanJson.write(plan, sight.desired(), json));
        } else {
            PlanText.print(plan, console);
            Rivals.contested(sight.desired()).stream().map(Rivals::words).forEach(console::say);
        }
        return detailedExitCode && !plan.isEmpty() ? ExitStatus.CHANGES : ExitStatus.OK;
    }

    private DesiredState desired(ImmutableList<StoredDeclaration> stored) {
        return given.isNothing()
                ? StoredState.desired(stored)
                : AppliedState.after(stored, given.documents(), given.origins(), given.prune());
    }
}
