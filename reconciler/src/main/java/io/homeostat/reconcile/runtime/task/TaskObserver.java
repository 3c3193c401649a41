package io.homeostat.reconcile.runtime.task;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LaunchDirectories.Launch;
import io.homeostat.actuate.task.TaskDirectories;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.FieldCheck;
import io.homeostat.observe.FieldCheck.FieldProblem;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.TaskState;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskCgroups.Occupancy;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.usage.Meter;
import io.homeostat.observe.usage.TaskMeter;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.driver.DriverConfig;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Running;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks drivers what has become of tasks, and looks into the tasks' control groups. A driver that can't be asked is no reason to believe
 * that its tasks have ended.
 */
final class TaskObserver implements InstanceObserver {
    private static final Logger LOG = LoggerFactory.getLogger(TaskObserver.class);

    /** A driver that was asked by a former agent has started it by then, or what it starts is removed, see {@link LateStarts}. */
    private static final Duration STARTING = Duration.ofSeconds(30);

    /** For so long it is enough that its processes are there and nobody has said that it has ended. */
    private static final Duration INSPECTION = Duration.ofMinutes(5);

    private static final int SIGNAL_BASE = 128;

    private final Machine machine;
    private final Tasks tasks;
    private final TaskProbes probes;
    private final TaskCgroups cgroups;
    private final LaunchDirectories launches;
    private final TaskDirectories directories;

    /** Launches whose directories are not closed to others before their end. */
    private final Set<String> leftOpen = ConcurrentHashMap.newKeySet();

    /** Who waits for the end of a task, by launch id. */
    private final Map<String, Runnable> waiting = new ConcurrentHashMap<>();

    TaskObserver(Machine machine, Tasks tasks) {
        this(machine, tasks, new TaskCgroups());
    }

    TaskObserver(Machine machine, Tasks tasks, TaskCgroups cgroups) {
        this.cgroups = cgroups;
        this.machine = machine;
        this.tasks = tasks;
        this.probes = new TaskProbes(machine, tasks);
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
        this.directories = new TaskDirectories(machine.layout());
    }

