package io.homeostat.observe.process;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A pseudo-terminal, pty(7): what is written here is typed there. For several threads. */
public final class PseudoTerminal implements AutoCloseable {
    /** What a terminal takes for the end of its input, at the beginning of a line. */
    public static final byte END_OF_INPUT = 4;

    private static final int EIO = 5;

    private final int master;
    private final String device;
    /** How many are reading or writing: the descriptor's number is not to become another file's under them. */
    private int users;

    private boolean closed;

    private PseudoTerminal(int master, String device) {
        this.master = master;
        this.device = device;
    }

    public static PseudoTerminal open() throws IOException {
        int master = Libc.openTerminal();
        if (master < 0) {
            throw new IOException("no pseudo-terminal can be had: posix_openpt(3): error " + -master);
        }
        int number = Libc.unlockTerminal(master);
        if (number < 0) {
            int _ = Libc.close(master);
            throw new IOException("a pseudo-terminal can't be used: ioctl(2): error " + -number);
        }
        return new PseudoTerminal(master, "/dev/pts/" + number);
    }

    /** The file that a program has as its terminal. */
    public String device() {
        return device;
    }

    private synchronized boolean begin() {
        if (!closed) {
            users++;
        }
        return !closed;
    }

    private synchronized void end() {
        users--;
        release();
    }

    private void release() {
        if (closed && users == 0) {
            int _ = Libc.close(master);
        }
    }

    /** Waits for output; 0 when nobody has the terminal open any more. Pins its thread. */
    public int read(byte[] into) throws IOException {
        if (!begin()) {
            return 0;
        }
        try {
            while (true) {
                int length = Libc.read(master, ByteBuffer.wrap(into));
                if (length == -EIO) {
                    return 0;
                }
                if (length >= 0) {
                    return length;
                }
                if (length != -Libc.EINTR) {
                    throw new IOException("read(2): error " + -length);
                }
            }
        } finally {
            end();
        }
    }

    /**
     * Types.
     *
     * @throws IOException when nobody has the terminal open any more, or it was closed
     */
    public void write(byte[] bytes) throws IOException {
        if (!begin()) {
            throw new IOException("the terminal is closed");
        }
        try {
            ByteBuffer left = ByteBuffer.wrap(bytes);
            while (left.hasRemaining()) {
                int written = Libc.write(master, left);
                if (written >= 0) {
                    left.position(left.position() + written);
                } else if (written != -Libc.EINTR) {
                    throw new IOException("write(2): error " + -written);
                }
            }
        } finally {
            end();
        }
    }

    /** Whoever runs in it is told by SIGWINCH. Of one that was closed nothing changes. */
    public void resize(int rows, int columns) throws IOException {
        if (!begin()) {
            return;
        }
        try {
            int result = Libc.resizeTerminal(master, rows, columns);
            if (result < 0) {
                throw new IOException("ioctl(2): error " + -result);
            }
        } finally {
            end();
        }
    }

    /** Whoever reads or writes goes on until that is done. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            release();
        }
    }
}
