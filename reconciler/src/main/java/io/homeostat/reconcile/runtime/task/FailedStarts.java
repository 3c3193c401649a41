package io.homeostat.reconcile.runtime.task;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.FailedStart;
import io.homeostat.observe.process.LaunchDirectory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Notes which starts of tasks drivers fail. A note that can't be written is no failure of anything else. */
final class FailedStarts {
    private static final Logger LOG = LoggerFactory.getLogger(FailedStarts.class);
    private static final int SHOWN = 300;

    private final LaunchDirectories launches;
    private final Disk disk = new LocalDisk();

    /** The tasks of a driver start side by side. */
    private final ReentrantLock lock = new ReentrantLock();

    FailedStarts(LaunchDirectories launches) {
        this.launches = launches;
    }

    /** @param words without the task's secrets */
    void failed(Instance driver, WorkloadId task, String words) {
        FailedStart latest = new FailedStart(task.brief(), VisibleText.cut(VisibleText.line(words), SHOWN));
        change(
                driver.workload(),
                launches.of(driver),
                before -> Stream.concat(before.stream(), Stream.of(latest))
                        .skip(Math.max(0, before.size() + 1 - FailedStart.MANY))
                        .collect(ImmutableList.toImmutableList()));
    }

    void succeeded(Instance driver) {
        change(driver.workload(), launches.of(driver), before -> ImmutableList.of());
    }

    /** Of a task that is no more: it says nothing of any driver now. */
    void forget(WorkloadId task) {
        try {
            launches.all(Kind.DRIVER)
                    .forEach((driver, launch) -> change(
                            driver,
                            launch,
                            before -> before.stream()
                                    .filter(failed -> !failed.task().equals(task.brief()))
                                    .collect(ImmutableList.toImmutableList())));
        } catch (IOException e) {
            LOG.warn("which drivers failed to start {} can't be seen: {}", task.brief(), e.getMessage());
        }
    }

    private void change(
            WorkloadId driver,
            LaunchDirectory launch,
            Function<ImmutableList<FailedStart>, ImmutableList<FailedStart>> change) {
        lock.lock();
        try {
            ImmutableList<FailedStart> before = FailedStart.of(launch);
            ImmutableList<FailedStart> after = change.apply(before);
            if (after.isEmpty()) {
                Files.deleteIfExists(launch.failedStartsFile());
            } else if (!after.equals(before)) {
                String text = after.stream().map(FailedStart::line).reduce("", String::concat);
                disk.replace(launch.failedStartsFile(), text.getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            LOG.warn("[{}] which starts of tasks failed can't be written down: {}", driver.brief(), e.getMessage());
        } finally {
            lock.unlock();
        }
    }
}
