package io.homeostat.actuate.archive;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An archive that is being downloaded, for who reads it meanwhile and closes it. Its end is reached only when all of it has arrived and has
 * the declared checksum: whoever has read it to its end has read what was declared.
 */
public final class ArrivingArchive implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(ArrivingArchive.class);

    private final String key;
    private final FileChannel channel;
    private final long total;
    private State state = State.ARRIVING;
    private long arrived;

    private enum State {
        ARRIVING,
        COMPLETE,
        BROKEN
    }

    /**
     * @param key the checksum that was declared
     * @param file where it arrives, at first from its beginning
     * @param total bytes, as announced
     */
    public ArrivingArchive(String key, Path file, long total) throws IOException {
        this.key = key;
        this.total = total;
        // Opened before the file gets another name.
        this.channel = FileChannel.open(file, StandardOpenOption.READ);
    }

    public String key() {
        return key;
    }

    public long total() {
        return total;
    }

    /** How many bytes are there. */
    public synchronized long present() {
        return arrived;
    }

    /** So many bytes are there. */
    public synchronized void arrived(long length) {
        arrived = length;
        notifyAll();
    }

    /** All bytes are there, and have the declared checksum. */
    public synchronized void complete() {
        state = State.COMPLETE;
        notifyAll();
    }

    /** What has arrived is of no use, or no more will come. */
    public synchronized void breakOff() {
        if (state == State.ARRIVING) {
            state = State.BROKEN;
            notifyAll();
        }
    }

    public synchronized boolean isComplete() {
        return state == State.COMPLETE;
    }

    /** All of it from its beginning, as it arrives. Used by one thread; closed with the archive. */
    public InputStream read() {
        return new Reading();
    }

    /** Waits for bytes after this position; 0 at the end. */
    private synchronized long await(long position) throws IOException {
        try {
            while (state == State.ARRIVING && arrived <= position) {
                wait();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
        if (state == State.BROKEN) {
            throw new IOException("its download has broken off");
        }
        return arrived - position;
    }

    public boolean isClosed() {
        return !channel.isOpen();
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("closing what was only read failed", e);
        }
    }

    private final class Reading extends InputStream {
        private long position;

        @Override
        public int read(byte[] into, int offset, int count) throws IOException {
            if (count == 0) {
                return 0;
            }
            long there = await(position);
            if (there <= 0) {
                return -1;
            }
            int got = channel.read(ByteBuffer.wrap(into, offset, (int) Math.min(count, there)), position);
            if (got < 0) {
                throw new IOException("it became shorter while it was read");
            }
            position += got;
            return got;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }
    }
}
