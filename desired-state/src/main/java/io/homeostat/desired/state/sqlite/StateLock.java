package io.homeostat.desired.state.sqlite;

import com.google.common.base.Splitter;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The right to change a state directory, held by one process at a time. The kernel releases the lock however its holder ends; the file
 * stays, and names the holder only while the lock is held.
 */
public final class StateLock implements AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(50);

    /** Who asks for the holder has the lock for an instant; that is no reason to fail or to say anything. */
    private static final Duration GRACE = Duration.ofMillis(300);

    private static final int LONGEST_HOLDER = 512;

    private final FileChannel channel;
    private final FileLock lock;

    private StateLock(FileChannel channel, FileLock lock) {
        this.channel = channel;
        this.lock = lock;
    }

    /**
     * Takes the lock, waiting if somebody else has it.
     *
     * @param command what this process does, as typed: {@code apply}
     * @param patience how long to wait; always a moment, for commands that only check whether it is free
     * @param onWait told once, after a while, whom it is waiting for
     * @throws StoreException when time is up, naming the holder, or the file can't be locked
     */
    public static StateLock acquire(
            Path lock, String command, Duration patience, Clock clock, Consumer<String> onWait) {
        return acquire(lock, command, patience, clock, onWait, () -> {});
    }

    /**
     * The same.
     *
     * @param beforeWaiting called each time that somebody else has it; ends the wait by throwing
     */
    public static StateLock acquire(
            Path lock,
            String command,
            Duration patience,
            Clock clock,
            Consumer<String> onWait,
            Runnable beforeWaiting) {
        Path directory = lock.toAbsolutePath().getParent();
        if (directory != null) {
            StateDirectory.create(directory);
        }
        Instant start = clock.instant();
        boolean told = false;
        while (true) {
            try {
                Optional<StateLock> taken = tryAcquire(lock, command, clock);
                if (taken.isPresent()) {
                    return taken.get();
                }
            } catch (IOException e) {
                throw StateDirectory.failure("lock", lock, e);
            }
            beforeWaiting.run();
            Duration waited = Duration.between(start, clock.instant());
            if (waited.compareTo(GRACE) >= 0) {
                // Before it gives up: on a busy machine the first attempt after the grace period may be the last one.
                if (!told && patience.compareTo(GRACE) > 0) {
                    onWait.accept("waiting for " + holderWords(lock) + " to release " + directory);
                    told = true;
                }
                if (waited.compareTo(patience) >= 0) {
                    throw new StoreException(
                            holderWords(lock) + " is working on " + directory + " and has not released it within "
                                    + patience.toSeconds() + " s; try again when it is done, or stop it");
                }
            }
            pause(lock);
        }
    }

    /**
     * Who holds the lock: {@code homeostat apply (pid 123)}; empty when nobody does. Creates and changes no file.
     *
     * @throws StoreException when that can't be found out
     */
    public static Optional<String> holder(Path lock) {
        try {
            StateDirectory.requireFileOrNothing(lock);
            if (isOpenInThisProcess(lock)) {
                return Optional.of(
                        "this process (pid " + ProcessHandle.current().pid() + ")");
            }
            try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.READ);
                    FileLock free = tryLock(channel, true)) {
                return free == null ? Optional.of(words(read(channel))) : Optional.empty();
            }
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw StateDirectory.failure("look at", lock, e);
        }
    }

    private static Optional<StateLock> tryAcquire(Path file, String command, Clock clock) throws IOException {
        StateDirectory.requireFileOrNothing(file);
        if (isOpenInThisProcess(file)) {
            return Optional.empty();
        }
        FileChannel channel = FileChannel.open(
                file,
                EnumSet.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE),
                StateDirectory.PRIVATE_FILE);
        try {
            FileLock lock = tryLock(channel, false);
            if (lock == null) {
                channel.close();
                return Optional.empty();
            }
            describe(channel, command, clock);
            return Optional.of(new StateLock(channel, lock));
        } catch (IOException | RuntimeException e) {
            Sqlite.closeAfter(e, channel);
            throw e;
        }
    }

    /** So that others can say who it is: {@code PID COMMAND SINCE}. */
    private static void describe(FileChannel channel, String command, Clock clock) throws IOException {
        String line = ProcessHandle.current().pid() + " " + command.replace('\n', ' ') + " " + clock.instant() + "\n";
        channel.truncate(0);
        channel.write(ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8)), 0);
    }

    private static @Nullable FileLock tryLock(FileChannel channel, boolean shared) throws IOException {
        try {
            return channel.tryLock(0, Long.MAX_VALUE, shared);
        } catch (OverlappingFileLockException e) {
            // Another thread of this process was faster.
            return null;
        }
    }

    /**
     * Closing any descriptor of a file drops all of the process's locks on it (fcntl(2)), so a file that this process has open must not
     * be opened again.
     */
    private static boolean isOpenInThisProcess(Path file) throws IOException {
        if (!Files.exists(file)) {
            return false;
        }
        Path real = file.toRealPath();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.anyMatch(descriptor -> pointsTo(descriptor, real));
        }
    }

    private static boolean pointsTo(Path descriptor, Path file) {
        try {
            return Files.readSymbolicLink(descriptor).equals(file);
        } catch (IOException e) {
            // Closed meanwhile.
            return false;
        }
    }

    private static String holderWords(Path lock) {
        try {
            return holder(lock).orElse("another homeostat");
        } catch (StoreException e) {
            return "another homeostat";
        }
    }

    private static String read(FileChannel channel) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(LONGEST_HOLDER);
        channel.read(buffer, 0);
        return StandardCharsets.UTF_8.decode(buffer.flip()).toString().strip();
    }

    /** The line may be a dead holder's, when the present one has not written its own yet. */
    private static String words(String line) {
        List<String> parts = Splitter.on(' ').omitEmptyStrings().splitToList(line);
        if (parts.size() < 3 || !isAlive(parts.getFirst())) {
            return "another homeostat";
        }
        return "homeostat " + String.join(" ", parts.subList(1, parts.size() - 1)) + " (pid " + parts.getFirst() + ")";
    }

    private static boolean isAlive(String pid) {
        try {
            return ProcessHandle.of(Long.parseLong(pid)).isPresent();
        } catch (NumberFormatException e) {
            return false;
        }
    }

    private static void pause(Path lock) {
        try {
            Thread.sleep(POLL);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreException("interrupted while waiting for " + lock, e);
        }
    }

    @Override
    public void close() {
        try (channel) {
            lock.release();
        } catch (IOException e) {
            throw new StoreException("cannot release a lock on the state directory: " + e.getMessage(), e);
        }
    }
}
