package io.homeostat.reconcile.runtime.task;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.DriverSessions;
import io.homeostat.observe.driver.TaskStatistics;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.reconcile.runtime.LaunchesBegun;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.driver.RunningDrivers;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Running;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What looking at tasks and dealing with them have in common: which driver a task has, how it is called there, where it is. */
final class Tasks {
    private static final Logger LOG = LoggerFactory.getLogger(Tasks.class);
    private static final int SHORT = 8;

    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final Machine machine;
    private final LaunchDirectories launches;
    private final RunningDrivers drivers;
    private final TaskOutputs outputs;
    private final ConvertedConfigs converted = new ConvertedConfigs();
    private final FailedStarts failedStarts;
    private final UnansweredStarts starts;

    private final LaunchesBegun begun = new LaunchesBegun();

    private final Duration timeout;

    Tasks(Machine machine) {
        this(machine, TIMEOUT);
    }

    Tasks(Machine machine, Duration timeout) {
        this.machine = machine;
        this.timeout = timeout;
        this.drivers = new RunningDrivers(machine);
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
        this.outputs = new TaskOutputs(machine.layout(), launches, machine.logTurns(), Ticker.systemTicker());
        this.failedStarts = new FailedStarts(launches);
        this.starts = new UnansweredStarts(launches);
    }

    /** The timeout of calls to drivers that only ask, only forget, or only send a signal. */
    Duration timeout() {
        return timeout;
    }

    TaskOutputs outputs() {
        return outputs;
    }

    /** The launch of a driver that was set up last; empty when there is none. */
    Optional<Instance> running(String driver) {
        return drivers.launch(new WorkloadId(Kind.DRIVER, driver));
    }

    /** The session with a launch of a driver, if there is one already. */
    Optional<DriverSession> known(Instance driver) {
        return machine.drivers().known(driver);
    }

    /** As {@link DriverSessions#statistics}. */
    Optional<TaskStatistics> statistics(Instance driver, String taskId, Duration interval) {
        return machine.drivers().statistics(driver, taskId, interval);
    }

    /** As {@link ConvertedConfigs#of}. */
    ByteString converted(TaskSpec spec, DriverSession session, Duration timeout)
            throws DriverFailure, InterruptedException {
        return converted.of(spec, session, timeout);
    }

    /** What of a declaration this driver can't do, with a remedy; empty when there is nothing. Most are such that it need not be asked. */
    static String refusal(TaskSpec spec, DriverSession session, Duration timeout)
            throws DriverFailure, InterruptedException {
        if (spec.probe() == null && spec.networkMode() == TaskSpec.Network.Mode.HOST) {
            return "";
        }
        DriverCapabilities capabilities = session.capabilities(timeout);
        String probe = TaskProbes.refusal(spec, capabilities);
        return probe.isEmpty() ? TaskNetworks.refusal(spec, capabilities) : probe;
    }

    FailedStarts failedStarts() {
        return failedStarts;
    }

    UnansweredStarts starts() {
        return starts;
    }

    /**
     * The session with a driver that was set up.
     *
     * @throws Absent when none runs
     */
    DriverSession session(String driver, Duration timeout) throws Absent, InterruptedException {
        return reached(driver, timeout).session();
    }

    /** The same with the launch that the session is with. */
    Running reached(String driver, Duration timeout) throws Absent, InterruptedException {
        return drivers.running(new WorkloadId(Kind.DRIVER, driver), timeout);
    }

    /** Where the directories of a task are. The same for all of its launches, so that what it has written stays. */
    TaskPlace place(WorkloadId id) {
        return TaskPlace.of(machine.layout(), id);
    }

    /**
     * The user who has to get to the directories of a task besides root: that of a driver that is not root's, or else the declared one of
     * a task that sees the host's paths. A chroot, and what is mounted into an image, are entered by root. Empty when root alone needs
     * them, and when the user is not known here.
     */
    Optional<Account> user(TaskSpec spec, DriverCapabilities capabilities, Instance driver)
            throws IOException, InterruptedException {
        Optional<Account> ofDriver = user(driver);
        String declared = spec.user();
        return ofDriver.isPresent() || declared == null || !seesHost(capabilities)
                ? ofDriver
                : Account.find(declared).filter(Tasks::isNotRoot);
    }

    /** The user whom a driver runs as; empty for root, and where nothing is seen of it. */
    Optional<Account> user(Instance driver) {
        ProcessIdentity process = driver.process();
        return process == null
                ? Optional.empty()
                : machine.procFs().account(process.pid()).filter(Tasks::isNotRoot);
    }

    private static boolean isNotRoot(Account account) {
        return account.uid() != 0;
    }

    /** Whether the tasks of a driver see the paths of the host. */
    static boolean seesHost(DriverCapabilities capabilities) {
        return switch (capabilities.getFsIsolation()) {
            case NONE, UNVEIL -> true;
            case CHROOT, IMAGE, UNRECOGNIZED -> false;
        };
    }

    /** How a launch is called by its driver; known before there is anything. */
    String taskId(Instance instance) {
        TaskPlace place = place(instance.workload());
        return place.allocation() + "/" + place.task() + "/"
                + instance.launchId()
                        .substring(0, Math.min(SHORT, instance.launchId().length()));
    }

    /** The driver of a launch and how it calls it; empty as long as it is not known. */
    static Optional<Identity.Task> identity(Instance instance) {
        return instance.identity() instanceof Identity.Task task ? Optional.of(task) : Optional.empty();
    }

    /** The same as it was noted before the driver was asked to start it; empty when there is no note. */
    Optional<Identity.Task> noted(Instance instance) {
        try {
            return new LaunchDirectory(machine.layout().launch(instance.workload(), instance.launchId()))
                    .note()
                    .flatMap(note -> identity(note.instance()));
        } catch (IOException e) {
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
            return Optional.empty();
        }
    }

    /** The name of the driver of a launch; empty when that is not known any more. */
    Optional<String> driver(Instance instance) {
        return identity(instance)
                .or(() -> noted(instance))
                .map(Identity.Task::driver)
                .or(() -> parent(instance));
    }

    /** The driver in whose instance a launch was begun; empty when that is not known any more. */
    Optional<String> parent(Instance instance) {
        return machine.parent(instance).map(parent -> parent.workload().name());
    }

    private LaunchDirectory directory(Instance instance) {
        return launches.of(instance);
    }

    /** There once the task was seen in its control groups: only then it is no longer there when they are empty. */
    Path groupedNote(Instance instance) {
        return directory(instance).groupedFile();
    }

    /** There once its driver has forgotten a launch, or need not: nobody has to ask it again. */
    Path forgottenNote(Instance instance) {
        return machine.layout().launch(instance.workload(), instance.launchId()).resolve("forgotten");
    }

    /** There once nothing of a launch runs and what it left is to be removed: it is never taken up again. */
    Path endedNote(Instance instance) {
        return directory(instance).endedFile();
    }

    LaunchesBegun begun() {
        return begun;
    }
}
