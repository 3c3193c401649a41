package io.homeostat.reconcile.runtime.task;

import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.TaskState;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.LaunchNote;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import io.homeostat.reconcile.runtime.task.UnansweredStarts.Start;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks for tasks that drivers have started after nobody waited for them any more, and has them removed: whoever asked has begun anew by
 * then. Their own launch is told of, as long as it is remembered, to whoever looks at the workload.
 */
final class LateStarts {
    private static final Logger LOG = LoggerFactory.getLogger(LateStarts.class);

    /** After this a driver is taken to have given it up; or there would be ever more of them. */
    private static final Duration KEPT = Duration.ofHours(1);

    /** Upkeep is done twice a second. */
    private static final int EVERY = 4;

    /** What is older than this is looked for less often, since it hardly comes any more. */
    private static final Duration YOUNG = Duration.ofMinutes(1);

    private static final int EVERY_OF_OLD = 15 * EVERY;

    private final Machine machine;
    private final Tasks tasks;
    private final LaunchDirectories launches;

    private final AtomicInteger calls = new AtomicInteger();

    /** Held by the one round that is under way. */
    private final ReentrantLock looking = new ReentrantLock();

    LateStarts(Machine machine, Tasks tasks, LaunchDirectories launches) {
        this.machine = machine;
        this.tasks = tasks;
        this.launches = launches;
    }

    /** Looks at all drivers, beside whoever calls: a driver that does not answer takes its time. */
    void lookBeside() {
        int call = calls.getAndIncrement();
        if (call % EVERY == 0 && !looking.isLocked()) {
            Thread _ = Thread.ofVirtual().name("late starts").start(() -> look(call % EVERY_OF_OLD == 0));
        }
    }

    /**
     * Looks at all drivers, unless another thread does.
     *
     * @param alsoOld whether to look for starts that were begun long ago, too
     */
    void look(boolean alsoOld) {
        if (!looking.tryLock()) {
            return;
        }
        try {
            for (var launch : launches.all(Kind.DRIVER).entries()) {
                look(launch.getKey(), launch.getValue(), alsoOld);
            }
        } catch (IOException e) {
            LOG.warn("which tasks drivers may still start can't be seen: {}", IoReason.withFile(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            looking.unlock();
        }
    }

    private void look(WorkloadId id, LaunchDirectory launch, boolean alsoOld) throws IOException, InterruptedException {
        var starts = tasks.starts().of(launch);
        boolean runs = !starts.isEmpty()
                && tasks.running(id.name())
                        .filter(driver -> launches.of(driver).equals(launch))
                        .isPresent();
        if (!runs) {
            return;
        }
        try {
            DriverSession session = tasks.session(id.name(), tasks.timeout());
            Instant now = machine.clock().instant();
            for (Start start : starts) {
                if (alsoOld || !start.isOlderThan(YOUNG, now)) {
                    look(session, start);
                }
            }
        } catch (Absent e) {
            LOG.debug("[{}] {}", id.brief(), e.words());
        } catch (DriverFailure e) {
            // Others must not wait for each of its starts.
            LOG.debug("[{}] {}", id.brief(), e.words());
        }
    }

    private void look(DriverSession session, Start start) throws DriverFailure, InterruptedException {
        if (tasks.begun().contains(start.launchId()) || isRemembered(start)) {
            return;
        }
        try {
            if (session.inspectTask(start.taskId(), tasks.timeout()) instanceof TaskState.NotKnown) {
                if (start.isOlderThan(KEPT, machine.clock().instant())) {
                    tasks.starts().forget(start);
                }
                return;
            }
            LOG.warn(
                    "[{}] its driver has started it when nobody waited for that any more; this copy is removed",
                    start.workload().brief());
            session.destroyTask(start.taskId(), tasks.timeout());
            tasks.starts().forget(start);
        } catch (DriverFailure e) {
            if (e.isSilence()) {
                throw e;
            }
            LOG.debug("[{}] {}", start.workload().brief(), e.words());
        }
    }

    /** Whether it has its handle, and is none that nobody waits for, or its workload is planned with it in mind. */
    private boolean isRemembered(Start start) {
        boolean planned = machine.instances().apply(start.workload()).stream()
                .anyMatch(known -> known.launchId().equals(start.launchId()) && !known.isOver());
        if (planned) {
            return true;
        }
        try {
            Optional<Identity> noted = new LaunchDirectory(machine.layout().launch(start.workload(), start.launchId()))
                    .note()
                    .map(LaunchNote::instance)
                    .map(Instance::identity);
            boolean started = noted.filter(identity -> identity instanceof Identity.Task task
                            && !task.handle().isEmpty())
                    .isPresent();
            if (started) {
                tasks.starts().forget(start);
            }
            return started;
        } catch (IOException e) {
            LOG.debug("[{}] {}", start.workload().brief(), e.getMessage());
            return true;
        }
    }
}
