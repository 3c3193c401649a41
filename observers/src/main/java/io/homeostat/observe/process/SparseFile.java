package io.homeostat.observe.process;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** An open regular file of which one knows where it has data, and may give its beginning back to the disk. */
public final class SparseFile implements AutoCloseable {
    private static final int ENXIO = 6;

    private final Path file;
    private final PinnedFile held;
    private final FileChannel channel;
    private final long inode;

    private SparseFile(Path file, PinnedFile held, FileChannel channel, long inode) {
        this.file = file;
        this.held = held;
        this.channel = channel;
        this.inode = inode;
    }

    /**
     * Opens a regular file, and nothing that it has been replaced by.
     *
     * @throws NoSuchFileException when nothing has this name
     * @throws FileSystemException when it is something else, such as a symlink
     */
    public static SparseFile open(Path file) throws IOException {
        return open(file, PinnedFile.O_RDWR);
    }

    /** As {@link #open(Path)}, only to be read: nothing can be given back. */
    public static SparseFile read(Path file) throws IOException {
        return open(file, PinnedFile.O_RDONLY);
    }

    private static SparseFile open(Path file, int mode) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(file)) {
            PinnedFile held = pinned.held(file.toString(), mode);
            try {
                return new SparseFile(file, held, FileChannel.open(held.path(), StandardOpenOption.READ), (long)
                        Files.getAttribute(held.path(), "unix:ino"));
            } catch (IOException e) {
                held.close();
                throw e;
            }
        }
    }

    /** The number of the file on its file system. */
    public long inode() {
        return inode;
    }

    /** In bytes, holes included. */
    public long size() throws IOException {
        return channel.size();
    }

    /** Where data begins at or after a position; negative when there is none. */
    public long nextData(long from) throws IOException {
        long found = Libc.seekData(held.number(), from);
        if (found < 0 && found != -ENXIO) {
            throw failed("looking for data", file, (int) -found);
        }
        return found;
    }

    /** Where the data ends that begins at a position: at a hole, or at the end of the file. */
    public long endOfData(long from) throws IOException {
        long found = Libc.seekHole(held.number(), from);
        if (found == -ENXIO) {
            return from;
        }
        if (found < 0) {
            throw failed("looking for a hole", file, (int) -found);
        }
        return found;
    }

    /** Where the last data ends that begins before a position; 0 when there is none. As fast in a hole of terabytes as in a small one. */
    public long endOfDataBefore(long position) throws IOException {
        long data = -1;
        long end = position;
        // Between the last place from which data is found, and the first from which none is.
        for (long at = position - 1; data + 1 < end; at = data + (end - data) / 2) {
            long found = nextData(at);
            if (found >= 0 && found < position) {
                data = found;
            } else {
                end = at;
            }
        }
        return end;
    }

    /** Where {@link #read(ByteBuffer)} goes on. */
    public long position() throws IOException {
        return channel.position();
    }

    public void position(long position) throws IOException {
        channel.position(position);
    }

    /** Reads what comes next; returns how much, negative at the end. */
    public int read(ByteBuffer into) throws IOException {
        return channel.read(into);
    }

    /** Reads at a position; returns how much, negative at the end. */
    public int read(ByteBuffer into, long position) throws IOException {
        return channel.read(into, position);
    }

    /**
     * Makes a hole, fallocate(2): the size stays, whole blocks are given back.
     *
     * @throws FileSystemException when the file system refuses or can't
     */
    public void punch(long from, long to) throws IOException {
        int result = Libc.punchHole(held.number(), from, to - from);
        if (result < 0) {
            throw failed("giving its beginning back", file, -result);
        }
    }

    @Override
    public void close() throws IOException {
        try (held) {
            channel.close();
        }
    }

    private static FileSystemException failed(String what, Path file, int error) {
        return new FileSystemException(file.toString(), null, what + " failed with errno " + error);
    }
}
