package io.homeostat.reconcile.command;

import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A log that is read from its beginning, then on from where it was left. A file that takes its place is read after it; one that
 * became shorter, because it was rotated, is read from its beginning again.
 */
public final class LogFile implements AutoCloseable {
    private static final int BUFFER = 64 * 1024;

    /** As much of what was read last is looked for where it was, in bytes: a line or two. */
    private static final int COMPARED = 256;

    /** No inode has this number. */
    private static final long NONE = 0;

    /** An open file as it is now, and how far it has been read. */
    record Place(long file, long size, long position, Instant changed) {}

    private final Path path;
    private @Nullable SeekableByteChannel channel;
    private @Nullable Object key;
    private Instant changed = Instant.EPOCH;

    /** What was moved into a copy before it was read; null when all of that has been read. */
    private @Nullable SeekableByteChannel rotated;

    /** The end of what was read last, and where that was. */
    private ByteBuffer readLast = ByteBuffer.allocate(0);

    private long readTo;

    /** Tells the copy that was the newest one when the file was last read. */
    private @Nullable String moved;

    public LogFile(Path path) {
        this.path = path;
    }

    /** Opens it; null when it is not there. */
    @Nullable
    Place place() throws IOException {
        if (channel == null) {
            open();
        }
        if (channel == null) {
            return null;
        }
        long file = NONE;
        try {
            file = (long) Files.getAttribute(path, "unix:ino", LinkOption.NOFOLLOW_LINKS);
            changed = Files.getLastModifiedTime(path, LinkOption.NOFOLLOW_LINKS).toInstant();
        } catch (NoSuchFileException e) {
            // What is open is still there.
        }
        return new Place(file, channel.size(), channel.position(), changed);
    }

    /** Goes on no earlier than there. */
    void notBefore(long position) throws IOException {
        if (channel != null && channel.position() < position) {
            channel.position(position);
        }
    }

    /** Goes on at the beginning of the line that has this offset, unless it has got further already. */
    void skipTo(long offset) throws IOException {
        if (channel == null || offset <= channel.position()) {
            return;
        }
        int length = (int) Math.min(BUFFER, offset);
        long from = offset - length;
        ByteBuffer buffer = read(channel, from, length);
        int line = buffer.position();
        while (line > 0 && buffer.get(line - 1) != '\n') {
            line--;
        }
        channel.position(from + line);
    }

