package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.actuate.launch.LogRotation.Extent;
import io.homeostat.observe.process.SparseFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A log that is read from its beginning, then on from where it was left. A file that takes its place is read after it; one that
 * became shorter, because it was rotated, is read from its beginning again. Large parts that were never written are left out: the workload can
 * make them of any length, and they would take as long to read as if they had been.
 */
public final class LogFile implements AutoCloseable {
    private static final int BUFFER = 64 * 1024;

    /** A log that is rotated at each look must not keep us for ever. */
    private static final int MOST_LOOKS = 10;

    /** No inode has this number. */
    private static final long NONE = 0;

    /** An open file as it is now, and how far it has been read. */
    record Place(long file, long size, long position, Instant changed) {}

    private final Path path;
    private final boolean isCopy;
    private final Runnable betweenLooks;
    /** Of what is open. */
    private long inode = NONE;

    private @Nullable SparseFile channel;
    private @Nullable Object key;
    private Instant changed = Instant.EPOCH;

    /** What was moved into copies before it was read, oldest first. */
    private final Deque<SparseFile> rotated = new ArrayDeque<>();

    /** The copy that was the newest one when the file was last read. */
    private Copy newest = Copy.NONE;

    /** The copies at the last look, see {@link #marked()}. */
    private ImmutableList<Copy> marked = ImmutableList.of();

    /** How many bytes rotation has given up before they were read, since somebody asked. */
    private long givenUp;

    /** Whether what comes next does not follow what was read last. */
    private boolean gap;

    /** Whether what was read last ends within a line. */
    private boolean withinLine;

    /** Whether a rotation was just under way at the last look. */
    private boolean waited;

    /**
     * A copy.
     *
     * @param identity null when there is none
     * @param extent null while it is being made, or where the file system keeps none
     */
    private record Copy(@Nullable String identity, @Nullable Extent extent) {
        static final Copy NONE = new Copy(null, null);

        /** Whether the log has been emptied since it was made. */
        boolean isMarked() {
            return extent != null;
        }

        /** Where what follows it begins in all that was ever written; null when that is not known. */
        @Nullable
        Long end() {
            return identity == null ? Long.valueOf(0) : extent == null ? null : extent.end();
        }
    }

    /** What has been copied. */
    public enum Copied {
        /** All that there is. */
        ALL,
        /** As much as was asked for; there may be more. */
        ENOUGH,
        /** Not all: it is being rotated, and only a later call can tell what there is. */
        NOT_ALL
    }

    /** What to do after a look at the copies. */
    private enum Next {
        READ,
        /** It was rotated during the look. */
        LOOK_AGAIN,
        /** A rotation is under way, of which only a later call can tell what it has moved. */
        WAIT
    }

    public LogFile(Path path) {
        this(path, () -> {});
    }

    /** @param betweenLooks called when others may do anything before the next look at the same files */
    LogFile(Path path, Runnable betweenLooks) {
        this(path, false, betweenLooks);
    }

    private LogFile(Path path, boolean isCopy, Runnable betweenLooks) {
        this.path = path;
        this.isCopy = isCopy;
        this.betweenLooks = betweenLooks;
    }

