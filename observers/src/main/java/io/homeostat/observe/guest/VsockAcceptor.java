package io.homeostat.observe.guest;

import io.homeostat.observe.process.Libc;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens by vsock(7), in a guest for its host, or for others of this machine. Nothing else tells who calls, so that nobody is accepted
 * elsewhere: a program of any user of the guest, also in a container, could call by the loopback. One thread may accept.
 */
public final class VsockAcceptor implements TtrpcServer.Acceptor {
    private static final Logger LOG = LoggerFactory.getLogger(VsockAcceptor.class);

    /** VMADDR_CID_LOCAL and VMADDR_CID_HOST, vsock(7). */
    private static final int LOCAL = 1;

    private static final int HOST = 2;

    private final long caller;
    private final int descriptor;
    /** Becomes readable when this is closed: nothing else ends the wait for a connection. */
    private final int wake;

    /** Whether a refusal was logged: who is refused can come as often as it likes. */
    private boolean refused;

    private boolean accepting;
    private boolean closed;

    /**
     * @param cid an unsigned number: 1 for everybody on this machine, and nobody else; its own, or 2^32 - 1, for its host
     * @param port an unsigned number
     * @throws IOException when that can't be, with the reason
     */
    public VsockAcceptor(int cid, int port) throws IOException {
        caller = cid == LOCAL ? LOCAL : HOST;
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
            int connection;
            do {
                awaitConnection();
                connection = checked("accept4", Libc.accept(descriptor));
            } while (!admits(connection));
            return new VsockWire(connection);
        } finally {
            end();
        }
    }

    private void awaitConnection() throws IOException {
        int ready;
        do {
            ready = Libc.awaitInput(descriptor, wake);
        } while (ready == -Libc.EINTR);
        checked("poll", ready);
        if (!isOpen()) {
            throw new AsynchronousCloseException();
        }
    }

    /** Returns whether who has connected may call; else the connection is closed. Called by the thread that accepts. */
    boolean admits(int connection) {
        long peer = Libc.vsockPeer(connection);
        if (peer == caller) {
            return true;
        }
        int _ = Libc.close(connection);
        String who = peer < 0 ? Libc.words((int) -peer) : "cid " + peer;
        if (refused) {
            LOG.debug("a caller by vsock is refused again: {}", who);
        } else {
            LOG.warn(
                    "a caller by vsock is refused ({}): only cid {} is served here; further ones are not logged",
                    who,
                    caller);
            refused = true;
        }
        return false;
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
