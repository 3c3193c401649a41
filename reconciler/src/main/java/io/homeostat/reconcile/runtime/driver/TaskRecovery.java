package io.homeostat.reconcile.runtime.driver;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.InvalidProtocolBufferException;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskCgroups.Occupancy;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.LaunchNote;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.reconcile.runtime.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has a driver that was just set up take up the tasks that earlier launches of it have started. They are found by the notes on their
 * launches, so that a lost database loses none. What is known to have ended is never taken up: some drivers would run it again.
 */
final class TaskRecovery {
    private static final Logger LOG = LoggerFactory.getLogger(TaskRecovery.class);

    private final Machine machine;
    private final LaunchDirectories launches;
    private final TaskCgroups cgroups;

    TaskRecovery(Machine machine) {
        this(machine, new TaskCgroups());
    }

    TaskRecovery(Machine machine, TaskCgroups cgroups) {
        this.cgroups = cgroups;
        this.machine = machine;
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
    }

    /**
     * Takes up all it can.
     *
     * @param timeout for each task
     * @return which tasks may run that could not be taken up
     */
    ImmutableList<String> recover(String driver, DriverSession session, Duration timeout)
            throws IOException, InterruptedException {
        Queue<String> failures = new ConcurrentLinkedQueue<>();
        String boot = machine.procFs().bootId();
        List<Thread> recoveries = new ArrayList<>();
        for (Instance instance : noted()) {
            if (instance.identity() instanceof Identity.Task task
                    && task.driver().equals(driver)
                    && task.mayBeOf(boot)
                    && !task.handle().isEmpty()
                    && !isOver(instance)) {
                // All at once: one that hangs takes its own time only.
                recoveries.add(Thread.ofVirtual().name("recover " + driver).start(() -> {
                    try {
                        recover(instance, task, session, timeout).ifPresent(failures::add);
                    } catch (InterruptedException e) {
                        failures.add(instance.workload().brief());
                    }
                }));
            }
        }
        try {
            for (Thread recovery : recoveries) {
                recovery.join();
            }
        } finally {
            recoveries.forEach(Thread::interrupt);
        }
        return failures.stream().sorted().collect(ImmutableList.toImmutableList());
    }

    private Optional<String> recover(Instance instance, Identity.Task task, DriverSession session, Duration timeout)
            throws InterruptedException {
        String why;
        try {
            session.recoverTask(TaskHandle.parseFrom(Base64.getDecoder().decode(task.handle())), timeout);
            return Optional.empty();
        } catch (DriverFailure e) {
            why = e.words();
        } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
            why = "its handle is damaged";
        }
        // The driver's words may have secrets of the task in them, of which nobody here knows.
        LOG.warn(
                "[{}] {} could not be taken up",
                task.driver(),
                instance.workload().brief());
        LOG.debug("[{}] {}: {}", task.driver(), instance.workload().brief(), why);
        return mayRun(instance) ? Optional.of(instance.workload().brief()) : Optional.empty();
    }

    /** As far as its control groups tell; what was never in them may. */
    private boolean mayRun(Instance instance) {
        WorkloadId id = instance.workload();
        if (!Files.exists(launches.of(instance).groupedFile())) {
            return true;
        }
        return cgroups.look(TaskPlace.of(machine.layout(), id).groups())
                        instanceof Observation.Seen<Occupancy>(Occupancy seen)
                && seen.populated();
    }

    private boolean isOver(Instance noted) {
        LaunchDirectory launch = launches.of(noted);
        return Files.exists(launch.endedFile())
                || machine.instances().apply(noted.workload()).stream()
                        .anyMatch(known -> known.launchId().equals(noted.launchId()) && known.isOver());
    }

    /** Whether a driver is needed by launches of tasks that nobody has removed yet. */
    boolean isNeeded(String driver) throws IOException {
        return noted().stream()
                .anyMatch(instance -> instance.identity() instanceof Identity.Task task
                        && task.driver().equals(driver));
    }

    private ImmutableList<Instance> noted() throws IOException {
        ImmutableList.Builder<Instance> found = ImmutableList.builder();
        for (LaunchDirectory launch : launches.all(Kind.TASK).values()) {
            try {
                launch.note().map(LaunchNote::instance).ifPresent(found::add);
            } catch (IOException e) {
                LOG.warn("a note on a task's launch can't be used: {}", e.getMessage());
            }
        }
        return found.build();
    }
}
