package io.homeostat.reconcile.runtime.task;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.process.LaunchDirectory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls of StartTask that no answer was seen to. A driver may start a task long after whoever asked for it is gone, so each is written down
 * before it is made, beside the notes on the launch of the driver: with the driver's process ends what it may still do.
 */
final class UnansweredStarts {
    private static final Logger LOG = LoggerFactory.getLogger(UnansweredStarts.class);

    private final LaunchDirectories launches;
    private final Disk disk = new LocalDisk();

    UnansweredStarts(LaunchDirectories launches) {
        this.launches = launches;
    }

    /**
     * One call.
     *
     * @param taskId as the driver knows the task
     * @param begun by the clock
     */
    record Start(WorkloadId workload, String launchId, String taskId, Instant begun, Path file) {
        boolean isOlderThan(Duration age, Instant now) {
            return Duration.between(begun, now).abs().compareTo(age) > 0;
        }
    }

    /** Before the driver is asked to start a task. */
    void begin(Instance driver, Instance task, String taskId) throws ActuationFailure {
        Path file = file(driver, task.launchId());
        try {
            SecureDirectories.createUnsynced(directory(launches.of(driver)), SecureDirectories.OURS);
            disk.replace(file, (task.workload() + "\n" + taskId + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not write down that " + task.workload().brief() + " is about to be started: "
                            + IoReason.withFile(e),
                    false,
                    e);
        }
    }

    /** It has been answered, so that nothing more comes of it. */
    void answered(Instance driver, String launchId) {
        forget(file(driver, launchId));
    }

    void forget(Start start) {
        forget(start.file());
    }

    private static void forget(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            // What is started is found by its handle before anybody believes this note.
            LOG.warn("{} can't be removed: {}", file, IoReason.of(e));
        }
    }

    /** Whether a launch of a driver may still start that launch of a task. */
    boolean mayComeFrom(Instance driver, String launchId) {
        return Files.exists(file(driver, launchId));
    }

    /** Those of a launch of a driver. */
    ImmutableList<Start> of(LaunchDirectory driver) throws IOException {
        ImmutableList.Builder<Start> starts = ImmutableList.builder();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory(driver))) {
            for (Path file : files) {
                read(file).ifPresent(starts::add);
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            return ImmutableList.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return starts.build();
    }

    private static Optional<Start> read(Path file) throws IOException {
        try {
            List<String> lines = Splitter.on('\n').splitToList(Files.readString(file, StandardCharsets.UTF_8));
            Instant begun = Files.getLastModifiedTime(file).toInstant();
            return lines.size() < 2
                    ? Optional.empty()
                    : WorkloadId.parse(lines.get(0))
                            .map(id -> new Start(id, String.valueOf(file.getFileName()), lines.get(1), begun, file));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private Path file(Instance driver, String launchId) {
        return directory(launches.of(driver)).resolve(launchId);
    }

    private static Path directory(LaunchDirectory driver) {
        return driver.path().resolve("starts");
    }
}
