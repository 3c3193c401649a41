package io.homeostat.reconcile.agent.guest;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.reconcile.agent.frontend.Gate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The moment at which a process is killed: the files are kept as they are then. What the process would still do on its way out, such as in a
 * finally block, is undone by {@link #restore}.
 */
final class KillPoint {
    private final Path directory;
    private final List<Saved> files = new ArrayList<>();
    private final AtomicReference<@Nullable Thread> killed = new AtomicReference<>();
    private final Set<String> held = ConcurrentHashMap.newKeySet();

    /**
     * A file as it was.
     *
     * @param content of a file; empty for a directory
     * @param key the same for all names of one file
     */
    private record Saved(Path path, Optional<byte[]> content, Object key) {}

    /** Thrown in the place of the kill. */
    static final class Killed extends Error {
        private static final long serialVersionUID = 1L;

        Killed() {
            super("killed", null, false, false);
        }
    }

    /** @param directory that all files are below */
    KillPoint(Path directory) {
        this.directory = directory;
    }

    /** Kills the process now, by the thread that does its work. */
    Killed kill() throws IOException {
        killed.set(Thread.currentThread());
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path file : all.toList()) {
                BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
                files.add(new Saved(
                        file,
                        attributes.isDirectory() ? Optional.empty() : Optional.of(Files.readAllBytes(file)),
                        attributes.fileKey()));
            }
        }
        return new Killed();
    }

    /** Holds up the process for ever once it was killed; the thread that was killed fails. */
    void check() {
        Thread thread = killed.get();
        if (thread == null) {
            return;
        }
        if (thread.threadId() != Thread.currentThread().threadId()) {
            held.add(Thread.currentThread().getName());
            Gate.hold();
        }
        throw new Killed();
    }

    /** Returns whether a thread of the killed process has tried to go on, and changes no file any more. */
    boolean holds(String thread) {
        return held.contains(thread);
    }

    /** Makes the files what they were when the process was killed. */
    void restore() throws IOException {
        if (killed.get() == null) {
            throw new IllegalStateException("nothing was killed");
        }
        MoreFiles.deleteDirectoryContents(directory, RecursiveDeleteOption.ALLOW_INSECURE);
        Map<Object, Path> names = new HashMap<>();
        for (Saved file : files) {
            Path other = names.putIfAbsent(file.key(), file.path());
            if (file.content().isEmpty()) {
                Files.createDirectories(file.path());
            } else if (other == null) {
                Files.write(file.path(), file.content().get());
            } else {
                Files.createLink(file.path(), other);
            }
        }
    }
}
