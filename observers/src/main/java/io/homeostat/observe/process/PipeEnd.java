package io.homeostat.observe.process;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * The writing end of a named pipe, or a file that is appended to. Never waits: without a reader, or when that has no room, nothing is
 * written; a reader that comes back is written to again. No link is followed. For one thread.
 */
public final class PipeEnd implements AutoCloseable {
    private static final int ENOENT = 2;
    private static final int ENXIO = 6;
    private static final int EAGAIN = 11;
    private static final int EPIPE = 32;
    private static final int NONE = -1;

    /** S_IFMT and S_IFIFO, inode(7). */
    private static final int TYPE = 0170000;

    private static final int FIFO = 0010000;

    private final String path;
    private int descriptor = NONE;

    /** Opens it with the first write. */
    public PipeEnd(String path) {
        this.path = path;
    }

    /**
     * How many bytes were written, which are taken from the buffer; 0 when nobody takes any now.
     *
     * @throws IOException when it is neither a pipe nor a file with one name: whoever may write to its directory could lead us anywhere
     */
    public int write(ByteBuffer bytes) throws IOException {
        if (descriptor == NONE) {
            int opened = open();
            if (opened == -ENXIO || opened == -ENOENT || opened == -Libc.EINTR) {
                return 0;
            }
            if (opened < 0) {
                throw new IOException("open(2): error " + -opened);
            }
            descriptor = opened;
        }
        int written = Libc.write(descriptor, bytes);
        if (written >= 0) {
            bytes.position(bytes.position() + written);
            return written;
        }
        if (written == -EPIPE) {
            close();
            return 0;
        }
        if (written == -EAGAIN || written == -Libc.EINTR) {
            return 0;
        }
        throw new IOException("write(2): error " + -written);
    }

    private int open() throws IOException {
        try (PinnedFile file = PinnedFile.of(Path.of(path))) {
            PinnedFile.Facts facts = file.facts();
            boolean isPipe = ((int) Files.getAttribute(file.path(), "unix:mode") & TYPE) == FIFO;
            if (!isPipe && !(facts.basic().isRegularFile() && facts.names() == 1)) {
                throw new FileSystemException(path, null, "it is neither a named pipe nor a file with one name");
            }
            return Libc.openToAppend(file.path().toString());
        } catch (NoSuchFileException e) {
            return -ENOENT;
        }
    }

    @Override
    public void close() {
        if (descriptor != NONE) {
            int _ = Libc.close(descriptor);
            descriptor = NONE;
        }
    }
}
