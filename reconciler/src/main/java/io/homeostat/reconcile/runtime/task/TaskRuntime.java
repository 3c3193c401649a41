package io.homeostat.reconcile.runtime.task;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LogEnds;
import io.homeostat.actuate.limits.TaskGroups;
import io.homeostat.actuate.task.Isolation;
import io.homeostat.actuate.task.NetworkNamespaces;
import io.homeostat.actuate.task.TaskDirectories;
import io.homeostat.actuate.task.TaskDirectories.Contents;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.SignalNames;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.Fingerprint;
import io.homeostat.observe.driver.HostTopology;
import io.homeostat.observe.driver.TaskState;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskCgroups.Occupancy;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.StartTaskResponse;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.runtime.Execution;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Executing;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Running;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has drivers start, stop and forget tasks, and does what is the host's work: directories, control groups, output. Before each start and
 * after each end the task's control groups are empty, whatever its driver believes.
 */
final class TaskRuntime implements KindRuntime, Signalable, Executing {
    private static final Logger LOG = LoggerFactory.getLogger(TaskRuntime.class);

    private static final Duration POLL = Duration.ofMillis(20);
    private static final Duration WAIT_FOR_DRIVER = Duration.ofMillis(100);
    private static final String TERM = "SIGTERM";

    private final Machine machine;
    private final Tasks tasks;
    private final TaskCgroups cgroups;
    private final TaskGroups groups;
    private final TaskDirectories directories;
    private final LaunchDirectories launches;
    private final TaskConfigs configs;
    private final TaskNetworks networks;
    private final LateStarts late;
    private final LogEnds logEnds;
    private final TaskAccesses accesses;
    private final DriverEvents events;
    private final Ticker ticker;

    /**
     * What the host does for its tasks.
     *
     * @param ticker measures how long a stop takes
     */
    record Host(
            TaskCgroups cgroups,
            TaskGroups groups,
            TaskDirectories directories,
            NetworkNamespaces namespaces,
            Ticker ticker) {
        /** The host that this program runs on. */
        static Host of(Machine machine) {
            TaskCgroups cgroups = new TaskCgroups();
            return new Host(
                    cgroups,
                    new TaskGroups(cgroups, machine.procFs()),
                    new TaskDirectories(machine.layout()),
                    new NetworkNamespaces(),
                    Ticker.systemTicker());
        }
    }

    TaskRuntime(Machine machine, Tasks tasks) {
        this(machine, tasks, Host.of(machine));
    }

    TaskRuntime(Machine machine, Tasks tasks, Host host) {
        this.machine = machine;
        this.tasks = tasks;
        this.events = new DriverEvents(machine, tasks);
        this.cgroups = host.cgroups();
        this.ticker = host.ticker();
        this.groups = host.groups();
        this.directories = host.directories();
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
        this.logEnds = new LogEnds(machine.layout());
        this.configs = new TaskConfigs(machine.layout(), cgroups, HostTopology::read);
        this.networks = new TaskNetworks(machine.layout(), tasks, host.namespaces());
        this.accesses = new TaskAccesses(tasks);
        this.late = new LateStarts(machine, tasks, launches);
    }

    /** Finds out all that may be wrong with its declaration. */
    @Override
    public Creation prepare(Step.Launch step, ImmutableSet<String> known)
            throws ActuationFailure, InterruptedException {
        TaskSpec spec = (TaskSpec) step.declared().spec();
        String unsupported = TaskConfigs.unsupported(spec);
        if (!unsupported.isEmpty()) {
            throw new ActuationFailure(FailureCause.Kind.LIMITS, unsupported, true);
        }
        Duration timeout = spec.lifecycle().start().timeout();
        try {
            Running driver = tasks.reached(spec.driver(), tasks.timeout());
            DriverSession session = driver.session();
            Fingerprint fingerprint = session.fingerprint(tasks.timeout());
            if (fingerprint.state() != Fingerprint.State.HEALTHY) {
                throw new ActuationFailure(
                        FailureCause.Kind.REFUSED,
                        "its driver " + spec.driver() + " can't run tasks, it is " + fingerprint.words(),
                        false);
            }
            DriverCapabilities capabilities = session.capabilities(tasks.timeout());
            String impossible = Tasks.refusal(spec, session, tasks.timeout());
            if (!impossible.isEmpty()) {
                throw new ActuationFailure(FailureCause.Kind.ARGUMENTS, impossible, true);
            }
            ByteString config = tasks.converted(spec, session, tasks.timeout());
            SecretMask mask = DeclaredSecrets.given(step.declared());
            return instance -> {
                destroyForgotten(instance.workload());
                return create(instance, spec, driver, capabilities, config, timeout, mask);
            };
        } catch (Absent e) {
            throw new ActuationFailure(FailureCause.Kind.NO_CONNECTION, "its " + e.words(), false);
        } catch (DriverFailure e) {
            throw failed("could not launch " + step.workload().brief(), e);
        }
    }

