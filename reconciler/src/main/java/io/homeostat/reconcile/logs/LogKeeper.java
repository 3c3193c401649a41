package io.homeostat.reconcile.logs;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.actuate.launch.LogTurns;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the logs of workloads within bounds by rotating those that have grown too large, and notes when they have grown. What can't be done
 * is reported once per cause.
 */
public final class LogKeeper {
    private static final Logger LOG = LoggerFactory.getLogger(LogKeeper.class);
    private static final int COPIES = 4;

    private final Layout layout;
    private final LogRotation rotation;
    private final LogIndexer indexer;
    private final Map<Path, FailureCause> told = new HashMap<>();
    private final Set<Path> overflowing = new HashSet<>();

    public LogKeeper(Layout layout, InstantSource clock) {
        this(layout, clock, new LogTurns());
    }

    /** @param turns of those in this process who write to the logs themselves */
    public LogKeeper(Layout layout, InstantSource clock, LogTurns turns) {
        this.layout = layout;
        this.rotation = new LogRotation(turns);
        this.indexer = new LogIndexer(clock);
    }

    /**
     * Checks the logs of all workloads that have a state directory, once.
     *
     * @param bytesPerWorkload the bound for all logs of a workload with their copies, at least 4096; a fifth is for the log of errors, where there is one
     */
    public synchronized void keep(long bytesPerWorkload) {
        Set<Path> seen = new HashSet<>();
        UserMounts mounts = mounts();
        if (mounts == null) {
            return;
        }
        for (Kind kind : Kind.all()) {
            for (Path state : states(layout.workloadStates(kind), seen)) {
                if (isHidden(kind, state, mounts, seen)) {
                    continue;
                }
                String errorLog = kind.errorLog();
                long ofErrors = bytesPerWorkload / 5;
                long errors = errorLog != null && keep(kind, state, errorLog, ofErrors, seen) ? ofErrors : 0;
                boolean _ = keep(kind, state, Layout.logName(kind), bytesPerWorkload - errors, seen);
            }
        }
        told.keySet().retainAll(seen);
        overflowing.retainAll(seen);
        indexer.retain(seen);
    }

    /** Nothing is looked at of what a user may have mounted something over. */
    private @Nullable UserMounts mounts() {
        try {
            return UserMounts.now();
        } catch (IOException e) {
            LOG.warn("no log was looked at, and each may grow: {}", e.getMessage());
            return null;
        }
    }

    private boolean isHidden(Kind kind, Path state, UserMounts mounts, Set<Path> seen) {
        seen.add(state);
        try {
            mounts.check(kind, state);
            told.remove(state);
            return false;
        } catch (IOException e) {
            tell(
                    state,
                    ActuationFailure.causeOf(e, FailureCause.Kind.INPUT_OUTPUT),
                    "the logs in " + state + " can't be seen and may grow: " + e.getMessage());
            return true;
        }
    }

    /** Returns whether there is one. */
    private boolean keep(Kind kind, Path state, String name, long bytes, Set<Path> seen) {
        Path log = state.resolve(name);
        Path index = layout.logTimes(kind).resolve(state.getFileName()).resolve(name);
        seen.add(log);
        seen.add(index);
        if (isMissing(log)) {
            told.remove(log);
            told.remove(index);
            return false;
        }
        OptionalLong lost = rotate(log, bytes);
        try {
            if (lost.isPresent()) {
                indexer.rotated(log, new LogIndex(index), lost.getAsLong());
            }
            indexer.look(log, new LogIndex(index));
            told.remove(index);
        } catch (NoSuchFileException e) {
            LOG.debug("{} was removed just now", e.getFile());
        } catch (IOException e) {
            tell(
                    index,
                    ActuationFailure.causeOf(e, FailureCause.Kind.INPUT_OUTPUT),
                    "when " + log + " grows can't be noted in " + index
                            + ", so logs --since and --timestamps know it less precisely: " + e.getMessage());
        }
        return true;
    }

    /** As that of a task that prints nothing. To find that out from what fails is dear. */
    private static boolean isMissing(Path log) {
        try {
            return log.getFileSystem()
                            .provider()
                            .readAttributesIfExists(log, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    == null;
        } catch (IOException e) {
            // Who is to rotate it says what is wrong.
            return false;
        }
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

    private OptionalLong rotate(Path log, long bytes) {
        try {
            OptionalLong lost = rotation.rotate(log, bytes, COPIES);
            told.remove(log);
            lost.ifPresent(given -> tellOfLoss(log, given));
            return lost;
        } catch (ActuationFailure e) {
            tell(log, e.failureCause(), "a log can't be rotated and may grow: " + e.getMessage());
            return OptionalLong.empty();
        }
    }

    /** Once, until it fits again: whoever writes too fast does so for long. */
    private void tellOfLoss(Path log, long bytes) {
        if (bytes == 0) {
            overflowing.remove(log);
        } else if (overflowing.add(log)) {
            LOG.warn(
                    "{} has grown by more than limits.logBytesPerWorkload allows; its oldest {} bytes were given up",
                    log,
                    bytes);
        }
    }

    private void tell(Path path, FailureCause cause, String problem) {
        if (!cause.equals(told.put(path, cause))) {
            LOG.warn("{}", problem);
        }
    }
}
