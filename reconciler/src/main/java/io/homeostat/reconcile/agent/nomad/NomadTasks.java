package io.homeostat.reconcile.agent.nomad;

import com.google.common.collect.ImmutableList;
import io.grpc.Context;
import io.grpc.Status;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.stop.Signals;
import io.homeostat.desired.model.SignalNames;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.reconcile.agent.frontend.AgentLink;
import io.homeostat.reconcile.agent.frontend.FrontEndAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.agent.frontend.WorkloadWatch;
import io.homeostat.reconcile.command.FrontEndCommand;
import io.homeostat.reconcile.command.HoldCommand;
import io.homeostat.reconcile.command.HoldCommand.Hold;
import io.homeostat.reconcile.command.Selection;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The tasks of a Nomad client: declares them, follows how they fare, and withdraws them. What enforces them is the agent; nothing here owns
 * a process, so that it can end and come back at any time.
 */
final class NomadTasks {
    private static final String TERMINATE = "SIGTERM";
    private static final String KILL = "SIGKILL";

    /** Until StopTask says otherwise. */
    private static final Duration STOP = Duration.ofSeconds(30);

    /** How long an agent may not answer for a task that it has. */
    private static final Duration RECOVERY = Duration.ofMinutes(10);

    /** How often it is tried to withdraw what nobody waits for. */
    private static final int ABANDON = 3;

    private static final String RUNS = "the task still runs, and is only destroyed by force";

    private final FrontEndAgent agent;
    private final TaskEvents events;
    private final HostLog log;
    private final InstantSource clock;
    private final Sender signals;
    private final Times times;
    private final Map<String, DrivenTask> tasks = new ConcurrentHashMap<>();
    private final Map<String, TaskOutput> outputs = new ConcurrentHashMap<>();
    private final Map<String, Object> turns = new ConcurrentHashMap<>();
    private final WorkloadWatch watch;

    /**
     * How long is waited for what.
     *
     * @param pause after a failure, the first time; then longer ones
     * @param look between two looks at a task that is about to change
     * @param leeway what a stop may take longer than the task has been given
     * @param adoption how long an agent that was just started may not know whether a task runs
     */
    record Times(Duration pause, Duration look, Duration leeway, Duration adoption) {
        static final Times USUAL = new Times(
                WorkloadWatch.SHORTEST_PAUSE, Duration.ofMillis(50), Duration.ofSeconds(15), Duration.ofSeconds(20));
    }

    /** Sends signals to processes. */
    @FunctionalInterface
    interface Sender {
        /** Returns whether the process was there. */
        boolean send(ProcessIdentity process, int signal) throws IOException;

        static Sender ofTheKernel() {
            Signals signals = new Signals(new ProcFs());
            return (process, signal) -> signals.send(process.pid(), process.startTicks(), signal);
        }
    }

    NomadTasks(FrontEndAgent agent, TaskEvents events, HostLog log, InstantSource clock) {
        this(agent, events, log, clock, Sender.ofTheKernel(), Times.USUAL);
    }

    NomadTasks(FrontEndAgent agent, TaskEvents events, HostLog log, InstantSource clock, Sender signals, Times times) {
        this.signals = signals;
        this.times = times;
        this.agent = agent;
        this.events = events;
        this.log = log;
        this.clock = clock;
        this.watch = WorkloadWatch.begin(agent, this::followed, this::seen, log::warn);
    }

    /** The task of that id; throws the status that a client expects when there is none. */
    DrivenTask get(String id) {
        DrivenTask task = tasks.get(id);
        if (task == null) {
            throw TaskFailures.notFound();
        }
        return task;
    }

    /** Its process now; empty when it has none. */
    Optional<ProcessIdentity> process(DrivenTask task) throws InterruptedException {
        return Optional.ofNullable(agent.look(task.workload()).process());
    }