    private Identity create(
            Instance instance,
            TaskSpec spec,
            Running running,
            DriverCapabilities capabilities,
            ByteString config,
            Duration timeout,
            SecretMask mask)
            throws ActuationFailure, InterruptedException {
        WorkloadId id = instance.workload();
        DriverSession session = running.session();
        Instance driver = running.instance();
        tasks.begun().begin(instance.launchId());
        try {
            TaskPlace place = place(id);
            if (groups.kill(place.groups())) {
                LOG.warn("[{}] processes of an earlier launch were left and have been killed", id.brief());
            }
            // Anew, so that what the kernel has counted in them is of this launch.
            groups.remove(place.groups());
            makeGroups(place, spec.lifecycle().limits());
            Isolation isolation = isolation(capabilities);
            directories
                    .prepare(
                            place,
                            isolation,
                            contents(instance),
                            tasks.user(spec, capabilities, driver).orElse(null))
                    .forEach(remark -> LOG.warn("[{}] {}", id.brief(), remark));
            if (spec.user() == null && capabilities.getDynamicWorkloadUsers() && Tasks.seesHost(capabilities)) {
                LOG.warn(
                        "[{}] its driver runs it as a user that is not known here and can't get to {}; declare"
                                + " spec.user",
                        id.brief(),
                        place.root());
            }
            // Whom to ask, should we die meanwhile.
            String taskId = tasks.taskId(instance);
            String boot = machine.procFs().bootId();
            launches.write(instance.withIdentity(new Identity.Task(spec.driver(), taskId, "", null, boot)));
            prepareLog(id);
            tasks.outputs().begin(instance, tasks.user(driver));
            Optional<NetworkIsolationSpec> network = networks.prepare(id, spec, session, capabilities, timeout);
            TaskConfig task = configs.of(instance, taskId, place, spec, isolation, config, network);
            tasks.starts().begin(driver, instance, taskId);
            StartTaskResponse started = started(session, driver, task, timeout, instance, mask);
            Identity.Task identity = new Identity.Task(
                    spec.driver(),
                    task.getId(),
                    Base64.getEncoder().encodeToString(started.getHandle().toByteArray()),
                    started.hasNetworkOverride()
                            ? Base64.getEncoder()
                                    .encodeToString(started.getNetworkOverride().toByteArray())
                            : null,
                    boot);
            // At once: without the handle nobody could take it up again.
            launches.write(instance.withIdentity(identity));
            tasks.starts().answered(driver, instance.launchId());
            session.followTask(task.getId());
            noteGroups(instance, place);
            return identity;
        } catch (DriverFailure e) {
            throw new ActuationFailure(e.failureCause(), "its driver could not start it: " + e.words(), e.isFinal(), e);
        } catch (IOException e) {
            throw new ActuationFailure("could not launch " + id.brief() + ": " + e.getMessage(), false, e);
        } finally {
            tasks.begun().end(instance.launchId());
        }
    }

    /** What its driver can't start, and why, is said of the driver, too, when it is one after the other. */
    private StartTaskResponse started(
            DriverSession session,
            Instance driver,
            TaskConfig task,
            Duration timeout,
            Instance instance,
            SecretMask mask)
            throws DriverFailure, InterruptedException {
        try {
            StartTaskResponse started = session.startTask(task, timeout);
            tasks.failedStarts().succeeded(driver);
            return started;
        } catch (DriverFailure e) {
            if (!e.isSilence()) {
                tasks.starts().answered(driver, instance.launchId());
            }
            tasks.failedStarts().failed(driver, instance.workload(), mask.mask(e.words()));
            throw e;
        }
    }

    private void makeGroups(TaskPlace place, Limits limits) throws ActuationFailure {
        Size most = limits.memoryMax() == null ? limits.memory() : limits.memoryMax();
        Limits all = new Limits(most, limits.cpu(), limits.required(), false, null, limits.cores(), null);
        String problem = switch (groups.prepare(place.groups(), all)) {
            case TaskGroups.Prepared.Ready(ImmutableSortedMap<String, String> lacking) -> {
                boolean matters = (most != null && lacking.containsKey("memory"))
                        || (limits.cpu() != null && lacking.containsKey("cpu"))
                        || (TaskConfigs.cores(limits) > 0 && lacking.containsKey("cpuset"));
                yield matters ? "its limits can't be enforced: " + lacking : "";
            }
            case TaskGroups.Prepared.Unavailable(String reason) -> reason;
            case TaskGroups.Prepared.Taken(String reason) ->
                throw new ActuationFailure(FailureCause.Kind.LIMITS, reason, false);
        };
        if (problem.isEmpty()) {
            return;
        }
        if (limits.required()) {
            throw new ActuationFailure(FailureCause.Kind.LIMITS, "limits.required is true: " + problem, false);
        }
        LOG.warn("[task/{}] {}", place.task(), problem);
    }

