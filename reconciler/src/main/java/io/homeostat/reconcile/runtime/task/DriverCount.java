package io.homeostat.reconcile.runtime.task;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.TaskStatistics;
import io.homeostat.observe.usage.Meter;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What the driver of a task counts of it. The driver is asked in the background, so that one that hangs holds up nobody. */
final class DriverCount implements Meter {
    /** It tells percents of a core; they are taken as such. */
    private static final long NANOS = 1_000_000_000;

    private static final double NANOS_PER_PERCENT = NANOS / 100.0;

    private final Tasks tasks;
    private @Nullable TaskStatistics statistics;

    DriverCount(Tasks tasks) {
        this.tasks = tasks;
    }

    @Override
    public Optional<Measured> measure(ImmutableList<Instance> launches, Duration interval, Processes processes) {
        Optional<TaskStatistics> asked = statistics(launches.getLast(), interval);
        return asked.flatMap(TaskStatistics::take)
                .map(sample ->
                        new Measured(NANOS, Math.round(sample.cpuPercent() * NANOS_PER_PERCENT), sample.memoryBytes()));
    }

    /** Of this launch, over the session that its driver has now. */
    private Optional<TaskStatistics> statistics(Instance launch, Duration interval) {
        Optional<Identity.Task> task = Tasks.identity(launch);
        Optional<Instance> driver = task.flatMap(known -> tasks.running(known.driver()));
        Optional<DriverSession> session = driver.flatMap(tasks::known);
        if (session.isEmpty()) {
            return Optional.empty();
        }
        String taskId = task.orElseThrow().taskId();
        TaskStatistics known = statistics;
        if (known == null || !known.isOf(session.get(), taskId, interval)) {
            close();
            statistics =
                    tasks.statistics(driver.orElseThrow(), taskId, interval).orElse(null);
        }
        return Optional.ofNullable(statistics);
    }

    @Override
    public void close() {
        TaskStatistics known = statistics;
        if (known != null) {
            known.close();
            statistics = null;
        }
    }
}