    /**
     * Declares a task and returns when it has a process, or has had one. Whoever starts it again gets the same.
     *
     * @throws io.grpc.StatusRuntimeException when it can't be started; then nothing of it is left
     */
    DrivenTask start(TaskConfig config) throws InterruptedException {
        TaskSettings settings = TaskFailures.valid(config.getMsgpackDriverConfig(), TaskSettings::read);
        if (!config.getAllocDir().startsWith("/") || config.getName().isEmpty()) {
            throw TaskFailures.invalid("the task has no directory: alloc_dir or name is missing");
        }
        synchronized (turn(config.getId())) {
            DrivenTask known = tasks.get(config.getId());
            if (known != null) {
                return known;
            }
            WorkloadId workload = TaskDocument.workload(config, settings.plugin());
            try {
                boolean declared = agent.look(workload).known();
                if (!declared) {
                    // With another id Nomad has given up the others, whether it could say so or not.
                    for (WorkloadLook former : agent.former(config.getId())) {
                        log.warn(former.workload() + " is a former start of task " + config.getId()
                                + " that was not destroyed, and is removed");
                        withdraw(former.workload());
                    }
                    config.getEnvMap().keySet().stream()
                            .filter(name -> !TaskDocument.isVariable(name))
                            .forEach(name -> log.warn("the variable " + name + " of task " + config.getId()
                                    + " is left out: its name is none that a shell could use"));
                }
                String document = TaskDocument.of(config, settings, STOP, TERMINATE);
                return launched(config, settings, decided(config.getId(), document, workload, declared));
            } catch (CommandFailure e) {
                throw e.problems().isEmpty()
                        ? TaskFailures.recoverable(e.getMessage())
                        : TaskFailures.invalid(e.getMessage());
            }
        }
    }

    /**
     * Declares it, if it is not, and returns what has become of it. Once it may be declared, nothing but that or the end of the call ends
     * the wait: Nomad would start another one.
     */
    private WorkloadLook decided(String id, String document, WorkloadId workload, boolean before)
            throws InterruptedException {
        boolean declared = before;
        boolean begun = before;
        Duration pause = times.pause();
        while (true) {
            @Nullable WorkloadLook look = null;
            try {
                if (!declared) {
                    agent.declare(id, document);
                    declared = true;
                    begun = true;
                }
                look = decisive(workload);
                // Somebody may have removed it.
                declared = look == null || look.known();
            } catch (CommandFailure e) {
                begun |= AgentLink.isOpen(e);
                if (!Context.current().isCancelled() && (!begun || !e.problems().isEmpty())) {
                    throw e;
                }
                log.warn("whether task " + id + " is started is not known for a moment: " + e.getMessage());
            }
            if (Context.current().isCancelled()) {
                abandon(workload);
                throw Status.CANCELLED
                        .withDescription("the client waits no longer")
                        .asRuntimeException();
            }
            if (look != null && look.known()) {
                return look;
            }
            Thread.sleep(pause);
            pause = WorkloadWatch.longer(pause);
        }
    }

    private @Nullable WorkloadLook decisive(WorkloadId workload) throws InterruptedException {
        AtomicReference<@Nullable WorkloadLook> decisive = new AtomicReference<>();
        agent.follow(ImmutableList.of(workload), look -> {
            if (!isDecided(look)) {
                return true;
            }
            decisive.set(look);
            return false;
        });
        return decisive.get();
    }

    private DrivenTask launched(TaskConfig config, TaskSettings settings, WorkloadLook look)
            throws InterruptedException {
        if (look.process() == null && look.end() == null) {
            abandon(look.workload());
            String problem = look.problem().isEmpty()
                    ? "it was stopped or paused on this machine before it was started"
                    : look.problem();
            throw look.fatal() ? TaskFailures.failed(problem) : TaskFailures.recoverable(problem);
        }
        DrivenTask task =
                new DrivenTask(config, settings, look.startedAt() != null ? look.startedAt() : clock.instant(), look);
        register(task);
        return task;
    }

    private static boolean isDecided(WorkloadLook look) {
        return look.process() != null
                || look.end() != null
                || look.over()
                || !look.known()
                || !look.problem().isEmpty();
    }

    /** Withdraws it even when the call has been given up. What then is left is removed when the task is started again. */
    private void abandon(WorkloadId workload) throws InterruptedException {
        Context call = Context.ROOT.attach();
        try {
            for (int attempts = ABANDON; attempts > 0; attempts--) {
                try {
                    withdraw(workload);
                    return;
                } catch (CommandFailure e) {
                    log.warn(workload + " was not started, and is not removed: " + e.getMessage());
                    Thread.sleep(times.pause());
                }
            }
        } finally {
            Context.ROOT.detach(call);
        }
    }

    private void register(DrivenTask task) {
        String id = task.config().getId();
        outputs.computeIfAbsent(
                id,
                same -> new TaskOutput(
                        task.last().log(),
                        task.config().getStdoutPath(),
                        agent.layout()
                                .stateDir()
                                .resolve("nomad-driver")
                                .resolve(task.workload().name()),
                        log));
        tasks.put(id, task);
        watch.changed();
    }