    /** Drivers of containers have groups of their own. */
    private void noteGroups(Instance instance, TaskPlace place) throws ActuationFailure {
        if (cgroups.look(place.groups()) instanceof Observation.Seen<Occupancy>(Occupancy seen) && seen.populated()) {
            LaunchDirectories.mark(tasks.groupedNote(instance), instance);
        }
    }

    /** Only we write to it: what tasks print is copied. */
    private void prepareLog(WorkloadId id) throws IOException {
        SecureDirectories.create(machine.layout().workloadState(id), SecureDirectories.OURS);
        // What was logged earlier explains no failure of this launch.
        logEnds.note(id);
    }

    private static ActuationFailure failed(String what, DriverFailure e) {
        return new ActuationFailure(e.failureCause(), what + ": " + e.words(), false, e);
    }

    private TaskPlace place(WorkloadId id) throws ActuationFailure {
        try {
            return tasks.place(id);
        } catch (IllegalArgumentException e) {
            throw new ActuationFailure(id.brief() + " can't be launched: " + e.getMessage(), true, e);
        }
    }

    private static Isolation isolation(DriverCapabilities capabilities) throws ActuationFailure {
        return switch (capabilities.getFsIsolation()) {
            case NONE -> Isolation.NONE;
            case CHROOT -> Isolation.CHROOT;
            case IMAGE -> Isolation.IMAGE;
            case UNVEIL -> Isolation.UNVEIL;
            case UNRECOGNIZED ->
                throw new ActuationFailure(
                        FailureCause.Kind.CONTENT,
                        "its driver isolates tasks in a way that is not known here (fs_isolation "
                                + capabilities.getFsIsolationValue() + "); install another release of it",
                        false);
        };
    }

    private @Nullable Contents contents(Instance instance) {
        String directory = instance.directory();
        return directory == null
                ? null
                : new Contents(directory, machine.layout().install(instance.workload(), directory));
    }

    @Override
    public String stop(Instance instance, boolean cleanup, Lifecycle.Stop how)
            throws ActuationFailure, InterruptedException {
        WorkloadId id = instance.workload();
        TaskGroupName name = place(id).groups();
        long end = ticker.read() + how.timeout().toNanos();
        Optional<DriverSession> session = comingSession(instance, end);
        String words = "had ended already";
        if (session.isPresent()) {
            words = stopped(session.get(), tasks.taskId(instance), how);
        } else if (signaled(name, how, end)) {
            words = "ended after the signal to stop";
        }
        if (groups.kill(name)) {
            words = "was killed with all of its processes";
        }
        if (session.isPresent()) {
            forget(session.get(), instance);
        } else if (instance.identity() != null) {
            if (!Files.exists(tasks.groupedNote(instance))) {
                throw new ActuationFailure(
                        FailureCause.Kind.NO_CONNECTION,
                        id.brief()
                                + " can't be stopped: its driver is not running, and it is not in its control groups",
                        false);
            }
            // Its driver can't be asked, and all that was in its groups is gone.
            LaunchDirectories.mark(tasks.endedNote(instance), instance);
            LaunchDirectories.mark(tasks.forgottenNote(instance), instance);
        }
        return words;
    }

    /** A driver that is on its way knows best how to stop its tasks. */
    private Optional<DriverSession> comingSession(Instance instance, long end) throws InterruptedException {
        Optional<String> driver = tasks.driver(instance);
        while (driver.isPresent()) {
            try {
                return Optional.of(tasks.session(driver.get(), tasks.timeout()));
            } catch (Absent e) {
                if (!e.isKnown() || ticker.read() >= end) {
                    return Optional.empty();
                }
                Thread.sleep(WAIT_FOR_DRIVER);
            }
        }
        return Optional.empty();
    }

    /** As its driver would; whether that was enough. */
    private boolean signaled(TaskGroupName name, Lifecycle.Stop how, long end)
            throws ActuationFailure, InterruptedException {
        int signal =
                SignalNames.number(how.signal() == null ? TERM : how.signal()).orElseThrow();
        if (!groups.signal(name, signal)) {
            return false;
        }
        long until = Math.max(end, ticker.read() + tasks.timeout().toNanos());
        while (ticker.read() < until) {
            if (cgroups.look(name) instanceof Observation.Seen<Occupancy>(Occupancy seen) && !seen.populated()) {
                return true;
            }
            Thread.sleep(POLL);
        }
        return false;
    }

