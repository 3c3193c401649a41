package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.watch.FileChanges;
import io.homeostat.observe.watch.FileLeases;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The libraries that this process runs from. A class is read when it is needed, and would be that of another version, or none, once a
 * library was overwritten in place. So a process whose libraries are about to be overwritten ends first: whoever opens one for writing
 * waits for that. Where the kernel grants no lease (files of another user, some network file systems, somebody who is writing just
 * now), it ends as soon as one has changed. What is mapped into memory is nowhere where it could be overwritten, see the start script.
 *
 * <p>Files that are replaced by others of the same name, as package managers do it, stay as they are for those who have them open.
 */
public final class ProgramFiles implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ProgramFiles.class);

    /** The uptime, in seconds, when the JVM was started; before, the start script has waited until all files were at rest. */
    private static final String LAUNCHED = "homeostat.launched";

    /** Less than what the start script takes for rest, more than clocks differ by. */
    private static final Duration LEEWAY = Duration.ofMillis(500);

    private final FileLeases leases;
    private final ImmutableMap<Path, Stamp> watched;
    private final @Nullable FileChanges changes;
    /** Overwritten before there was a lease on it, when the JVM may have read some of it. */
    private final Optional<Path> overwrittenBefore;

    /** By which a file that was written can be told; another file of its name does not count. */
    private record Stamp(
            long size, FileTime modified, @Nullable Object file) {
        static Stamp of(Path path) throws IOException {
            BasicFileAttributes facts = Files.readAttributes(path, BasicFileAttributes.class);
            return new Stamp(facts.size(), facts.lastModifiedTime(), facts.fileKey());
        }
    }

    private ProgramFiles(ImmutableSet<Path> files, Clock clock, Runnable onOverwritten) throws IOException {
        leases = new FileLeases(files);
        ImmutableMap.Builder<Path, Stamp> stamps = ImmutableMap.builder();
        for (Path file : Sets.difference(files, leases.held())) {
            stamps.put(file, Stamp.of(file));
        }
        watched = stamps.buildOrThrow();
        changes = watched.isEmpty()
                ? null
                : FileChanges.ofFiles(watched.keySet(), () -> {
                    if (overwritten().isPresent()) {
                        onOverwritten.run();
                    }
                });
        overwrittenBefore = overwrittenSinceLaunch(files, clock);
    }

    /**
     * With a lease on each: it loads classes when it needs them, and one that was overwritten can't be. None when this process does not
     * run from its distribution, as in tests.
     *
     * @param onOverwritten called when a file without a lease has changed; of the others SIGIO tells
     */
    public static ProgramFiles of(Clock clock, Runnable onOverwritten) {
        try {
            Optional<Path> home = home();
            return new ProgramFiles(home.isPresent() ? files(home.get()) : ImmutableSet.of(), clock, onOverwritten);
        } catch (IOException e) {
            throw new CommandFailure("cannot read the files this program consists of: " + e, e);
        }
    }

    private static Optional<Path> overwrittenSinceLaunch(ImmutableSet<Path> files, Clock clock) throws IOException {
        String launched = System.getProperty(LAUNCHED, "");
        if (launched.isEmpty() || files.isEmpty()) {
            return Optional.empty();
        }
        Duration age = new ProcFs().age(ProcFs.uptimeTicks(launched));
        Instant now = clock.instant();
        // A time that is yet to come is of a clock that was set back since.
        return changed(files, now.minus(age).minus(LEEWAY), now.plus(LEEWAY));
    }

    /** The first that was changed after the one time, and not after the other. */
    static Optional<Path> changed(ImmutableSet<Path> files, Instant after, Instant until) throws IOException {
        for (Path file : files) {
            // Of any kind: the time at which the content was changed is what the writer says it is.
            Instant changed = ((FileTime) Files.getAttribute(file, "unix:ctime")).toInstant();
            if (changed.isAfter(after) && !changed.isAfter(until)) {
                return Optional.of(file);
            }
        }
        return Optional.empty();
    }

    /** Where this program is installed. A class's CodeSource does not tell: with a class cache it is where that was made. */
    private static Optional<Path> home() {
        Path jar = Path.of(System.getProperty("java.class.path", ""));
        Path libraries = jar.getParent();
        return jar.endsWith("lib/homeostat.jar") && libraries != null
                ? Optional.ofNullable(libraries.getParent())
                : Optional.empty();
    }

    /** What is being done to them, in words; empty: nothing. */
    public Optional<String> overwritten() {
        return overwrittenBefore
                .or(leases::awaited)
                .or(() -> watched.keySet().stream().filter(this::isChanged).findFirst())
                .map(file -> file + ", from which this program runs, is being overwritten");
    }

    private boolean isChanged(Path file) {
        Stamp then = Objects.requireNonNull(watched.get(file));
        try {
            Stamp now = Stamp.of(file);
            return Objects.equals(then.file(), now.file()) && !then.equals(now);
        } catch (IOException e) {
            LOG.debug("{} is gone; what this process has open stays", file, e);
            return false;
        }
    }

    private static ImmutableSet<Path> files(Path home) throws IOException {
        try (Stream<Path> found = Files.walk(home.resolve("lib"))) {
            return found.filter(Files::isRegularFile).collect(ImmutableSet.toImmutableSet());
        }
    }

    @Override
    public void close() {
        if (changes != null) {
            changes.close();
        }
        // The leases end with the process: until then its code is in these files.
    }
}