    /**
     * Takes up a task that a former instance has started, and never starts it.
     *
     * @throws io.grpc.StatusRuntimeException when Nomad was told of its end, or nobody knows it
     */
    void recover(TaskHandle handle) throws InterruptedException {
        String id = handle.getConfig().getId();
        WorkloadId workload = TaskFailures.valid(handle, DrivenTask::workload);
        synchronized (turn(id)) {
            if (tasks.containsKey(id)) {
                return;
            }
            // Nomad would start another one if this failed for one that lives.
            Instant last = clock.instant().plus(RECOVERY);
            Duration pause = times.pause();
            while (true) {
                try {
                    recover(handle, workload);
                    return;
                } catch (CommandFailure e) {
                    if (Context.current().isCancelled() || clock.instant().isAfter(last)) {
                        throw TaskFailures.recoverable(e.getMessage());
                    }
                    log.warn("how task " + id + " is is not known for a moment: " + e.getMessage());
                }
                Thread.sleep(pause);
                pause = WorkloadWatch.longer(pause);
            }
        }
    }

    private void recover(TaskHandle handle, WorkloadId workload) throws InterruptedException {
        WorkloadLook look = agent.look(workload);
        // An agent that has just been started has yet to see it.
        for (long looks = times.adoption().dividedBy(times.look());
                looks > 0 && look.known() && !isSettled(look);
                looks--) {
            Thread.sleep(times.look());
            look = agent.look(workload);
        }
        if (!look.known()) {
            throw TaskFailures.notFound();
        }
        if (look.over() && Files.exists(mark(workload))) {
            throw TaskFailures.failed("the task has ended"
                    + (look.end() == null ? "" : ": " + Ending.of(look.end()).words()));
        }
        if (!look.over()) {
            agent.resume(handle.getConfig().getId(), workload);
        }
        register(DrivenTask.recovered(handle, look));
    }

    /** There as soon as Nomad may know of its end. */
    private Path mark(WorkloadId workload) {
        return agent.layout().stateDir().resolve("nomad-driver").resolve(workload.name() + ".told");
    }

    /** Nomad is about to be told of its end, which is told once. */
    synchronized void tells(DrivenTask task) {
        Path mark = mark(task.workload());
        try {
            SecureDirectories.create(Objects.requireNonNull(mark.getParent()), SecureDirectories.OURS);
            new LocalDisk().replace(mark, new byte[0]);
        } catch (IOException e) {
            log.warn("cannot write " + mark + ", so that the end of a task may be told twice: " + e.getMessage());
        }
    }

    private static boolean isSettled(WorkloadLook look) {
        return look.process() != null || look.over();
    }

    /** Returns when it has ended, at once when there is none. */
    void stop(String id, Duration timeout, String signal) throws InterruptedException {
        DrivenTask task = tasks.get(id);
        if (task == null || task.hasEnded()) {
            return;
        }
        try {
            if (task.settings().plugin()) {
                // It is asked by its protocol first; the signal is for one that does not answer.
                agent.declare(
                        id,
                        TaskDocument.of(task.config(), task.settings(), timeout, timeout.isZero() ? KILL : TERMINATE));
            } else {
                // Nobody restarts it meanwhile, and how it ends is its own end.
                hold(Hold.PAUSE, task, times.leeway());
                end(task, timeout, ofStop(timeout, signal));
                if (isOver(task, times.leeway())) {
                    return;
                }
            }
            hold(Hold.STOP, task, timeout.plus(times.leeway()));
        } catch (CommandFailure e) {
            throw TaskFailures.failed(e.getMessage());
        }
        if (!isOver(task, times.leeway())) {
            throw TaskFailures.failed("the task is stopped, and its end is not known yet");
        }
    }

    /** An unknown name would leave the task running, however often the client tried again. */
    private String ofStop(Duration timeout, String signal) {
        if (timeout.isZero()) {
            return KILL;
        }
        if (signal.isEmpty() || SignalNames.number(signal).isPresent()) {
            return signal.isEmpty() ? TERMINATE : signal;
        }
        log.warn("there is no signal '" + signal + "'; the task gets " + TERMINATE);
        return TERMINATE;
    }

    private void hold(Hold hold, DrivenTask task, Duration timeout) throws InterruptedException {
        agent.run(new HoldCommand(
                hold, Selection.of(ImmutableList.of(task.workload())), FrontEndCommand.STOPPED, timeout));
    }