    /** What the driver came to. */
    private String stopped(DriverSession session, String taskId, Lifecycle.Stop how) throws InterruptedException {
        try {
            if (!(session.inspectTask(taskId, tasks.timeout()) instanceof TaskState.Runs)) {
                return "had ended already";
            }
            // Some drivers answer a wait that comes after the stop with an error.
            session.followTask(taskId);
            session.stopTask(taskId, how.timeout(), how.signal() == null ? TERM : how.signal());
            long end = ticker.read() + tasks.timeout().toNanos();
            while (ticker.read() < end) {
                if (!(session.inspectTask(taskId, tasks.timeout()) instanceof TaskState.Runs)) {
                    return "ended after the signal to stop";
                }
                Thread.sleep(POLL);
            }
            return "did not end in time";
        } catch (DriverFailure e) {
            return "was not stopped by its driver (" + e.words() + ")";
        }
    }

    /**
     * That which can be told to forget a launch; empty when there is no such driver any more.
     *
     * @throws ActuationFailure when there is one, and it can't be asked now
     */
    private Optional<DriverSession> session(Instance instance) throws ActuationFailure, InterruptedException {
        Optional<String> driver = tasks.driver(instance);
        if (driver.isEmpty()) {
            return Optional.empty();
        }
        try {
            return Optional.of(tasks.session(driver.get(), tasks.timeout()));
        } catch (Absent e) {
            if (e.isKnown()) {
                throw new ActuationFailure(
                        FailureCause.Kind.NO_CONNECTION,
                        "what " + instance.workload().brief() + " left can't be removed yet: its " + e.words(),
                        false);
            }
            return Optional.empty();
        }
    }

    /** Drivers keep a process and memory for each task until then. One that does not know it has nothing to forget. */
    private void forget(DriverSession session, Instance instance) throws ActuationFailure, InterruptedException {
        try {
            session.destroyTask(tasks.taskId(instance), tasks.timeout());
        } catch (DriverFailure e) {
            if (e.isSilence()) {
                throw failed(
                        "the driver could not remove what "
                                + instance.workload().brief() + " left",
                        e);
            }
            LOG.debug("[{}] {}", instance.workload().brief(), e.words());
        }
        LaunchDirectories.mark(tasks.forgottenNote(instance), instance);
    }

    @Override
    public Sending prepareSignal(Instance instance, String signal) throws ActuationFailure, InterruptedException {
        return accesses.prepareSignal(instance, signal);
    }

    @Override
    public Execution exec(Instance instance, Execution.Request request) throws ActuationFailure, InterruptedException {
        return accesses.exec(instance, request);
    }

    @Override
    public void destroy(Instance instance) throws ActuationFailure, InterruptedException {
        WorkloadId id = instance.workload();
        // So that it is not taken up again, should the database be lost before all of this is done.
        LaunchDirectories.mark(tasks.endedNote(instance), instance);
        if (!Files.exists(tasks.forgottenNote(instance))) {
            Optional<DriverSession> session = session(instance);
            if (session.isPresent()) {
                forget(session.get(), instance);
            }
        }
        boolean alone = machine.instances().apply(id).stream()
                .allMatch(other -> other.launchId().equals(instance.launchId()) || other.isOver());
        if (alone) {
            TaskPlace place = place(id);
            if (groups.kill(place.groups())) {
                LOG.warn("[{}] what it had left running was killed", id.brief());
            }
            groups.remove(place.groups());
            networks.releaseToDriver(id);
        }
        tasks.outputs().finish(instance);
        launches.forget(id, instance.launchId());
    }

    /** A launch does not fail for what an earlier one has left. */
    private void destroyForgotten(WorkloadId id) throws InterruptedException {
        try {
            destroyForgotten(id, machine);
        } catch (ActuationFailure e) {
            LOG.warn("[{}] what an earlier launch left stays for now: {}", id.brief(), e.getMessage());
        }
    }

    @Override
    public void upkeep() {
        tasks.outputs().copyAll();
        late.lookBeside();
        events.record();
    }

    @Override
    public void remove(WorkloadId id) throws ActuationFailure, InterruptedException {
        tasks.failedStarts().forget(id);
        destroyForgotten(id, machine);
        TaskPlace place = place(id);
        groups.kill(place.groups());
        groups.remove(place.groups());
        networks.release(id);
        directories.remove(place.root());
    }
}
