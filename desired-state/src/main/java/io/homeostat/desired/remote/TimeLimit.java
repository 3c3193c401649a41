package io.homeostat.desired.remote;

import com.google.common.base.Stopwatch;
import com.google.common.base.Throwables;
import io.homeostat.desired.platform.VirtualThreads;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Bound of the time that work takes which waits for a server. Each piece of work is done on a virtual thread of its own, which is
 * interrupted when the time is over; the time between two pieces does not count.
 */
final class TimeLimit {
    private static final ThreadFactory THREADS = VirtualThreads.factory("source-");

    private final Duration limit;
    private long left;

    /** @param limit of all pieces of work together */
    TimeLimit(Duration limit) {
        this.limit = limit;
        this.left = limit.toNanos();
    }

    /**
     * Does one piece of the work.
     *
     * @throws IOException what the work throws, or that it was not done in time
     * @throws FetchFailure what the work throws
     */
    <T> T within(Callable<T> work) throws IOException, FetchFailure, InterruptedException {
        FutureTask<T> task = new FutureTask<>(work);
        Stopwatch time = Stopwatch.createStarted();
        THREADS.newThread(task).start();
        try {
            return task.get(left, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            // Not with the cause, which has no words.
            throw new IOException("no complete answer within " + limit.toSeconds() + " s");
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNull(e.getCause());
            Throwables.throwIfInstanceOf(cause, IOException.class);
            Throwables.throwIfInstanceOf(cause, FetchFailure.class);
            Throwables.throwIfInstanceOf(cause, InterruptedException.class);
            Throwables.throwIfUnchecked(cause);
            throw new IllegalStateException(cause);
        } finally {
            task.cancel(true);
            left -= time.elapsed(TimeUnit.NANOSECONDS);
        }
    }
}