    @Override
    public Observation<ImmutableList<ObservedInstance>> look(
            WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        try {
            ImmutableList.Builder<ObservedInstance> seen = ImmutableList.builder();
            for (Launch launch :
                    launches.launches(id, instances, machine.instances().apply(id))) {
                Instance known = launch.instance().identity() == null
                        ? launches.completed(launch.instance())
                        : launch.instance();
                seen.add(new ObservedInstance(known, launch.remembered(), asked(known, checks)));
            }
            return Observation.seen(seen.build());
        } catch (Absent e) {
            return Observation.unseen("can't see how " + id.brief() + " is: its " + e.words());
        } catch (DriverFailure e) {
            return Observation.unseen("can't see how " + id.brief() + " is: " + e.words());
        } catch (IOException e) {
            return Observation.unseen("can't see how " + id.brief() + " is: " + IoReason.withFile(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Observation.unseen("interrupted while looking at " + id.brief());
        }
    }

    private Liveness asked(Instance instance, Checks checks)
            throws Absent, DriverFailure, IOException, InterruptedException {
        Liveness liveness = liveness(instance, checks);
        if (liveness instanceof Liveness.Running running && checks.of(instance) instanceof TaskSpec spec) {
            closeToOthers(instance, spec);
            Probe probe = spec.probe();
            return probe == null ? liveness : probes.asked(instance, running, spec, probe);
        }
        return liveness;
    }

    /** What an older version has left open while its task ran on. Without a user it may have become anybody by itself. */
    private void closeToOthers(Instance instance, TaskSpec spec) throws InterruptedException {
        TaskPlace place = tasks.place(instance.workload());
        try {
            if (!machine.adopts() || !TaskDirectories.isOpenToAll(place) || Account.ourUid() != 0) {
                return;
            }
            Running driver = tasks.reached(spec.driver(), tasks.timeout());
            Optional<Account> user =
                    tasks.user(spec, driver.session().capabilities(tasks.timeout()), driver.instance());
            if (user.isEmpty()) {
                if (leftOpen.add(instance.launchId())) {
                    LOG.warn(
                            "[task/{}] {} is open to all users who know its name, as older versions made it; restart the"
                                    + " task to close it, with spec.user if it gives up its rights itself",
                            place.task(),
                            place.root());
                }
                return;
            }
            directories.admit(place, user.get()).ifPresent(remark -> LOG.warn("[task/{}] {}", place.task(), remark));
            LOG.warn(
                    "[task/{}] {} was open to all users who knew its name, as older versions made it; now it is not",
                    place.task(),
                    place.root());
        } catch (IOException | Absent | DriverFailure e) {
            // The next look tries again.
            LOG.debug("[task/{}] its directories could not be closed to others", place.task(), e);
        }
    }

    private Liveness liveness(Instance instance, Checks checks)
            throws Absent, DriverFailure, IOException, InterruptedException {
        if (instance.isOver()) {
            return new Liveness.Ended(unknown(machine.clock().instant()));
        }
        if (tasks.begun().contains(instance.launchId())) {
            return new Liveness.Pending();
        }
        if (Files.exists(tasks.endedNote(instance))) {
            return new Liveness.Ended(
                    new Exit(null, null, Exit.Reason.STOPPED, machine.clock().instant()));
        }
        Optional<Identity.Task> identity = Tasks.identity(instance);
        if (identity.isEmpty()) {
            return left(instance);
        }
        if (!identity.get().mayBeOf(machine.procFs().bootId())) {
            return new Liveness.Ended(unknown(machine.procFs().bootTime()));
        }
        return identity.get().handle().isEmpty()
                ? interrupted(instance, identity.get())
                : liveness(instance, identity.get(), checks);
    }

    /** What there may be of one that can't be taken up goes. */
    private Liveness left(Instance instance) throws IOException {
        Occupancy left = occupancy(instance.workload());
        Exit exit = unknown(machine.clock().instant());
        return left.populated() ? new Liveness.Orphaned(exit, left.pids().size()) : new Liveness.Ended(exit);
    }

    /**
     * We died while its driver was asked to start it, which it may still be doing, as long as it is the same process. It can't be taken up
     * without its handle.
     */
    private Liveness interrupted(Instance instance, Identity.Task task)
            throws DriverFailure, IOException, InterruptedException {
        try {
            return switch (tasks.session(task.driver(), tasks.timeout()).inspectTask(task.taskId(), tasks.timeout())) {
                case TaskState.Runs runs ->
                    new Liveness.Orphaned(unknown(machine.clock().instant()), 1);
                case TaskState.Exited exited -> left(instance);
                case TaskState.NotKnown notKnown -> {
                    Duration age = Duration.between(
                            instance.launchedAt(), machine.clock().instant());
                    boolean mayCome = age.abs().compareTo(STARTING) < 0
                            && tasks.running(task.driver())
                                    .filter(driver -> tasks.starts().mayComeFrom(driver, instance.launchId()))
                                    .isPresent();
                    yield mayCome ? new Liveness.Pending() : left(instance);
                }
            };
        } catch (Absent e) {
            return left(instance);
        }
    }

    private Liveness liveness(Instance instance, Identity.Task task, Checks checks)
            throws Absent, DriverFailure, IOException, InterruptedException {
        DriverSession session;
        try {
            session = tasks.session(task.driver(), tasks.timeout());
        } catch (Absent e) {
            Occupancy left = occupancy(instance.workload());
            if (left.populated()) {
                return running(instance, task);
            }
            boolean wasInGroups = Files.exists(tasks.groupedNote(instance));
            if (e.isKnown() || (!wasInGroups && checks.mayReturn(new WorkloadId(Kind.DRIVER, task.driver())))) {
                // The driver knows how it has ended, or whether it has, and will be asked when it is back.
                throw e;
            }
            Exit.Reason reason = wasInGroups ? Exit.Reason.UNKNOWN : Exit.Reason.DRIVER_GONE;
            return new Liveness.Ended(
                    new Exit(null, null, reason, machine.clock().instant()));
        }
        if (session.isKnownToRun(task.taskId(), INSPECTION)
                && occupancy(instance.workload()).populated()) {
            // The kernel says so, too.
            follow(session, instance, task);
            return running(instance, task);
        }
        return switch (session.inspectTask(task.taskId(), tasks.timeout())) {
            case TaskState.Runs runs -> {
                follow(session, instance, task);
                yield running(instance, task);
            }
            case TaskState.Exited(ExitResult result, Instant at) -> {
                waiting.remove(instance.launchId());
                yield new Liveness.Ended(exit(instance.workload(), result, at));
            }
            case TaskState.NotKnown notKnown -> left(instance);
        };
    }

    /** What its driver would say of its configuration, as long as that can be asked. */
    @Override
    public String refusal(Workload declared) {
        TaskSpec spec = (TaskSpec) declared.spec();
        String unsupported = TaskConfigs.unsupported(spec);
        try {
            DriverSession session = tasks.session(spec.driver(), tasks.timeout());
            ByteString _ = tasks.converted(spec, session, tasks.timeout());
            return unsupported.isEmpty() ? Tasks.refusal(spec, session, tasks.timeout()) : unsupported;
        } catch (Absent e) {
            return unsupported;
        } catch (DriverFailure e) {
            return e.isSilence() ? unsupported : DeclaredSecrets.given(declared).mask(e.words());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        }
    }

    @Override
    public FieldCheck check(Workload declared, @Nullable Workload inForce) {
        TaskSpec spec = (TaskSpec) declared.spec();
        return with(TaskConfigs.unsupported(spec), checkedByItsDriver(spec));
    }

    private FieldCheck checkedByItsDriver(TaskSpec spec) {
        try {
            DriverSession session = tasks.session(spec.driver(), tasks.timeout());
            FieldCheck config = DriverConfig.checked(session.taskSchema(tasks.timeout()), spec.config());
            return with(Tasks.refusal(spec, session, tasks.timeout()), config);
        } catch (Absent e) {
            return FieldCheck.unchecked(DriverConfig.FIELD, e.words());
        } catch (DriverFailure e) {
            return FieldCheck.unchecked(
                    DriverConfig.FIELD, "driver " + spec.driver() + " can't be asked: " + e.words());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return FieldCheck.NONE;
        }
    }

    /** @param refusal which begins with its field; empty when there is none */
    private static FieldCheck with(String refusal, FieldCheck others) {
        if (refusal.isEmpty()) {
            return others;
        }
        int end = refusal.indexOf(": ");
        FieldProblem problem = new FieldProblem(
                ImmutableList.<Object>copyOf(Splitter.on('.').split(refusal.substring(0, end))),
                refusal.substring(end + 2));
        return new FieldCheck(
                others.field(),
                ImmutableList.<FieldProblem>builder()
                        .addAll(others.problems())
                        .add(problem)
                        .build(),
                others.unchecked());
    }

    /** Also after its driver was launched again. */
    private void follow(DriverSession session, Instance instance, Identity.Task task) {
        if (waiting.containsKey(instance.launchId())) {
            session.followTask(task.taskId(), () -> tell(instance.launchId()));
        } else {
            session.followTask(task.taskId());
        }
    }

    private Liveness running(Instance instance, Identity.Task task) {
        return new Liveness.Running(task, machine.age(instance), true, null);
    }

    private Occupancy occupancy(WorkloadId id) throws IOException {
        return switch (cgroups.look(groups(id))) {
            case Observation.Seen<Occupancy>(Occupancy seen) -> seen;
            case Observation.Unseen<Occupancy>(String why) -> throw new IOException(why);
        };
    }

    private TaskGroupName groups(WorkloadId id) {
        return tasks.place(id).groups();
    }

    /** Whatever the driver says of it, the kernel has counted whether memory ran out. */
    private Exit exit(WorkloadId id, ExitResult result, @Nullable Instant at) {
        Instant when = at == null ? machine.clock().instant() : at;
        int code = result.getExitCode();
        boolean signaled = result.getSignal() != 0;
        boolean outOfMemory = result.getOomKilled()
                || (!isSuccess(result)
                        && cgroups.oomKills(groups(id)) instanceof Observation.Seen<Long>(Long kills)
                        && kills > 0);
        Integer signal = signaled ? result.getSignal() : null;
        if (signaled && code == 0) {
            code = SIGNAL_BASE + result.getSignal();
        }
        Exit.Reason reason =
                outOfMemory ? Exit.Reason.OOM_KILLED : signaled ? Exit.Reason.SIGNALED : Exit.Reason.EXITED;
        return new Exit(code, signal, reason, when);
    }

    private static boolean isSuccess(ExitResult result) {
        return result.getExitCode() == 0 && result.getSignal() == 0;
    }

    private static Exit unknown(Instant at) {
        return new Exit(null, null, Exit.Reason.UNKNOWN, at);
    }

    @Override
    public void watch(Instance instance, Runnable ended) {
        waiting.put(instance.launchId(), () -> {
            // Its last words are part of what is said of its end.
            tasks.outputs().copy(instance);
            ended.run();
        });
        Optional<Identity.Task> task = Tasks.identity(instance);
        if (task.isPresent()) {
            Thread _ = Thread.ofVirtual()
                    .name("watch " + instance.workload().brief())
                    .start(() -> {
                        try {
                            tasks.session(task.get().driver(), tasks.timeout())
                                    .followTask(task.get().taskId(), () -> tell(instance.launchId()));
                        } catch (Absent e) {
                            // The look after its relaunch waits anew.
                        } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                        }
                    });
        }
    }

    private void tell(String launchId) {
        Runnable ended = waiting.get(launchId);
        if (ended != null) {
            ended.run();
        }
    }

    @Override
    public Optional<Meter> meter(WorkloadId id) {
        try {
            return Optional.of(new TaskMeter(groups(id), cgroups, Ticker.systemTicker(), new DriverCount(tasks)));
        } catch (IllegalArgumentException e) {
            // No control group can have its name, so it is never launched.
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        waiting.clear();
        probes.close();
    }
}
