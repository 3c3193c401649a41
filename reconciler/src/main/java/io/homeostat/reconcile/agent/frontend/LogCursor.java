package io.homeostat.reconcile.agent.frontend;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.actuate.launch.LogRotation.Extent;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Reads all that was ever written to a workload's log, in the copies that rotation has made if need be; only what rotation has given up is
 * missing. How far it was taken is written down, so that another instance goes on from there. The log's directory may be the workload's: no
 * link is followed. For one thread.
 */
public final class LogCursor {
    /** How often a log may be shorter than what was read of it before it is taken for a new one: rotation marks its copies last. */
    private static final int MOST_SHORT = 2;

    private final Path log;
    private final Path position;
    private boolean begun;
    private long offset;
    private int lookedShort;

    /** Whether another look may find more, although nothing is written any more. */
    private boolean unsure;

    private long givenUp;

    /** @param position the file that says how far it came; its directory has to be there */
    public LogCursor(Path log, Path position) {
        this.log = log;
        this.position = position;
    }

    /** Whether another read may find more, although nothing is written any more. */
    public boolean isUnsure() {
        return unsure;
    }

    /** So many bytes of what was read last were taken. */
    public void taken(int bytes) throws IOException {
        offset += bytes;
        remember();
    }

    /** How many bytes rotation had given up before they could be read, of what lies before what was read last; asked once for each. */
    public long givenUp() {
        long bytes = givenUp;
        givenUp = 0;
        return bytes;
    }

    /** Nothing is read any more. */
    public void forget() throws IOException {
        Files.deleteIfExists(position);
    }

    /**
     * Reads what comes next, as much of it as there is room for; false when there is nothing new now. The same again, until it is said how
     * much of it was taken.
     */
    public boolean read(ByteBuffer into) throws IOException {
        begin();
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
        givenUp += from - offset;
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

    private void begin() throws IOException {
        if (begun) {
            return;
        }
        try {
            offset = Long.parseLong(Files.readString(position).strip());
        } catch (NoSuchFileException e) {
            offset = 0;
        } catch (NumberFormatException e) {
            // Somebody has damaged it: twice is better than never.
            offset = 0;
        }
        begun = true;
    }

    private void remember() throws IOException {
        Path unfinished = position.resolveSibling(position.getFileName() + ".new");
        Files.write(unfinished, Long.toString(offset).getBytes(StandardCharsets.US_ASCII));
        Files.move(unfinished, position, StandardCopyOption.ATOMIC_MOVE);
    }
}
