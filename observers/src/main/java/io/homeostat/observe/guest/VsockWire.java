package io.homeostat.observe.guest;

import io.homeostat.observe.process.Libc;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;

/**
 * A connection by vsock(7), for which Java has no class. Whoever waits in it pins the carrier of a virtual thread, so it should be a
 * platform thread.
 */
final class VsockWire implements Wire {
    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

    private final int descriptor;
    /** How many are reading or writing: the descriptor's number is not to become another file's under them. */
    private int users;

    private boolean closed;

    /** @param descriptor of a socket that is connected; closed with this */
    VsockWire(int descriptor) {
        this.descriptor = descriptor;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        int length = transfer(into, Libc::readDirect);
        return length == 0 ? -1 : length;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        return transfer(from, (socket, buffer) -> {
            int sent = Libc.sendDirect(socket, buffer);
            return sent == -Libc.EAGAIN ? 0 : sent;
        });
    }

    @Override
    public void awaitRoom() throws IOException {
        int _ = transfer(NOTHING, (socket, _) -> Math.min(0, Libc.awaitOutput(socket)));
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

    private synchronized boolean isOpen() {
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
