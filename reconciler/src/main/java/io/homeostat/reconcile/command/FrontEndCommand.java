package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.NomadDriverRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a front end asks an agent for: to declare or withdraw workloads under its source, and to say what has become of them. It waits for
 * nothing; the front end does, and may ask again.
 *
 * @param frontEnd whose declarations these are
 * @param task the origin of a declaration: what the front end is asked for, as whoever asks it calls that. Without a document: with workloads, a stop of them that was broken off is over; without, how what is
 *     declared of the same task by other ids is
 * @param document to declare; empty when there is none
 * @param follow whether to go on with each change
 */
public record FrontEndCommand(
        FrontEnd frontEnd,
        String task,
        String document,
        ImmutableList<WorkloadId> withdrawn,
        ImmutableList<WorkloadId> workloads,
        boolean follow)
        implements Command {
    /** The reason of the pause by which a stop begins. */
    public static final String STOPPED = "stopped by Nomad";

    /** What is remembered stays in memory, so that it costs little to look often. */
    private static final Duration PAUSE = Duration.ofMillis(50);

    /** A request for JSON to go on about these. */
    public static FrontEndCommand about(FrontEnd frontEnd, ImmutableList<WorkloadId> workloads, boolean follow) {
        return new FrontEndCommand(frontEnd, "", "", ImmutableList.of(), workloads, follow);
    }

    public static FrontEndCommand declare(FrontEnd frontEnd, String task, String document) {
        return new FrontEndCommand(frontEnd, task, document, ImmutableList.of(), ImmutableList.of(), false);
    }

    /** A request for JSON about what is declared of other origins that are the same up to their last slash. */
    public static FrontEndCommand former(FrontEnd frontEnd, String task) {
        return new FrontEndCommand(frontEnd, task, "", ImmutableList.of(), ImmutableList.of(), false);
    }

    /** Ends the pause of a stop that nobody will finish. What is to be done for it then is done by whoever enforces. */
    public static FrontEndCommand resume(FrontEnd frontEnd, String task, WorkloadId workload) {
        return new FrontEndCommand(frontEnd, task, "", ImmutableList.of(), ImmutableList.of(workload), false);
    }

    public static FrontEndCommand withdraw(FrontEnd frontEnd, WorkloadId workload) {
        return new FrontEndCommand(frontEnd, "", "", ImmutableList.of(workload), ImmutableList.of(), false);
    }

    public static FrontEndCommand of(NomadDriverRequest request) {
        int parts = (request.getDocument().isEmpty() ? 0 : 1)
                + (request.getWithdrawList().isEmpty() ? 0 : 1)
                + (request.getWorkloadsList().isEmpty() ? 0 : 1);
        if (parts > 1) {
            throw new UsageException("document, withdraw and workloads: at most one of them may be set");
        }
        if (!request.getDocument().isEmpty() && request.getTask().isEmpty()) {
            throw new UsageException("task: it has to be said whose document this is");
        }
        return new FrontEndCommand(
                FrontEnd.ofCommand(request.getFrontEnd())
                        .orElseThrow(() -> new UsageException("front_end: there is no '" + request.getFrontEnd()
                                + "', or this agent is too old for it")),
                request.getTask(),
                request.getDocument(),
                RequestFields.workloads(request.getWithdrawList()),
                RequestFields.workloads(request.getWorkloadsList()),
                request.getFollow());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setNomadDriver(NomadDriverRequest.newBuilder()
                .setFrontEnd(frontEnd == FrontEnd.NOMAD_DRIVER ? "" : frontEnd.command())
                .setTask(task)
                .setDocument(document)
                .addAllWithdraw(RequestFields.words(withdrawn))
                .addAllWorkloads(RequestFields.words(workloads))
                .setFollow(follow));
    }

    @Override
    public boolean onlyLooks() {
        return document.isEmpty() && withdrawn.isEmpty() && !resumes();
    }

    @Override
    public boolean needsConfiguration() {
        return !document.isEmpty() || resumes();
    }

    private boolean resumes() {
        return document.isEmpty() && !task.isEmpty() && !workloads.isEmpty();
    }

    @Override
    public boolean goesOn() {
        return follow;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        if (!document.isEmpty()) {
            declare(workspace);
        }
        if (!withdrawn.isEmpty()) {
            withdraw(workspace);
        }
        if (resumes()) {
            resume(workspace);
        }
        ImmutableList<WorkloadId> asked = document.isEmpty() && !task.isEmpty() && workloads.isEmpty()
                ? workspace.remembered(this::formerly).orElse(ImmutableList.of())
                : workloads;
        Map<WorkloadId, String> told = new HashMap<>();
        tell(asked, workspace, told);
        while (follow && workspace.console().isRead()) {
            Thread.sleep(PAUSE);
            tell(asked, workspace, told);
        }
        return ExitStatus.OK;
    }

    private void declare(Workspace workspace) {
        ReadResult read = workspace
                .environment()
                .documents()
                .parse(DocumentReader.collect(List.of(new Input.Text("task", task, null, document))));
        if (!read.valid() || read.workloads().size() != 1) {
            throw new CommandFailure(
                    read.errors().isEmpty()
                            ? "one document is declared at a time"
                            : read.errors().stream().map(Problem::message).collect(Collectors.joining("; ")),
                    read.errors());
        }
        ToApply declared = new ToApply(
                workspace
                        .environment()
                        .documents()
                        .print(Iterables.getOnlyElement(read.workloads()).workload()),
                task);
        workspace.enforcer().declare(store -> {
            // Before it is stored: what counts is what is wanted now.
            return replace(
                    store,
                    ImmutableList.of(declared),
                    ImmutableSet.of(task),
                    workspace.environment().clock().instant());
        });
    }

    private void resume(Workspace workspace) throws InterruptedException {
        Instant now = workspace.environment().clock().instant();
        workspace
                .enforcer()
                .remember(
                        workspace,
                        workloads,
                        store -> workloads.stream()
                                .filter(id -> store.pause(id)
                                        .filter(pause -> !pause.stopped()
                                                && pause.reason().equals(STOPPED))
                                        .isPresent())
                                .forEach(id -> store.resume(id, "the stop was broken off", now)));
    }

    /** Of Nomad an id is ALLOCATION/TASK/START. */
    private ImmutableList<WorkloadId> formerly(StateReader reader) {
        int end = task.lastIndexOf('/');
        if (end <= task.indexOf('/')) {
            return ImmutableList.of();
        }
        String same = task.substring(0, end + 1);
        return reader.declarations().stream()
                .filter(one -> one.source() == frontEnd.source()
                        && one.origin().startsWith(same)
                        && !one.origin().equals(task))
                .map(one -> one.workload().id())
                .collect(ImmutableList.toImmutableList());
    }

    private void withdraw(Workspace workspace) throws InterruptedException {
        Instant now = workspace.environment().clock().instant();
        workspace.enforcer().declare(store -> {
            ImmutableSet<String> origins = store.declarations().stream()
                    .filter(one -> one.source() == frontEnd.source()
                            && withdrawn.contains(one.workload().id()))
                    .map(StoredDeclaration::origin)
                    .collect(ImmutableSet.toImmutableSet());
            ImmutableSet<WorkloadId> gone = replace(store, ImmutableList.of(), origins, now);
            // A pause would hold back its removal; whoever set it for a stop may be gone.
            withdrawn.forEach(id -> HoldCommand.endWithDeclaration(store, id, false, now));
            return Sets.union(gone, ImmutableSet.copyOf(withdrawn)).immutableCopy();
        });
    }

    /** Of these origins nothing else stays; all others are left as they are. */
    private ImmutableSet<WorkloadId> replace(
            StateStore store, ImmutableList<ToApply> documents, ImmutableSet<String> origins, Instant now) {
        ImmutableSet<String> others = store.declarations().stream()
                .filter(one -> one.source() == frontEnd.source() && !origins.contains(one.origin()))
                .map(StoredDeclaration::origin)
                .collect(ImmutableSet.toImmutableSet());
        return store.replace(new SourceContent(frontEnd.source(), documents, others, ImmutableList.of()), now);
    }

    private static void tell(ImmutableList<WorkloadId> asked, Workspace workspace, Map<WorkloadId, String> told) {
        for (WorkloadId id : asked) {
            String now = workspace
                    .remembered(reader -> json(reader, id, workspace))
                    .orElseGet(() -> Json.object().put("workload", id.toString()))
                    .toString();
            if (!now.equals(told.put(id, now))) {
                workspace.console().out().println(now);
                workspace.console().out().flush();
            }
        }
    }

    /**
     * Running: there is a process, as far as is known. Over: there is none, and there will be none before somebody asks for it. Without
     * secrets, as all that is remembered.
     */
    private static ObjectNode json(StateReader reader, WorkloadId id, Workspace workspace) {
        WorkloadHistory history = reader.history(id);
        RunRecord run = history.run();
        ImmutableList<Instance> instances = reader.instances(id);
        ObjectNode json = Json.object()
                .put("workload", id.toString())
                .put(
                        "known",
                        history.isOfSomethingDeclared()
                                || !instances.isEmpty()
                                || reader.declarations().stream()
                                        .anyMatch(one -> one.workload().id().equals(id)))
                .put("restarts", run.restarts())
                .put(
                        "fatal",
                        history.attempts().install().fatal()
                                || history.attempts().start().fatal())
                .put("problem", history.problem())
                .put("log", workspace.layout().log(id).toString());
        boolean running = false;
        for (Instance instance : instances) {
            ProcessIdentity process = instance.process();
            if (process != null && !instance.isOver()) {
                running = true;
                json.put("launchId", instance.launchId())
                        .put("pid", process.pid())
                        .put("startTicks", process.startTicks())
                        .put("bootId", process.bootId())
                        .put("startedAt", instance.launchedAt().toString());
            }
        }
        boolean atRest = run.completed() != null
                || history.attempts().start().fatal()
                || reader.pause(id)
                        .filter(pause -> pause.stopped() || run.lastExit() != null)
                        .isPresent()
                || history.conditions().stream()
                        .anyMatch(condition -> condition.type() == Condition.Type.GIVEN_UP
                                && condition.status() == Condition.Status.TRUE);
        json.put("running", running).put("over", instances.isEmpty() && atRest);
        Exit exit = run.lastExit();
        json.set("exit", exit == null ? null : json(exit));
        return json;
    }

    private static ObjectNode json(Exit exit) {
        @Nullable Integer signal = exit.signal();
        return Json.object()
                .put("code", exit.code())
                .put("signal", signal)
                .put("reason", exit.reason().name())
                .put("at", exit.at().toString());
    }
}
