package io.homeostat.reconcile.agent.frontend;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;

/** Lets calls pass until a test is over: then whoever calls waits without end, and changes no file any more. */
public final class Gate {
    private final AtomicInteger inside = new AtomicInteger();
    private volatile boolean closed;

    /** Passes one call; {@link #leave} has to follow. */
    public void enter() {
        inside.incrementAndGet();
        if (closed) {
            inside.decrementAndGet();
            hold();
        }
    }

    public void leave() {
        inside.decrementAndGet();
    }

    /** Returns when nobody is inside; nobody gets there any more. */
    public void close() {
        closed = true;
        Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> inside.get() == 0);
    }

    /** Holds the calling thread without end. */
    public static void hold() {
        while (true) {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                // It is not told anything else.
                continue;
            }
        }
    }
}
