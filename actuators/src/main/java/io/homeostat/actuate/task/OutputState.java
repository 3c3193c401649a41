package io.homeostat.actuate.task;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * How far the output of a task has been copied.
 *
 * @param number of this state; the one with the larger number is newer
 * @param out of what it writes to standard output
 * @param err of what it writes to standard error
 * @param pending what was about to be appended when this was written; null when nothing was
 */
record OutputState(
        long number, Source out, Source err, @Nullable Pending pending) {
    static final int SOURCES = 2;

    /** Two places in turn, so that one is whole at any moment. They are there from the beginning: a full disk can't keep us from writing. */
    private static final int PLACE = 128;

    private static final int PLACES = 2;
    private static final long MAGIC = 0x686f6d656f6f7574L;

    /**
     * A file that the task writes to.
     *
     * @param inode by which it was created
     * @param copied up to which position
     */
    record Source(long inode, long copied) {}

    /**
     * The bytes that begin at {@link Source#copied} and were about to be appended.
     *
     * @param source 0 or 1
     * @param log inode of the log
     * @param position where they begin in all that was ever written to the log
     */
    record Pending(int source, int length, long log, long position) {}

    Source source(int index) {
        return index == 0 ? out : err;
    }

    /** The next one, with this source copied so far. */
    OutputState with(int index, long copied, @Nullable Pending next) {
        Source moved = new Source(source(index).inode(), copied);
        return new OutputState(number + 1, index == 0 ? moved : out, index == 0 ? err : moved, next);
    }

    void write(FileChannel file, OutputSteps steps) throws IOException {
        ByteBuffer place = ByteBuffer.allocate(PLACE)
                .putLong(MAGIC)
                .putLong(number)
                .putLong(out.inode())
                .putLong(out.copied())
                .putLong(err.inode())
                .putLong(err.copied())
                .putInt(pending == null ? -1 : pending.source())
                .putInt(pending == null ? 0 : pending.length())
                .putLong(pending == null ? 0 : pending.log())
                .putLong(pending == null ? 0 : pending.position());
        place.putLong(checksum(place));
        steps.write(file, place.clear(), number % PLACES * PLACE);
    }

    /** Opens it, for us alone to write; empty when there is none. */
    static Optional<FileChannel> open(Path file) throws IOException {
        try {
            return Optional.of(FileChannel.open(
                    file, Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** The newest whole one; empty when there is none, as a power failure may leave it. */
    static Optional<OutputState> read(FileChannel file) throws IOException {
        Optional<OutputState> newest = Optional.empty();
        for (int index = 0; index < PLACES; index++) {
            ByteBuffer place = ByteBuffer.allocate(PLACE);
            if (file.read(place, (long) index * PLACE) == PLACE) {
                Optional<OutputState> read = parse(place.flip());
                if (read.isPresent()
                        && (newest.isEmpty()
                                || newest.get().number() < read.get().number())) {
                    newest = read;
                }
            }
        }
        return newest;
    }

    private static Optional<OutputState> parse(ByteBuffer place) {
        long magic = place.getLong();
        long number = place.getLong();
        Source out = new Source(place.getLong(), place.getLong());
        Source err = new Source(place.getLong(), place.getLong());
        int source = place.getInt();
        Pending pending = new Pending(Math.max(0, source), place.getInt(), place.getLong(), place.getLong());
        boolean whole = checksum(place) == place.getLong();
        return magic == MAGIC && whole
                ? Optional.of(new OutputState(number, out, err, source < 0 ? null : pending))
                : Optional.empty();
    }

    /** Of what precedes the buffer's position. */
    private static long checksum(ByteBuffer place) {
        CRC32 sum = new CRC32();
        sum.update(place.duplicate().flip());
        return sum.getValue();
    }
}
