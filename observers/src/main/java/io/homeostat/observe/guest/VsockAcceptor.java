package io.homeostat.observe.guest;

import io.homeostat.observe.process.Libc;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;

/** Listens by vsock(7), in a guest or for others of this machine. One thread may accept. */
public final class VsockAcceptor implements TtrpcServer.Acceptor {
    private final int descriptor;
    /** Becomes readable when this is closed: nothing else ends the wait for a connection. */
    private final int wake;

    private boolean accepting;
    private boolean closed;

    /**
     * @param cid an unsigned number: 1 for this machine alone, 2^32 - 1 for whoever can reach it
     * @param port an unsigned number
     * @throws IOException when that can't be, with the reason
     */
    public VsockAcceptor(int cid, int port) throws IOException {
        descriptor = checked("socket", Libc.vsockSocket());
        wake = Libc.eventfd();
        int result = wake < 0 ? wake : Libc.listenAtVsock(descriptor, cid, port);
        if (result < 0) {
            release();
            throw new IOException("port " + Integer.toUnsignedString(port) + " of vsock can't be listened at: "
                    + Libc.words(-result));
        }
    }

    private static int checked(String call, int result) throws IOException {
        if (result < 0) {
            throw new IOException(call + "(2): " + Libc.words(-result));
        }
        return result;
    }

    /** Pins its thread. */
    @Override
    public Wire accept() throws IOException {
        begin();
        try {
            int ready;
            do {
                ready = Libc.awaitInput(descriptor, wake);
            } while (ready == -Libc.EINTR);
            checked("poll", ready);
            if (!isOpen()) {
                throw new AsynchronousCloseException();
            }
            return new VsockWire(checked("accept4", Libc.accept(descriptor)));
        } finally {
            end();
        }
    }

    private synchronized void begin() throws AsynchronousCloseException {
        if (closed) {
            throw new AsynchronousCloseException();
        }
        accepting = true;
    }

    private synchronized void end() {
        accepting = false;
        if (closed) {
            release();
        }
    }

    private void release() {
        int _ = Libc.close(descriptor);
        if (wake >= 0) {
            int _ = Libc.close(wake);
        }
    }

    private synchronized boolean isOpen() {
        return !closed;
    }

    /** Whoever accepts stops. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            if (accepting) {
                int _ = Libc.notify(wake);
            } else {
                release();
            }
        }
    }
}
