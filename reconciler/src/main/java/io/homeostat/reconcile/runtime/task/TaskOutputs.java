package io.homeostat.reconcile.runtime.task;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LogTurns;
import io.homeostat.actuate.task.OutputCopy;
import io.homeostat.actuate.task.OutputCopy.Places;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What tasks print: into files of their launches, from which it is copied to the logs of their workloads. Which there are is seen on disk,
 * so that nothing of a launch is left that nobody remembers.
 */
final class TaskOutputs {
    private static final Logger LOG = LoggerFactory.getLogger(TaskOutputs.class);

    /** Between two looks for launches that nobody here has begun. */
    private static final Duration LOOK = Duration.ofSeconds(30);

    /** What has not written for long is looked at in one round of so many: with many tasks, these looks are most of what an idle agent does. */
    private static final int RESTING_ROUNDS = 4;

    private final Layout layout;
    private final LaunchDirectories launches;
    private final LogTurns turns;

    /** By the directory of the launch. */
    private final Map<Path, Copy> copies = new ConcurrentHashMap<>();

    /** Launches of which it has been said that their output can't be copied. */
    private final Set<Path> told = ConcurrentHashMap.newKeySet();

    private final Ticker ticker;
    private @Nullable Long nextLook;
    private int round;

    private record Copy(WorkloadId id, OutputCopy output) {}

    TaskOutputs(Layout layout, LaunchDirectories launches, LogTurns turns, Ticker ticker) {
        this.ticker = ticker;
        this.layout = layout;
        this.launches = launches;
        this.turns = turns;
    }

    static Path out(Path launch) {
        return launch.resolve("stdout");
    }

    static Path err(Path launch) {
        return launch.resolve("stderr");
    }

    private static Path state(Path launch) {
        return launch.resolve("output-state");
    }

    /**
     * Makes the files that a launch writes to.
     *
     * @param driver the user whom the driver that opens them runs as, if that is not ours
     */
    void begin(Instance instance, Optional<Account> driver) throws ActuationFailure {
        Path launch = launch(instance);
        of(instance.workload(), launch).begin();
        if (driver.isEmpty()) {
            return;
        }
        try {
            if (driver.get().uid() != Account.ourUid()) {
                letIn(driver.get(), launch, "rwx--x---");
                letIn(driver.get(), out(launch), "rw-rw----");
                letIn(driver.get(), err(launch), "rw-rw----");
            }
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not let user " + driver.get().name() + ", whom the driver runs as, write to " + out(launch)
                            + ": " + Disk.reason(e),
                    false,
                    e);
        }
    }

    /** By its group, so that it stays ours. Nobody else can put anything into its place. */
    private static void letIn(Account user, Path file, String permissions) throws IOException {
        Files.setAttribute(file, "unix:gid", user.gid(), LinkOption.NOFOLLOW_LINKS);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    /** Copies what a launch has written until now; what can't be copied now is copied later. */
    void copy(Instance instance) {
        copy(instance.workload(), launch(instance));
    }

    /** Copies all that a launch has written, once it has ended. */
    void finish(Instance instance) throws ActuationFailure {
        Path launch = launch(instance);
        of(instance.workload(), launch).finish();
        copies.remove(launch);
        told.remove(launch);
    }

    /** Copies what all launches have written until now. */
    void copyAll() {
        long now = ticker.read();
        if (nextLook == null || now - nextLook >= 0) {
            findAll();
            nextLook = now + LOOK.toNanos();
        }
        round++;
        copies.forEach((launch, copy) -> {
            // By turns, so that there is no moment at which all are looked at.
            if (!copy.output().isResting() || (round + launch.hashCode()) % RESTING_ROUNDS == 0) {
                copy(copy.id(), launch);
            }
        });
    }

    /** Those that this program has not begun itself, and without those that somebody has removed. */
    private void findAll() {
        try {
            launches.all(Kind.TASK).forEach((id, launch) -> {
                if (Files.exists(state(launch.path()))) {
                    OutputCopy _ = of(id, launch.path());
                }
            });
        } catch (IOException e) {
            LOG.warn("the output of tasks can't be seen: {}", e.getMessage());
        }
        copies.keySet().removeIf(launch -> !Files.isDirectory(launch));
        told.retainAll(copies.keySet());
    }

    private void copy(WorkloadId id, Path launch) {
        OutputCopy copy = of(id, launch);
        try {
            // One pass: what is more comes in the next round, after the others.
            boolean _ = copy.copy();
            told.remove(launch);
        } catch (ActuationFailure e) {
            if (told.add(launch)) {
                LOG.warn("[{}] {}", id.brief(), e.getMessage());
            }
        }
    }

    private OutputCopy of(WorkloadId id, Path launch) {
        return copies.computeIfAbsent(
                        launch,
                        path -> new Copy(
                                id,
                                new OutputCopy(new Places(out(path), err(path), state(path), layout.log(id)), turns)))
                .output();
    }

    private Path launch(Instance instance) {
        return layout.launch(instance.workload(), instance.launchId());
    }
}
