package io.homeostat.reconcile.loop;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps what workloads log within bounds: looks at each log, which costs a stat, and rotates those that have become too large. A log that
 * can't be rotated is told of once, until it can or the reason is another.
 */
public final class LogKeeper {
    private static final Logger LOG = LoggerFactory.getLogger(LogKeeper.class);
    private static final int COPIES = 4;

    private final Layout layout;
    private final LogRotation rotation = new LogRotation();
    private final Map<Path, FailureCause> told = new HashMap<>();

    public LogKeeper(Layout layout) {
        this.layout = layout;
    }

    /**
     * Looks at the logs of all workloads that have ever been here and not been removed, once.
     *
     * @param bytesPerWorkload all logs of one workload with their copies together, from 4096; a fifth is for errors, where they have a log of their own
     */
    public synchronized void keep(long bytesPerWorkload) {
        Set<Path> seen = new HashSet<>();
        for (Kind kind : Kind.all()) {
            for (Path state : states(layout.workloadStates(kind), seen)) {
                Path log = state.resolve(
                        layout.log(new WorkloadId(kind, "any")).getFileName().toString());
                String errorLog = kind.errorLog();
                long errors = errorLog == null ? 0 : bytesPerWorkload / 5;
                if (errorLog != null) {
                    rotate(state.resolve(errorLog), errors, seen);
                }
                rotate(log, bytesPerWorkload - errors, seen);
            }
        }
        told.keySet().retainAll(seen);
    }

    private Set<Path> states(Path directory, Set<Path> seen) {
        seen.add(directory);
        Set<Path> states = new HashSet<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            entries.forEach(states::add);
            told.remove(directory);
        } catch (NoSuchFileException | NotDirectoryException e) {
            return states;
        } catch (IOException | DirectoryIteratorException e) {
            tell(
                    directory,
                    ActuationFailure.causeOf(e, FailureCause.Kind.INPUT_OUTPUT),
                    "the logs below " + directory + " can't be seen and may grow: " + e.getMessage());
        }
        return states;
    }

    private void rotate(Path log, long bytes, Set<Path> seen) {
        seen.add(log);
        try {
            if (rotation.rotate(log, bytes, COPIES)) {
                LOG.debug("{} was rotated", log);
            }
            told.remove(log);
        } catch (ActuationFailure e) {
            tell(log, e.failureCause(), "a log can't be rotated and may grow: " + e.getMessage());
        }
    }

    private void tell(Path path, FailureCause cause, String problem) {
        if (!cause.equals(told.put(path, cause))) {
            LOG.warn("{}", problem);
        }
    }
}
