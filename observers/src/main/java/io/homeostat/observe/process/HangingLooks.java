package io.homeostat.observe.process;

import com.google.common.collect.ImmutableSet;
import com.google.common.util.concurrent.Uninterruptibles;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The looks that were given up because they took too long, until they end: whoever asks first need not wait for the same thing again. For
 * many threads.
 *
 * @param <K> what is looked at
 */
public final class HangingLooks<K> {
    private final ConcurrentMap<K, Future<?>> hanging = new ConcurrentHashMap<>();

    /** Returns what was given up, and has not answered yet. */
    public ImmutableSet<K> hanging() {
        hanging.values().removeIf(Future::isDone);
        return ImmutableSet.copyOf(hanging.keySet());
    }

    /**
     * Waits for a look that has a thread of its own.
     *
     * @throws TimeoutException when it takes too long: it hangs from now on
     */
    public <T> T await(K thing, Future<T> look, Duration patience) throws ExecutionException, TimeoutException {
        try {
            return Uninterruptibles.getUninterruptibly(look, patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            hanging.put(thing, look);
            throw e;
        }
    }
}