    /** What rotation has moved away, as it is when it is opened: its name may be that of another copy soon. */
    static LogFile ofCopy(Path copy) {
        return new LogFile(copy, true, () -> {});
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
        if (!isCopy || inode == NONE) {
            try {
                inode = (long) Files.getAttribute(path, "unix:ino", LinkOption.NOFOLLOW_LINKS);
                changed = Files.getLastModifiedTime(path, LinkOption.NOFOLLOW_LINKS)
                        .toInstant();
            } catch (NoSuchFileException e) {
                // What is open is still there.
                inode = NONE;
            }
        }
        return new Place(inode, channel.size(), channel.position(), changed);
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

    private static ByteBuffer read(SparseFile from, long position, int length) throws IOException {
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
     * Copies what was written since the last call, about so many bytes of it at most.
     *
     * @throws CommandFailure when it is no file any more; its directory is the workload's own
     */
    public Copied copyTo(OutputStream out, long most) throws IOException {
        if (isCopy) {
            return channel != null && copy(channel, out, most) >= most ? Copied.ENOUGH : Copied.ALL;
        }
        long left = most - copyRotated(out, most);
        if (left <= 0) {
            return Copied.ENOUGH;
        }
        BasicFileAttributes there = attributes();
        if (channel != null && (there == null || !there.fileKey().equals(key))) {
            left -= copy(channel, out, left);
            if (left <= 0) {
                return Copied.ENOUGH;
            }
            close();
        }
        if (channel == null && there != null) {
            open();
        }
        for (int look = 0; look < MOST_LOOKS && channel != null; look++) {
            Next next = followRotation(channel);
            if (next == Next.WAIT) {
                return Copied.NOT_ALL;
            }
            if (next == Next.LOOK_AGAIN) {
                continue;
            }
            if (gap && withinLine) {
                // What comes next is the beginning of another one.
                out.write('\n');
            }
            gap = false;
            left -= copyRotated(out, left);
            while (left > 0) {
                ByteBuffer piece = piece(channel);
                if (piece == null) {
                    break;
                }
                if (piece.position() == 0) {
                    return Copied.ALL;
                }
                if (!skipHole(channel, piece)) {
                    write(piece, out);
                }
                left -= piece.position();
            }
            if (left <= 0) {
                return Copied.ENOUGH;
            }
        }
        return channel == null ? Copied.ALL : Copied.NOT_ALL;
    }

    /**
     * What comes next of the log; null when it was emptied since the last look, or may have been: whoever takes long over what was read
     * before may come to one that has grown beyond its former length again.
     */
    private @Nullable ByteBuffer piece(SparseFile live) throws IOException {
        long position = live.position();
        ByteBuffer piece = read(live, position, Math.clamp(live.size() - position, 0, BUFFER));
        betweenLooks.run();
        // In this order: whoever empties it marks its copy afterwards.
        if (live.size() >= position + piece.position() && marked().equals(marked)) {
            return piece;
        }
        live.position(position);
        return null;
    }

    /** How many bytes there were, since the last call, that rotation has given up before they were read. */
    public long givenUp() {
        long bytes = givenUp;
        givenUp = 0;
        return bytes;
    }

    /** Goes on at the beginning of a file that was emptied, after what was moved. */
    private Next followRotation(SparseFile live) throws IOException {
        // Before the copies: whoever empties it has copied it by then.
        boolean isShorter = live.size() < live.position();
        marked = marked();
        Copy last = newestCopy();
        Copy now = marked.isEmpty() ? last : marked.getLast();
        Long begin = newest.end();
        Extent moved = now.extent();
        betweenLooks.run();
        if (moved != null && begin != null && moved.end() > begin && !moved.equals(newest.extent())) {
            if (!openCopies(begin + live.position())) {
                return Next.LOOK_AGAIN;
            }
        } else if (isShorter && !last.isMarked() && !waited && !Objects.equals(last.identity(), newest.identity())) {
            waited = true;
            return Next.WAIT;
        } else if (isShorter || (moved != null && !moved.equals(newest.extent()))) {
            now = isShorter ? last : now;
            if (!Objects.equals(now.identity(), newest.identity())) {
                openNewest(live.position());
            }
        } else {
            return Next.READ;
        }
        waited = false;
        newest = now;
        live.position(0);
        return Next.READ;
    }

    /**
     * Of all that was ever written, what the copies hold of it from there on; false when they are no longer those of the last look, so that
     * one may be missing among them.
     */
    private boolean openCopies(long from) throws IOException {
        long next = from;
        long missing = 0;
        for (Path copy : LogRotation.copies(path)) {
            Extent extent = LogRotation.extent(copy).orElse(null);
            if (extent != null && extent.end() > next) {
                missing += Math.max(0, extent.begin() - next);
                open(copy, Math.max(0, next - extent.begin()));
                next = extent.end();
            }
        }
        if (!marked().equals(marked)) {
            closeRotated();
            return false;
        }
        givenUp += missing;
        gap |= missing > 0;
        return true;
    }

    /** What was written before a rotation and after the last call, if nothing was given up. */
    private void openNewest(long position) throws IOException {
        Path copy = LogRotation.newestCopy(path).orElse(null);
        if (copy != null) {
            open(copy, position);
        }
    }

    private void open(Path copy, long position) throws IOException {
        try {
            SparseFile moved = SparseFile.read(copy);
            rotated.add(moved);
            moved.position(position);
        } catch (NoSuchFileException e) {
            // It has been dropped already.
        }
    }

    private long copyRotated(OutputStream out, long most) throws IOException {
        long copied = 0;
        while (!rotated.isEmpty() && copied < most) {
            SparseFile oldest = rotated.getFirst();
            copied += copy(oldest, out, most - copied);
            if (oldest.position() >= oldest.size()) {
                rotated.removeFirst().close();
            }
        }
        return copied;
    }

    private Copy newestCopy() throws IOException {
        Path copy = LogRotation.newestCopy(path).orElse(null);
        return copy == null ? Copy.NONE : copy(copy);
    }

    private static Copy copy(Path copy) throws IOException {
        try {
            return new Copy(LogRotation.identity(copy), LogRotation.extent(copy).orElse(null));
        } catch (NoSuchFileException e) {
            return Copy.NONE;
        }
    }

    /** The copies after which the log has been emptied, oldest first: whenever that happens there is another one. */
    private ImmutableList<Copy> marked() throws IOException {
        ImmutableList.Builder<Copy> copies = ImmutableList.builder();
        for (Path there : LogRotation.copies(path)) {
            Copy copy = copy(there);
            if (copy.isMarked()) {
                copies.add(copy);
            }
        }
        return copies.build();
    }

    /** Leaves out what is there. */
    public void skipToEnd() throws IOException {
        if (channel == null) {
            open();
        }
        if (channel != null) {
            channel.position(channel.size());
        }
    }

    /**
     * Leaves out what is before the last lines; returns how many of them do not begin after a line end of this file: they are to be looked
     * for in the one before it, where the line with which this one begins may have begun, too. The last line may not have ended yet.
     *
     * @param last whether nothing follows this file, so that a line end at its very end begins no line
     */
    long skipToLast(long lines, boolean last) throws IOException {
        if (channel == null) {
            open();
        }
        if (channel == null) {
            return lines;
        }
        long end = channel.size();
        if (lines == 0) {
            channel.position(end);
            return 0;
        }
        long found = 0;
        // Backwards, a buffer at a time.
        for (long at = end; at > 0; ) {
            int length = (int) Math.min(BUFFER, at);
            at -= length;
            ByteBuffer buffer = read(channel, at, length);
            for (int i = buffer.position() - 1; i >= 0; i--) {
                if (buffer.get(i) == '\n' && (!last || at + i < end - 1)) {
                    found++;
                    if (found == lines) {
                        channel.position(at + i + 1);
                        return 0;
                    }
                }
            }
            if (isBlank(buffer)) {
                at = channel.endOfDataBefore(at);
            }
        }
        channel.position(0);
        return lines - found;
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
        SparseFile opened;
        marked = marked();
        newest = marked.isEmpty() ? newestCopy() : marked.getLast();
        try {
            opened = SparseFile.read(path);
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

    private long copy(SparseFile from, OutputStream out, long most) throws IOException {
        if (from.position() >= from.size()) {
            return 0;
        }
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
        long copied = 0;
        while (copied < most && from.read(buffer) > 0) {
            if (!skipHole(from, buffer)) {
                write(buffer, out);
            }
            copied += buffer.position();
            buffer.clear();
        }
        return copied;
    }

    /** Goes on behind a hole if what was read last is of one; returns whether it is. */
    private static boolean skipHole(SparseFile from, ByteBuffer piece) throws IOException {
        if (!isBlank(piece)) {
            return false;
        }
        long read = from.position();
        // Before the look: what is written after it must not be left out.
        long size = from.size();
        long begin = read - piece.position();
        long data = from.nextData(begin);
        if (data == begin) {
            return false;
        }
        from.position(data < 0 ? Math.max(read, size) : data);
        return true;
    }

    private static boolean isBlank(ByteBuffer piece) {
        for (int i = 0; i < piece.position(); i++) {
            if (piece.get(i) != 0) {
                return false;
            }
        }
        return true;
    }

    private void write(ByteBuffer piece, OutputStream out) throws IOException {
        byte[] bytes = new byte[piece.position()];
        piece.get(0, bytes);
        out.write(bytes);
        withinLine = piece.get(piece.position() - 1) != '\n';
    }

    private void closeRotated() throws IOException {
        while (!rotated.isEmpty()) {
            rotated.removeFirst().close();
        }
    }

    @Override
    public void close() throws IOException {
        closeRotated();
        if (channel != null) {
            channel.close();
            channel = null;
            key = null;
        }
    }
}
