package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.process.UnknownLaunches;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.WorkloadsRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Overtaken;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.command.output.WorkloadResult;
import io.homeostat.reconcile.plan.DependencyGraph;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Pauses, resumes, stops, starts, restarts or triggers workloads.
 *
 * @param reason for people; empty when none was given, which a pause does not allow
 */
public record HoldCommand(Hold hold, Selection selection, String reason, Duration timeout) implements Command {
    public enum Hold {
        /** Nothing is done to them, or for them, until they are resumed. */
        PAUSE("paused"),
        /** Ends a pause; what there is to do then is done by whoever enforces. */
        RESUME("resumed"),
        /** Stops them. They are left so, by whoever enforces, until they are started or resumed. */
        STOP("stopped"),
        /** Starts what was stopped, or paused, or has completed, and waits until it is as declared. */
        START("started"),
        /** Stops and starts what runs for ever, and starts it where it does not run. */
        RESTART("restarted"),
        /** Runs a one-shot once more. */
        TRIGGER("run");

        private final String done;

        Hold(String done) {
            this.done = done;
        }
    }

    public HoldCommand {
        if (hold == Hold.PAUSE && reason.isBlank()) {
            throw new UsageException("reason: empty; say why, for whoever finds it paused");
        }
    }

    public static HoldCommand of(Hold hold, WorkloadsRequest request) {
        return new HoldCommand(
                hold,
                Selection.of(request),
                request.getReason(),
                RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        WorkloadsRequest fields = selection
                .request()
                .setReason(reason)
                .setTimeout(RequestFields.timeout(timeout))
                .build();
        switch (hold) {
            case PAUSE -> request.setPause(fields);
            case RESUME -> request.setResume(fields);
            case STOP -> request.setStop(fields);
            case START -> request.setStart(fields);
            case RESTART -> request.setRestart(fields);
            case TRIGGER -> request.setTrigger(fields);
        }
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public boolean needsConfiguration() {
        return hold != Hold.PAUSE && hold != Hold.STOP;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        UnknownLaunches unknown = workspace.unknown();
        return selection.isOpen() ? runOnChosen(workspace, unknown) : runOnNamed(workspace, unknown);
    }

    private int runOnNamed(Workspace workspace, UnknownLaunches unknown) throws InterruptedException {
        requireKnown(workspace, unknown);
        if (hold == Hold.RESTART || hold == Hold.TRIGGER) {
            requireSuited(workspace);
        }
        if (hold != Hold.RESUME) {
            tellOfFormer(workspace);
        }
        // Of the moment at which it is stored: it may have to wait for that.
        InstantSource clock = workspace.environment().clock();
        return switch (hold) {
            case PAUSE -> {
                workspace
                        .enforcer()
                        .remember(
                                workspace,
                                workloads(),
                                store -> workloads().forEach(id -> store.pause(id, reason, clock.instant())));
                yield report(workspace, ImmutableSet.of());
            }
            case RESUME -> resume(workspace, unknown, clock);
            case STOP -> stop(workspace, unknown, clock);
            case START ->
                workspace
                        .enforcer()
                        .enforce(
                                workspace,
                                new Enforcer.Goal(
                                        store -> start(store, clock.instant()),
                                        workloads(),
                                        ImmutableSet.of(Reason.ROLLED_BACK),
                                        Overtaken::withdrawn,
                                        timeout));
            case RESTART, TRIGGER ->
                workspace
                        .enforcer()
                        .enforce(
                                workspace,
                                new Enforcer.Goal(
                                        store -> again(store, clock.instant()),
                                        workloads(),
                                        // It brings about nothing else.
                                        ImmutableSet.of(
                                                Reason.RESTART_REQUESTED,
                                                Reason.WAITING_FOR_WINDOW,
                                                Reason.ROLLED_BACK),
                                        Overtaken::withdrawn,
                                        timeout));
        };
    }

    /** A stop or pause that this ends or takes the place of may be somebody else's. What was stopped and is started ends as expected. */
    private void tellOfFormer(Workspace workspace) {
        ImmutableMap<WorkloadId, Pause> former = pauses(workspace);
        workloads().stream()
                .flatMap(id -> Stream.ofNullable(former.get(id)))
                .filter(one -> switch (hold) {
                    case STOP, PAUSE ->
                        one.stopped() != (hold == Hold.STOP)
                                || !(one.reason().isEmpty() || one.reason().equals(reason));
                    case START -> !one.stopped() || !one.reason().isEmpty();
                    case RESTART, TRIGGER, RESUME -> true;
                })
                .forEach(one -> workspace
                        .console()
                        .say(former(one)
                                + switch (hold) {
                                    case STOP -> "; the stop takes its place";
                                    case PAUSE ->
                                        "; the pause takes its place"
                                                + (one.stopped() ? ", so that it runs again once it is resumed" : "");
                                    default -> "; that ends with this";
                                }));
    }

    /** What somebody wanted once, as the beginning of a sentence. */
    static String former(Pause pause) {
        return pause.workload() + " was " + (pause.stopped() ? "stopped" : "paused") + " since "
                + pause.since().truncatedTo(ChronoUnit.SECONDS)
                + (pause.reason().isEmpty() ? "" : ": " + Text.oneLine(pause.reason()));
    }

    /** Each once, as often as it is named. */
    private ImmutableList<WorkloadId> workloads() {
        return ImmutableSet.copyOf(selection.names()).asList();
    }

    private int runOnChosen(Workspace workspace, UnknownLaunches unknown) throws InterruptedException {
        ImmutableList<WorkloadId> chosen = Stream.concat(
                        workspace.remembered(this::chosen).orElse(ImmutableList.of()).stream(),
                        hold == Hold.STOP && selection.all()
                                ? workspace.runningUnknown(unknown).stream()
                                : Stream.empty())
                .distinct()
                .sorted()
                .collect(ImmutableList.toImmutableList());
        if (chosen.isEmpty()) {
            Console console = workspace.console();
            if (console.json()) {
                Json.print(
                        console.out(),
                        hold == Hold.PAUSE || hold == Hold.RESUME
                                ? json(chosen, ImmutableMap.of(), ImmutableSet.of())
                                : WorkloadResult.json(ImmutableList.of()));
            }
            return selection.nothing("that could be " + hold.done + " is declared", workspace);
        }
        return new HoldCommand(hold, Selection.of(chosen), reason, timeout).runOnNamed(workspace, unknown);
    }

    /** A pause outlives the declaration as long as something is there, so all that can be resumed is more than all that is declared. */
    private ImmutableList<WorkloadId> chosen(StateReader reader) {
        ImmutableList<WorkloadId> declared = selection.among(StoredState.desired(reader.declarations()), this::suits);
        return hold == Hold.RESUME && selection.all()
                ? Stream.concat(declared.stream(), reader.pauses().stream().map(Pause::workload))
                        .distinct()
                        .sorted()
                        .collect(ImmutableList.toImmutableList())
                : declared;
    }

    private boolean suits(Workload workload) {
        return switch (hold) {
            case PAUSE, RESUME, STOP, START -> true;
            case RESTART -> !workload.isOneShot();
            case TRIGGER -> workload.isOneShot();
        };
    }

    /** @throws CommandFailure when one of them is not declared, or can't be done this to */
    private void requireSuited(Workspace workspace) {
        ImmutableMap<WorkloadId, Declaration> declared = workspace
                .remembered(reader -> StoredState.desired(reader.declarations()).declarations())
                .orElse(ImmutableSortedMap.of());
        for (WorkloadId id : workloads()) {
            Declaration declaration = declared.get(id);
            if (declaration == null) {
                throw new CommandFailure(id + " is not declared, so nothing was " + hold.done + "; "
                        + Text.declared(ImmutableSortedSet.copyOf(declared.keySet())));
            }
            if (!suits(declaration.workload())) {
                throw new CommandFailure(
                        hold == Hold.RESTART
                                ? id + " is a one-shot and is not restarted; homeostat trigger " + id
                                        + " runs it once more"
                                : id + " is no one-shot and has no runs; homeostat restart " + id
                                        + " stops and starts it");
            }
        }
    }

    private void start(StateStore store, Instant now) {
        release(store, now);
        store.launchCompleted(workloads());
    }

    private void again(StateStore store, Instant now) {
        release(store, now);
        store.launchAgain(workloads());
    }

    /** @throws CommandFailure when one of them is neither declared, nor paused, nor on this machine */
    private void requireKnown(Workspace workspace, UnknownLaunches unknown) {
        Stream<WorkloadId> remembered =
                workspace.remembered(HoldCommand::declaredOrPaused).orElse(ImmutableList.of()).stream();
        ImmutableSortedSet<WorkloadId> known = Stream.concat(remembered, workspace.traces(unknown).stream())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
        for (WorkloadId id : workloads()) {
            if (!known.contains(id)) {
                throw new CommandFailure(id + " is neither declared nor on this machine, so nothing was " + hold.done
                        + "; " + Text.declared(known));
            }
        }
    }

    private static ImmutableList<WorkloadId> declaredOrPaused(StateReader reader) {
        return Stream.concat(
                        reader.declarations().stream()
                                .map(declaration -> declaration.workload().id()),
                        // Whose reason is to be another.
                        reader.pauses().stream().map(Pause::workload))
                .collect(ImmutableList.toImmutableList());
    }

    /** What is not paused may have been given up, or waits for its next try: that ends, too. */
    private int resume(Workspace workspace, UnknownLaunches unknown, InstantSource clock) throws InterruptedException {
        ImmutableSet<WorkloadId> paused = pauses(workspace).keySet();
        // Looked up before the pause ends: an agent removes them at once.
        ImmutableSet<WorkloadId> withdrawn = withdrawn(workspace, unknown);
        List<WorkloadId> retried = new ArrayList<>();
        workspace.enforcer().remember(workspace, workloads(), store -> {
            release(store, clock.instant());
            retried.addAll(store.retryUndone(workloads(), false));
        });
        for (WorkloadId id : workloads()) {
            if (retried.contains(id)) {
                workspace.console().say("what was undone of " + id + " is tried again");
            } else if (!paused.contains(id)) {
                workspace.console().say(id + " was not paused; if it has failed, that holds it back no longer");
            }
        }
        if (workspace.enforcer().agent().isEmpty()) {
            workspace.console().say("no agent runs here; the next homeostat apply brings about what is declared");
        }
        return report(workspace, withdrawn);
    }

    /** Those that are removed as soon as nothing holds that back. */
    private ImmutableSet<WorkloadId> withdrawn(Workspace workspace, UnknownLaunches unknown) {
        ImmutableSet<WorkloadId> traces = workspace.traces(unknown);
        return workspace
                .remembered(reader -> {
                    ImmutableSet<WorkloadId> declared = StoredState.desired(reader.declarations())
                            .declarations()
                            .keySet();
                    return workloads().stream()
                            .filter(id -> !declared.contains(id)
                                    && (traces.contains(id)
                                            || !reader.instances(id).isEmpty())
                                    && reader.history(id).isOfSomethingDeclared())
                            .collect(ImmutableSet.toImmutableSet());
                })
                .orElse(ImmutableSet.of());
    }

    /**
     * Ends a stop, which is about a declaration that is gone. A pause is about what is on the machine, and holds back its removal: it
     * ends when nothing is there.
     *
     * @param here whether there is anything of it
     */
    static void endWithDeclaration(StateStore store, WorkloadId id, boolean here, Instant now) {
        if (store.pause(id).filter(pause -> pause.stopped() || !here).isPresent()) {
            store.resume(id, "no longer declared", now);
        }
    }

    private void release(StateStore store, Instant now) {
        workloads().forEach(id -> store.resume(id, reason, now));
        // Whoever does that has looked after them: what they were given up for counts no more.
        store.retryNow(DependencyGraph.withNeeds(workloads(), StoredState.desired(store.declarations()))
                .asList());
    }

    private int stop(Workspace workspace, UnknownLaunches unknown, InstantSource clock) throws InterruptedException {
        ImmutableList<WorkloadId> idle = workspace.idle(workloads(), unknown);
        // Whatever depends on these may be among them; nobody has seen it end yet, if that stop was broken off.
        ImmutableList<WorkloadId> touched = Stream.concat(workloads().stream(), stopping(workspace))
                .distinct()
                .collect(ImmutableList.toImmutableList());
        int status = workspace
                .enforcer()
                .enforce(
                        workspace,
                        new Enforcer.Goal(
                                store -> workloads().forEach(id -> store.stop(id, reason, clock.instant())),
                                touched,
                                ImmutableSet.of(Reason.STOPPED),
                                declared -> Overtaken.started(),
                                timeout,
                                ImmutableSet.copyOf(workloads())));
        idle.forEach(id -> workspace.console().say(id + " was not running; it stays so until homeostat start " + id));
        return status;
    }

    private static Stream<WorkloadId> stopping(Workspace workspace) {
        return workspace
                .remembered(reader -> reader.pauses().stream()
                        .filter(Pause::stopped)
                        .map(Pause::workload)
                        .filter(id -> reader.instances(id).stream().anyMatch(instance -> !instance.isOver()))
                        .collect(ImmutableList.toImmutableList()))
                .orElse(ImmutableList.of())
                .stream();
    }

    private static ImmutableMap<WorkloadId, Pause> pauses(Workspace workspace) {
        return workspace
                .remembered(reader -> Maps.uniqueIndex(reader.pauses(), Pause::workload))
                .orElse(ImmutableMap.of());
    }

    /** Says which of them are paused now, and which are to be removed; the JSON is a public interface. */
    private int report(Workspace workspace, ImmutableSet<WorkloadId> withdrawn) {
        ImmutableMap<WorkloadId, Pause> pauses = pauses(workspace);
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), json(workloads(), pauses, withdrawn));
        } else {
            boolean agent = workspace.enforcer().agent().isPresent();
            for (WorkloadId id : workloads()) {
                @Nullable Pause pause = pauses.get(id);
                String free = !withdrawn.contains(id)
                        ? " is no longer held back"
                        : agent
                                ? " is being removed, as it is no longer declared"
                                : " is no longer declared; the next homeostat apply or delete removes it";
                console.out().println(id + (pause == null ? free : " is " + Text.oneLine(pause.words())));
            }
        }
        return ExitStatus.OK;
    }

    private static ObjectNode json(
            ImmutableList<WorkloadId> workloads,
            ImmutableMap<WorkloadId, Pause> pauses,
            ImmutableSet<WorkloadId> withdrawn) {
        ObjectNode json = Json.versioned();
        json.set("workloads", Json.array(workloads, id -> {
            ObjectNode one = json(id, pauses.get(id));
            return withdrawn.contains(id) ? one.put("toBeRemoved", true) : one;
        }));
        return json;
    }

    private static ObjectNode json(WorkloadId id, @Nullable Pause pause) {
        ObjectNode json = Json.object().put("workload", id.toString()).put("paused", pause != null);
        if (pause != null && pause.stopped()) {
            json.put("stopped", true);
        }
        return pause == null
                ? json
                : json.put("reason", pause.reason()).put("since", pause.since().toString());
    }
}
