package io.homeostat.observe.guest;

import io.homeostat.observe.process.Libc;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedChannelException;

/**
 * A connection by vsock(7), for which Java has no class. One thread may read and another write; both pin their carriers, so they should be
 * platform threads. Buffers have to be direct.
 */
final class VsockChannel implements ByteChannel {
    private final int descriptor;
    /** How many are reading or writing: the descriptor's number is not to become another file's under them. */
    private int users;

    private boolean closed;

    /** @param descriptor of a socket that is connected; closed with this */
    VsockChannel(int descriptor) {
        this.descriptor = descriptor;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        int length = transfer(into, Libc::readDirect);
        return length == 0 ? -1 : length;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        return transfer(from, Libc::sendDirect);
    }

    private interface Call {
        int make(int descriptor, ByteBuffer buffer);
    }

    private int transfer(ByteBuffer buffer, Call call) throws IOException {
        begin();
        int length;
        try {
            do {
                length = call.make(descriptor, buffer);
            } while (length == -Libc.EINTR);
        } finally {
            end();
        }
        if (!isOpen()) {
            throw new AsynchronousCloseException();
        }
        if (length < 0) {
            throw new IOException(Libc.words(-length));
        }
        buffer.position(buffer.position() + length);
        return length;
    }

    private synchronized void begin() throws ClosedChannelException {
        if (closed) {
            throw new ClosedChannelException();
        }
        users++;
    }

    private synchronized void end() {
        users--;
        release();
    }

    private void release() {
        if (closed && users == 0) {
            int _ = Libc.close(descriptor);
        }
    }

    @Override
    public synchronized boolean isOpen() {
        return !closed;
    }

    /** Whoever reads or writes stops. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            int _ = Libc.shutdown(descriptor);
            release();
        }
    }
}