    private static ByteBuffer read(SeekableByteChannel from, long position, int length) throws IOException {
        from.position(position);
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining() && from.read(buffer) >= 0) {
            // Until the buffer is full.
        }
        return buffer;
    }

    /**
     * Copies what was written since the last call; false when the file is not there.
     *
     * @throws CommandFailure when it is no file any more; its directory is the workload's own
     */
    public boolean copyTo(OutputStream out) throws IOException {
        copyTo(out, Long.MAX_VALUE);
        return channel != null;
    }

    /**
     * Copies what was written since the last call, about so many bytes of it at most; true when there may be more.
     *
     * @throws CommandFailure when it is no file any more; its directory is the workload's own
     */
    public boolean copyTo(OutputStream out, long most) throws IOException {
        long left = most - copyRotated(out, most);
        if (left <= 0) {
            return true;
        }
        // Before anything is read: a rotation that begins or goes on from now on makes it another one.
        String newest = newestCopy();
        BasicFileAttributes there = attributes();
        if (channel != null && (there == null || !there.fileKey().equals(key))) {
            left -= copy(channel, out, left);
            if (left <= 0) {
                return true;
            }
            close();
        }
        if (channel == null && there != null) {
            open();
        }
        if (channel != null) {
            boolean emptied =
                    channel.size() < channel.position() || (!Objects.equals(moved, newest) && hasOtherText(channel));
            if (emptied) {
                openRotated(channel.position());
                channel.position(0);
                moved = newest;
                left -= copyRotated(out, left);
                if (left <= 0) {
                    return true;
                }
            }
            left -= copy(channel, out, left);
            moved = newest;
            if (readTo != channel.position()) {
                readLast = lastOf(channel);
                readTo = channel.position();
            }
        }
        return left <= 0;
    }

    /** Whether what was read last is no longer there: it was emptied, and has grown as long again. */
    private boolean hasOtherText(SeekableByteChannel live) throws IOException {
        return readTo == live.position() && !readLast.equals(lastOf(live));
    }

    /** The end of what has been read. */
    private static ByteBuffer lastOf(SeekableByteChannel live) throws IOException {
        long end = live.position();
        int length = (int) Math.min(end, COMPARED);
        ByteBuffer last = read(live, end - length, length).flip();
        live.position(end);
        return last;
    }

    /** What was written before a rotation and after the last call is read first: it is in a copy that was not there then. */
    private void openRotated(long position) throws IOException {
        Path copy = LogRotation.newestCopy(path).orElse(null);
        if (copy == null || Objects.equals(moved, newestCopy())) {
            // Somebody else has emptied it.
            return;
        }
        try {
            rotated = PinnedFile.read(copy);
            rotated.position(endOfWhatWasRead(rotated, position));
        } catch (NoSuchFileException e) {
            // It has been dropped already.
        }
    }

    /** In a copy, whose beginning may have been given up: behind the text that was read last, or 0 when that is gone too. */
    private long endOfWhatWasRead(SeekableByteChannel copy, long position) throws IOException {
        int length = readLast.limit();
        if (readTo != position || length == 0) {
            return position;
        }
        // Where it was when nothing was given up, else the last of its kind: few were written since.
        for (long end = Math.min(position, copy.size()); end >= length; ) {
            int more = (int) Math.min(BUFFER, end - length);
            ByteBuffer text = read(copy, end - length - more, length + more);
            for (int at = more; at >= 0; at--) {
                if (text.slice(at, length).equals(readLast)) {
                    return end - more + at;
                }
            }
            end -= more + 1;
        }
        return 0;
    }

    private long copyRotated(OutputStream out, long most) throws IOException {
        if (rotated == null) {
            return 0;
        }
        long copied = copy(rotated, out, most);
        if (rotated.position() >= rotated.size()) {
            rotated.close();
            rotated = null;
        }
        return copied;
    }

    private @Nullable String newestCopy() throws IOException {
        Path copy = LogRotation.newestCopy(path).orElse(null);
        try {
            return copy == null ? null : LogRotation.identity(copy);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Leaves out all but the last lines of what is there; returns how many these are. The last one may not have ended yet. */
    public long skipToLast(long lines) throws IOException {
        if (channel == null) {
            open();
        }
        if (channel == null) {
            return 0;
        }
        long end = channel.size();
        if (lines == 0 || end == 0) {
            channel.position(end);
            return 0;
        }
        long found = 0;
        // Backwards, a buffer at a time; the line end at the very end begins no line.
        for (long at = end; at > 0; ) {
            int length = (int) Math.min(BUFFER, at);
            at -= length;
            ByteBuffer buffer = read(channel, at, length);
            for (int i = buffer.position() - 1; i >= 0; i--) {
                if (buffer.get(i) == '\n' && at + i < end - 1) {
                    found++;
                    if (found == lines) {
                        channel.position(at + i + 1);
                        return lines;
                    }
                }
            }
        }
        channel.position(0);
        return found + 1;
    }

    /** Neither a symlink nor a FIFO is opened. */
    private @Nullable BasicFileAttributes attributes() throws IOException {
        try {
            BasicFileAttributes attributes =
                    Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (!attributes.isRegularFile()) {
                throw new CommandFailure(
                        path + " is no longer the file that the workload was given; the workload replaced it");
            }
            return attributes;
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Leaves it for the next time when the file is replaced just now: which one was opened would not be known. */
    private void open() throws IOException {
        BasicFileAttributes before = attributes();
        if (before == null) {
            return;
        }
        SeekableByteChannel opened;
        moved = newestCopy();
        try {
            opened = PinnedFile.read(path);
        } catch (NoSuchFileException e) {
            return;
        }
        BasicFileAttributes after = attributes();
        if (after != null && after.fileKey().equals(before.fileKey())) {
            channel = opened;
            key = after.fileKey();
        } else {
            opened.close();
        }
    }

    private long copy(SeekableByteChannel from, OutputStream out, long most) throws IOException {
        if (from.position() >= from.size()) {
            return 0;
        }
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
        long copied = 0;
        while (copied < most && from.read(buffer) > 0) {
            out.write(buffer.array(), 0, buffer.position());
            copied += buffer.position();
            buffer.clear();
        }
        return copied;
    }

    @Override
    public void close() throws IOException {
        if (rotated != null) {
            rotated.close();
            rotated = null;
        }
        if (channel != null) {
            channel.close();
            channel = null;
            key = null;
        }
    }
}
