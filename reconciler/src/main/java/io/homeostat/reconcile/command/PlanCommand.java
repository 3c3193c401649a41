package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.MachineSources;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.PlanRequest;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.PlanJson;
import io.homeostat.reconcile.command.output.PlanText;
import io.homeostat.reconcile.command.output.SourceConflicts;
import io.homeostat.reconcile.command.output.StatusText;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.Survey.Memory;

/**
 * Shows what apply would do; touches nothing. Without documents the plan is against the stored desired state, and, where no agent runs, what
 * the next one will read at its start.
 */
public record PlanCommand(DocumentTexts documents, boolean detailedExitCode) implements Command {
    public static PlanCommand of(PlanRequest request) {
        return new PlanCommand(DocumentTexts.of(request.getDocuments()), request.getDetailedExitStatus());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setPlan(
                PlanRequest.newBuilder().setDocuments(documents.request()).setDetailedExitStatus(detailedExitCode));
    }

    /** It says what apply would do, which does nothing then. */
    @Override
    public boolean needsConfiguration() {
        return true;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        DocumentSet valid = documents.parse(workspace, "");
        ImmutableList<SourceContent> unread = unread(workspace);
        Workspace.View view = workspace.survey(
                stored -> desired(valid, unread, stored),
                (memory, wanted) -> tried(memory, valid, wanted, workspace.enforcer()),
                Situations.Depth.HEALTH,
                id -> true);
        Plan plan = new Plan(view.findings().stream().map(Finding::plan).collect(ImmutableList.toImmutableList()));
        SourceConflicts.overruled(valid.ids(), view.desired()).forEach(console::say);
        if (console.json()) {
            Json.print(console.out(), PlanJson.of(plan, view.desired()));
        } else {
            PlanText.print(plan, console);
            SourceConflicts.contested(view.desired()).stream()
                    .map(SourceConflicts::words)
                    .forEach(console::say);
        }
        ImmutableList<SourceProblem> problems =
                unread.stream().flatMap(source -> source.problems().stream()).collect(ImmutableList.toImmutableList());
        problems.forEach(problem -> console.say(StatusText.problem(problem, view.declarations())));
        // As of apply: it speaks of what is given, and what that depends on.
        ImmutableSet<WorkloadId> asked = DependencyGraph.withNeeds(valid.ids(), view.desired());
        if (!problems.isEmpty()
                || view.findings().stream()
                        .filter(finding -> valid.isNone() || asked.contains(finding.id()))
                        .anyMatch(finding -> finding.plan().reason() == Reason.CANNOT_OBSERVE)) {
            return ExitStatus.FAILED;
        }
        return detailedExitCode && !plan.isEmpty() ? ExitStatus.CHANGES : ExitStatus.OK;
    }

    /**
     * As apply does: what it is given is tried at once. Of what has crashed the same is shown without documents where no agent runs;
     * what could not be installed or started stays a wait, which gives the cause and says that the next apply tries again.
     */
    private static Memory tried(Memory memory, DocumentSet documents, DesiredState desired, Enforcer enforcer) {
        if (documents.isNone()) {
            return enforcer.agent().isPresent() ? memory : memory.withoutCrashes();
        }
        return memory.applied(documents.ids(), desired);
    }

    /**
     * What the next agent will read at its start. Nothing when one runs, which has read it; nor beside documents, as apply leaves to an agent
     * what files declare. Which files an agent reads that is given a configuration of its own is not known here: what it has read stays.
     */
    private ImmutableList<SourceContent> unread(Workspace workspace) {
        if (!documents.isNone() || workspace.enforcer().agent().isPresent()) {
            return ImmutableList.of();
        }
        MachineSources sources = new MachineSources(
                workspace.enforcer().config(), new UserDirectories(workspace.environment()).desiredFiles());
        ImmutableList<StoredDeclaration> stored =
                workspace.remembered(StateReader::declarations).orElse(ImmutableList.of());
        ImmutableSet<String> others =
                workspace.enforcer().hasConfigFile() ? ImmutableSet.of() : sources.readByOthers(stored);
        others.stream()
                .findFirst()
                .ifPresent(file -> workspace
                        .console()
                        .say(file
                                + " was read by an agent with another configuration; what it declared then is in this plan,"
                                + " and plan --config FILE reads it"));
        return sources.contents(stored, others, workspace.environment().clock());
    }

    private static DesiredState desired(
            DocumentSet documents, ImmutableList<SourceContent> unread, ImmutableList<StoredDeclaration> stored) {
        if (!documents.isNone()) {
            return documents.appliedTo(stored);
        }
        ImmutableList<StoredDeclaration> read = stored;
        for (SourceContent source : unread) {
            read = StoredState.replaced(read, source);
        }
        return StoredState.desired(read);
    }
}
