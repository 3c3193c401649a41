package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.store.StoredDeclaration;
import io.homeostat.desired.yaml.ReadResult;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.status.Survey;
import io.homeostat.reconcile.status.Survey.Finding;
import org.jspecify.annotations.Nullable;

/** Shows what apply would do; touches nothing. */
final class PlanCommand implements Command {
    private final Workspace workspace;
    private final Inputs inputs;
    private final boolean prune;
    private final boolean detailedExitCode;

    PlanCommand(Workspace workspace, Inputs inputs, boolean prune, boolean detailedExitCode) {
        this.workspace = workspace;
        this.inputs = inputs;
        this.prune = prune;
        this.detailedExitCode = detailedExitCode;
    }

    @Override
    public int run() throws InterruptedException {
        inputs.checkPrune(prune);
        Console console = workspace.console();
        ReadResult read = inputs.areGiven() ? inputs.read() : null;
        if (read != null) {
            Problems.print(read, console.err());
            if (!read.valid()) {
                console.say("plan: " + Problems.count(read) + "; correct the files");
                return ExitStatus.FAILED;
            }
        }
        Plan plan = plan(read);
        if (console.json()) {
            Json.print(console.out(), json -> PlanJson.write(plan, json));
        } else {
            PlanText.print(plan, console);
        }
        return detailedExitCode && !plan.isEmpty() ? ExitStatus.CHANGES : ExitStatus.OK;
    }

    private Plan plan(@Nullable ReadResult read) throws InterruptedException {
        // As apply does: what it is given is tried at once.
        ImmutableList<WorkloadId> given = read == null
                ? ImmutableList.of()
                : inputs.toApply(read).stream()
                        .map(document -> document.workload().id())
                        .collect(ImmutableList.toImmutableList());
        Workspace.Sight sight = workspace.survey(stored -> desired(stored, read), given, Survey.Depth.PRESENCE);
        return new Plan(sight.findings().stream().map(Finding::plan).collect(ImmutableList.toImmutableList()));
    }

    private DesiredState desired(ImmutableList<StoredDeclaration> stored, @Nullable ReadResult read) {
        return read == null
                ? StoredState.desired(stored)
                : AppliedState.after(stored, inputs.toApply(read), inputs.origins(), prune);
    }
}
