package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.StatusRequest;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.command.environment.AgentService;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.StatusJson;
import io.homeostat.reconcile.command.output.StatusText;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Shows what is wanted and what is there, observed now: of all workloads when none is named, with {@code watch} until interrupted.
 *
 * @param labels with all of which a workload has to be declared
 */
public record StatusCommand(ImmutableList<WorkloadId> workloads, ImmutableMap<String, String> labels, boolean watch)
        implements Command {
    private static final Duration PAUSE = Duration.ofSeconds(2);

    /** To the upper left corner, and everything away (ECMA-48 CUP, ED). */
    private static final String CLEAR = "\u001b[H\u001b[2J";

    public StatusCommand {
        if (!workloads.isEmpty() && !labels.isEmpty()) {
            throw new UsageException("name workloads (KIND/NAME), or choose them with -l LABEL=VALUE: not both");
        }
    }

    public static StatusCommand of(StatusRequest request) {
        return new StatusCommand(
                RequestFields.workloads(request.getWorkloadsList()),
                ImmutableMap.copyOf(request.getLabelsMap()),
                request.getWatch());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setStatus(StatusRequest.newBuilder()
                .addAllWorkloads(RequestFields.words(workloads))
                .putAllLabels(labels)
                .setWatch(watch));
    }

    @Override
    public boolean goesOn() {
        return watch;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        boolean redrawn = watch && !console.json() && workspace.environment().outIsDrawable();
        if (redrawn) {
            console.out().print(CLEAR);
            console.out().flush();
        }
        int status = look(true, workspace);
        while (watch && console.isRead()) {
            Thread.sleep(PAUSE);
            if (!console.json()) {
                console.out().print(redrawn ? CLEAR : System.lineSeparator());
                console.out().flush();
            }
            status = look(redrawn, workspace);
        }
        return status;
    }

    private boolean hasLabels(@Nullable Declaration declared) {
        return declared != null && Selection.has(declared.workload(), labels);
    }

    /** @param introduced whether to say who enforces */
    private int look(boolean introduced, Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        Workspace.View view =
                workspace.survey(StoredState::desired, Workspace.AS_REMEMBERED, Situations.Depth.HEALTH, id -> true);
        ImmutableList<Finding> all = view.findings();
        ImmutableMap<WorkloadId, WorkloadPlan> plans = workspace.plansOfNextApply(all);
        boolean isEnforced = workspace.isEnforced();
        ImmutableList<WorkloadStatus> shown = all.stream()
                .filter(finding ->
                        labels.isEmpty() || hasLabels(finding.situation().declared()))
                .filter(finding -> workloads.isEmpty() || workloads.contains(finding.id()))
                .map(finding ->
                        status(finding, isEnforced, workspace.enforcer()).withPlan(plans.get(finding.id())))
                .collect(ImmutableList.toImmutableList());
        Instant now = workspace.environment().clock().instant();
        if (console.json()) {
            Enforcer enforcer = workspace.enforcer();
            Json.print(
                    console.out(),
                    StatusJson.of(
                            enforcer.agent(),
                            enforcer.controlPlane(),
                            now,
                            shown,
                            view.problems(),
                            view.sets(),
                            enforcer.agentProblems()));
        } else if (introduced) {
            Optional<AgentIdentity> agent = workspace.enforcer().agent();
            agent.ifPresent(one -> StatusText.agent(one, now, console));
            if (agent.isEmpty() && !all.isEmpty() && !isAgentSilent(workspace)) {
                console.say(StateLock.holder(workspace.layout().lock())
                        .map(who -> who + " is at work here; no agent runs that would go on after it")
                        .orElseGet(() -> "no agent runs, so what differs stays so until the next homeostat apply; "
                                + AgentService.start(workspace.layout()) + " starts an agent"));
            }
            workspace.enforcer().controlPlane().ifPresent(one -> StatusText.controlPlane(one, now, console));
            view.sets().forEach(set -> StatusText.set(set, now, console));
        }
        if (!console.json() && !workloads.isEmpty()) {
            shown.forEach(status -> StatusText.details(status, now, console));
        } else if (!console.json() && !shown.isEmpty()) {
            StatusText.table(shown, now, console);
        }
        view.problems().forEach(problem -> console.say(StatusText.problem(problem, view.declarations())));
        ImmutableList<String> agentProblems = workspace.enforcer().agentProblems();
        agentProblems.forEach(problem -> console.say("agent: " + Text.oneLine(problem)));
        if (all.isEmpty() && !view.everDeclared() && view.problems().isEmpty()) {
            console.say("nothing was ever declared in " + workspace.layout().stateDir()
                    + "; homeostat apply -f FILE declares something");
            return ExitStatus.NOTHING_DECLARED;
        }
        if (shown.isEmpty() && !labels.isEmpty()) {
            return new Selection(ImmutableList.of(), labels, false).nothing("is declared", workspace);
        }
        if (all.isEmpty() && workloads.isEmpty()) {
            console.say("nothing is declared");
        }
        ImmutableList<String> missing = workloads.stream()
                .filter(id -> shown.stream().noneMatch(status -> status.id().equals(id)))
                .map(id -> id + " is neither declared nor on this machine; " + Text.declared(ids(view)))
                .collect(ImmutableList.toImmutableList());
        if (shown.isEmpty() && !missing.isEmpty()) {
            throw new CommandFailure(String.join("\n", missing));
        }
        missing.forEach(why -> console.failPart(workspace.word(), why));
        return missing.isEmpty()
                        && shown.stream().allMatch(WorkloadStatus::isWell)
                        && view.problems().isEmpty()
                        && agentProblems.isEmpty()
                        // No agent could be started that looks after it.
                        && (shown.isEmpty()
                                || workspace.enforcer().unconfigured().isEmpty())
                ? ExitStatus.OK
                : ExitStatus.FAILED;
    }

    /** Then that it does not answer has been said. */
    private static boolean isAgentSilent(Workspace workspace) {
        return AgentFile.running(workspace.layout()).isPresent();
    }

    private static WorkloadStatus status(Finding finding, boolean isEnforced, Enforcer enforcer) {
        return WorkloadStatus.of(finding, enforcer.usage(finding.id()).orElse(null), isEnforced);
    }

    private static ImmutableSortedSet<WorkloadId> ids(Workspace.View view) {
        return view.findings().stream()
                .map(Finding::id)
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }
}