    /** Asks its process to end, and kills it when it has not after that time. */
    private void end(DrivenTask task, Duration timeout, String signal) throws InterruptedException {
        WorkloadLook look = agent.look(task.workload());
        ProcessIdentity process = look.process();
        if (process == null || !sent(process, signal)) {
            return;
        }
        if (!isGone(process, task, timeout) && sent(process, KILL)) {
            boolean _ = isGone(process, task, times.leeway());
        }
    }

    /** By what the agent has said of it meanwhile. */
    private boolean isGone(ProcessIdentity process, DrivenTask task, Duration within) throws InterruptedException {
        for (long looks = within.dividedBy(times.look()); looks >= 0; looks--) {
            if (!process.equals(task.last().process())) {
                return true;
            }
            Thread.sleep(times.look());
        }
        return false;
    }

    private boolean sent(ProcessIdentity process, String signal) {
        try {
            return signals.send(process, SignalNames.number(signal).orElseThrow());
        } catch (IOException e) {
            throw TaskFailures.failed(e.getMessage());
        }
    }

    private static boolean isOver(DrivenTask task, Duration within) throws InterruptedException {
        try {
            task.end().get(within.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException("the end of a task is always a value", e);
        }
    }

    /** Sends a signal to its process; throws the status of an invalid argument when there is none of that name. */
    void signal(DrivenTask task, String name) throws InterruptedException {
        if (SignalNames.number(name).isEmpty()) {
            throw TaskFailures.invalid("there is no signal '" + name + "'; write its full name, such as SIGHUP");
        }
        Optional<ProcessIdentity> process = process(task);
        if (process.isEmpty() || !sent(process.get(), name)) {
            throw TaskFailures.failed("the task has no process now");
        }
    }

    /** Withdraws a task and returns when nothing is left of it; at once when there is none. */
    void destroy(String id, boolean force) throws InterruptedException {
        DrivenTask task = tasks.get(id);
        if (task != null && !task.hasEnded()) {
            if (!force) {
                throw TaskFailures.failed(RUNS);
            }
            stop(id, Duration.ZERO, KILL);
        }
        synchronized (turn(id)) {
            try {
                // One that was not recovered may be either.
                for (WorkloadId workload : List.of(TaskDocument.workload(id, false), TaskDocument.workload(id, true))) {
                    if (task == null && !force && agent.look(workload).process() != null) {
                        throw TaskFailures.failed(RUNS);
                    }
                    withdraw(workload);
                }
            } catch (CommandFailure e) {
                throw TaskFailures.failed(e.getMessage());
            }
            tasks.remove(id);
            TaskOutput output = outputs.remove(id);
            if (output != null) {
                output.forget();
            }
            watch.changed();
        }
        turns.remove(id);
    }

    private void withdraw(WorkloadId workload) throws InterruptedException {
        if (agent.look(workload).known()) {
            agent.withdraw(workload);
        }
        try {
            Files.deleteIfExists(mark(workload));
        } catch (IOException e) {
            log.warn("cannot remove " + mark(workload) + ": " + e.getMessage());
        }
    }

    private Object turn(String id) {
        return turns.computeIfAbsent(id, same -> new Object());
    }

    private ImmutableList<WorkloadId> followed() {
        return tasks.values().stream()
                .filter(task -> !task.hasEnded())
                .map(DrivenTask::workload)
                .collect(ImmutableList.toImmutableList());
    }

    private void seen(WorkloadLook look) {
        tasks.values().stream()
                .filter(task -> task.workload().equals(look.workload()) && !task.hasEnded())
                .forEach(task -> seen(task, look));
    }

    private void seen(DrivenTask task, WorkloadLook look) {
        WorkloadLook before = task.last();
        task.seen(look);
        if (look.restarts() > before.restarts()) {
            events.tell(
                    task.config(),
                    "Homeostat has restarted it"
                            + (look.end() == null
                                    ? ""
                                    : "; its process ended with "
                                            + Ending.of(look.end()).words()));
        }
        if (!look.problem().isEmpty() && !look.problem().equals(before.problem())) {
            events.tell(task.config(), look.problem());
        }
        if (!look.over() && look.known()) {
            return;
        }
        Ending ending = look.end() != null
                ? Ending.of(look.end())
                : Ending.unknown("it was removed, and nothing is known of its end", clock.instant());
        // Its last lines first: whoever hears of the end stops reading.
        Thread.ofVirtual().name("end").start(() -> {
            try {
                TaskOutput output = outputs.get(task.config().getId());
                if (output != null) {
                    output.finish();
                }
            } finally {
                if (task.ended(ending)) {
                    log.info("task " + task.config().getId() + " has ended: " + ending.words());
                    watch.changed();
                }
            }
        });
    }
}
