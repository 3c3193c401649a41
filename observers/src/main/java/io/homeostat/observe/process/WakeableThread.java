package io.homeostat.observe.process;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A daemon for work at a socket whose other end is somebody else's, who can have it wait in the kernel for as long as they like: descriptors
 * that are passed over a unix socket and that nobody takes are closed by whoever reads it or closes it, unix(7), and to close that of a TCP
 * connection takes as long as its user has set (SO_LINGER, socket(7)). On a virtual thread that would pin the carrier.
 */
public final class WakeableThread extends Thread {
    private static final Logger LOG = LoggerFactory.getLogger(WakeableThread.class);
    private static final Duration AGAIN = Duration.ofMillis(200);

    /** The time that closing may take before it is interrupted. */
    private static final Duration CLOSING = Duration.ofSeconds(1);

    private volatile @Nullable Runnable waker;

    /** Creates a thread that is not started yet. */
    public WakeableThread(String name, Runnable work) {
        super(work, name);
        setDaemon(true);
    }

    /** Closes what belongs to such a socket, without waiting for it. */
    public static void close(Closeable socket) {
        WakeableThread closing = new WakeableThread("close", () -> {
            try {
                socket.close();
            } catch (IOException e) {
                LOG.debug("a connection could not be closed: {}", e.toString());
            }
        });
        closing.start();
        closing.wakeAfter(CLOSING);
    }

    @Override
    public void run() {
        waker = ThreadWaker.ofThisThread();
        try {
            super.run();
        } finally {
            waker = null;
        }
    }

    /** Interrupts whatever the thread does in the kernel after a while, again and again, until it has ended. */
    public void wakeAfter(Duration patience) {
        CompletableFuture.delayedExecutor(patience.toNanos(), TimeUnit.NANOSECONDS, Runnable::run)
                .execute(() -> {
                    Runnable known = waker;
                    if (isAlive()) {
                        if (known != null) {
                            known.run();
                        }
                        wakeAfter(AGAIN);
                    }
                });
    }
}
