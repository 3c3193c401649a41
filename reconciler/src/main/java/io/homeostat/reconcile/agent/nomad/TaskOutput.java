package io.homeostat.reconcile.agent.nomad;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.actuate.launch.LogRotation.Extent;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.PipeEnd;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Copies what a task has written to its log into the file or pipe that Nomad reads, as long as somebody reads there. The task itself knows
 * neither the pipe nor this process: whoever reads may die, stall or come back, and costs it nothing. How far it came in all that was ever
 * written to the log is written down, so that another instance goes on from there, in the copies that rotation has made if need be.
 */
final class TaskOutput {
    private static final Duration PAUSE = Duration.ofMillis(100);
    private static final Duration LAST_LINES = Duration.ofSeconds(3);
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(1);
    private static final int CHUNK = 32 << 10;

    /** How often a log may be shorter than what was copied of it before it is taken for a new one: rotation marks its copies last. */
    private static final int MOST_SHORT = 2;

    private final Path log;
    private final boolean wanted;
    private final String target;
    private final Path position;
    private final HostLog host;
    private final Thread thread;
    private volatile boolean finishing;
    private volatile boolean ended;

    // Of the copying thread alone.
    private long offset;
    private int lookedShort;

    /** Whether another look may find more, although nothing is written any more. */
    private boolean unsure;

    /**
     * Begins.
     *
     * @param target empty, or /dev/null: nobody wants it
     * @param position the file that says how far it came
     */
    TaskOutput(Path log, String target, Path position, HostLog host) {
        this.log = log;
        this.target = target;
        this.wanted = !target.isEmpty() && !target.equals("/dev/null");
        this.position = position;
        this.host = host;
        this.thread = Thread.ofVirtual().name("output").unstarted(this::copy);
        if (wanted) {
            thread.start();
        }
    }

    /** The task writes nothing more: returns when all is copied, or nobody takes it. */
    void finish() {
        finishing = true;
        if (!wanted) {
            return;
        }
        try {
            thread.join(LAST_LINES);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The task is gone. */
    void forget() {
        ended = true;
        finish();
        try {
            Files.deleteIfExists(position);
        } catch (IOException e) {
            host.warn("cannot remove " + position + ": " + e.getMessage());
        }
    }

    private void copy() {
        boolean begun = false;
        boolean warned = false;
        ByteBuffer rest = ByteBuffer.allocate(CHUNK).limit(0);
        try (PipeEnd pipe = new PipeEnd(target)) {
            while (!ended) {
                try {
                    if (!begun) {
                        offset = offset();
                        begun = true;
                    }
                    if (!rest.hasRemaining() && !read(rest)) {
                        if (finishing && !unsure) {
                            return;
                        }
                        Thread.sleep(PAUSE);
                        continue;
                    }
                    int written = pipe.write(rest);
                    if (written > 0) {
                        offset += written;
                        remember(offset);
                    } else {
                        Thread.sleep(PAUSE);
                    }
                } catch (IOException e) {
                    if (!warned) {
                        host.warn("output of a task is not copied to " + target + " for now: " + e.getMessage());
                        warned = true;
                    }
                    Thread.sleep(PAUSE_AFTER_FAILURE);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Reads what comes next; false when there is nothing new now. The log's directory is the task's: no link is followed. */
    private boolean read(ByteBuffer into) throws IOException {
        into.limit(0);
        unsure = true;
        ImmutableList<Moved> moved = moved();
        ByteBuffer piece = ByteBuffer.allocate(into.capacity());
        long from = offset;
        boolean isShort = false;
        Moved next = moved.stream()
                .filter(one -> one.extent().end() > offset)
                .findFirst()
                .orElse(null);
        try {
            if (next != null) {
                // What lies before it was given up.
                from = Math.max(offset, next.extent().begin());
                long left = next.extent().end() - from;
                read(next.copy(), from - next.extent().begin(), piece.limit((int) Math.min(piece.capacity(), left)));
            } else {
                long base = moved.isEmpty() ? 0 : moved.getLast().extent().end();
                isShort = read(log, offset - base, piece);
                if (isShort && lookedShort >= MOST_SHORT) {
                    // Nothing says what became of the rest: it is another log.
                    offset = base;
                    lookedShort = 0;
                    return false;
                }
            }
        } catch (NoSuchFileException e) {
            // Nothing was written yet, or a copy was renamed just now.
            unsure = next != null;
            return false;
        }
        if (!moved().equals(moved)) {
            // It was rotated meanwhile.
            return false;
        }
        lookedShort = isShort ? lookedShort + 1 : 0;
        unsure = isShort;
        if (piece.position() == 0) {
            return false;
        }
        offset = from;
        into.clear().put(piece.flip()).flip();
        return true;
    }

    /** Returns whether the file ends before that place. */
    private static boolean read(Path file, long place, ByteBuffer into) throws IOException {
        try (FileChannel channel = PinnedFile.read(file)) {
            int _ = channel.read(into, place);
            return channel.size() < place;
        }
    }

    /** A copy after which the log has been emptied. */
    private record Moved(Path copy, Extent extent) {}

    /** Oldest first. */
    private ImmutableList<Moved> moved() throws IOException {
        ImmutableList.Builder<Moved> moved = ImmutableList.builder();
        for (Path copy : LogRotation.copies(log)) {
            LogRotation.extent(copy).ifPresent(extent -> moved.add(new Moved(copy, extent)));
        }
        return moved.build();
    }

    private long offset() throws IOException {
        try {
            return Long.parseLong(Files.readString(position).strip());
        } catch (NoSuchFileException e) {
            return 0;
        } catch (NumberFormatException e) {
            host.warn(position + " says nothing; what was copied before is copied again");
            return 0;
        }
    }

    private void remember(long offset) throws IOException {
        @Nullable Path directory = position.getParent();
        if (directory != null) {
            Files.createDirectories(directory);
        }
        Path unfinished = position.resolveSibling(position.getFileName() + ".new");
        Files.write(unfinished, Long.toString(offset).getBytes(StandardCharsets.US_ASCII));
        Files.move(unfinished, position, StandardCopyOption.ATOMIC_MOVE);
    }
}
