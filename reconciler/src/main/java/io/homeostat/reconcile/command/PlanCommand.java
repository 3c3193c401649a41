package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
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
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.PlanRequest;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.LeftOut;
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
 *
 * @param configNamed whether somebody has named the configuration that counts where no agent runs
 */
public record PlanCommand(DocumentTexts documents, boolean detailedExitCode, boolean configNamed) implements Command {
    public static PlanCommand of(PlanRequest request) {
        return new PlanCommand(
                DocumentTexts.of(request.getDocuments()), request.getDetailedExitStatus(), request.getConfigNamed());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setPlan(PlanRequest.newBuilder()
                .setDocuments(documents.request())
                .setDetailedExitStatus(detailedExitCode)
                .setConfigNamed(configNamed));
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
        if (configNamed) {
            workspace
                    .enforcer()
                    .agent()
                    .ifPresent(
                            agent -> console.say(
                                    "the agent (pid " + agent.pid()
                                            + ") goes by the configuration that it has read, and so does this plan; --config counts where no agent runs"));
        }
        ImmutableList<SourceContent> unread = unread(workspace);
        Workspace.View view = workspace.survey(
                stored -> desired(valid, unread, stored),
                (memory, wanted) -> tried(memory, valid, wanted, workspace.enforcer()),
                Situations.Depth.HEALTH,
                id -> true);
        Plan plan = new Plan(view.findings().stream().map(Finding::plan).collect(ImmutableList.toImmutableList()));
        SourceConflicts.overruled(valid.ids(), view.desired()).forEach(console::say);
        ImmutableList<NotHere> notHere = valid.isNone() ? workspace.notHere() : valid.notHere();
        if (console.json()) {
            ObjectNode json = PlanJson.of(plan, view.desired());
            if (!notHere.isEmpty()) {
                json.set("notHere", LeftOut.json(notHere));
            }
            Json.print(console.out(), json);
        } else {
            PlanText.print(plan, console);
            LeftOut.print(notHere, console.out());
            SourceConflicts.contested(view.desired()).stream()
                    .map(SourceConflicts::words)
                    .forEach(console::say);
        }
        ImmutableList<SourceProblem> problems =
                valid.isNone() && workspace.enforcer().agent().isPresent()
                        ? view.problems()
                        : unread.stream()
                                .flatMap(source -> source.problems().stream())
                                .collect(ImmutableList.toImmutableList());
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
     * what files declare. Which files an agent reads that is given a
     * configuration of its own is not known where nobody names that, and the usual one says nothing of files: what it has read stays.
     */
    private ImmutableList<SourceContent> unread(Workspace workspace) {
        if (!documents.isNone() || workspace.enforcer().agent().isPresent()) {
            return ImmutableList.of();
        }
        MachineSources sources = workspace.sources(workspace.labels());
        ImmutableList<StoredDeclaration> stored =
                workspace.remembered(StateReader::declarations).orElse(ImmutableList.of());
        boolean told = configNamed
                || !workspace
                        .enforcer()
                        .config()
                        .sources()
                        .equals(AgentConfigReader.defaults().sources());
        ImmutableSet<String> others = told ? ImmutableSet.of() : sources.readByOthers(stored);
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
