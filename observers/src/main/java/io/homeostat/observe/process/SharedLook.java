package io.homeostat.observe.process;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One costly look for all who ask at the same time. The answer never comes from a look that began before the question: whoever
 * asks while one is under way gets the next, together with everybody else who asked meanwhile. Nothing is kept when nobody asks.
 */
final class SharedLook<T> {
    /** Looks. */
    interface Eyes<T> {
        T look() throws IOException;
    }

    private final Eyes<T> eyes;
    private final AtomicInteger asking = new AtomicInteger();
    private final AtomicLong begun = new AtomicLong();
    /** Held by whoever looks; guards what was seen. */
    private final Lock turn = new ReentrantLock();

    private @Nullable T seen;
    private long number;

    SharedLook(Eyes<T> eyes) {
        this.eyes = eyes;
    }

    /** @throws IOException when this caller's own look failed; who waits behind it tries again */
    T answer() throws IOException {
        asking.incrementAndGet();
        long firstThatIsNewEnough = begun.get() + 1;
        turn.lock();
        try {
            T known = seen;
            if (known != null && number >= firstThatIsNewEnough) {
                return known;
            }
            seen = null;
            number = begun.incrementAndGet();
            T fresh = eyes.look();
            seen = fresh;
            return fresh;
        } finally {
            if (asking.decrementAndGet() == 0) {
                seen = null;
            }
            turn.unlock();
        }
    }
}
