package io.homeostat.desired.remote;

import com.google.common.base.Throwables;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Bounds how long something may take that waits for a server, on a virtual thread of its own, which is interrupted when the time is over. */
final class TimeLimit {
    private TimeLimit() {}

    /**
     * Does the work.
     *
     * @throws IOException what the work throws, or that it was not done in time
     * @throws FetchFailure what the work throws
     */
    static <T> T within(Duration limit, Callable<T> work) throws IOException, FetchFailure, InterruptedException {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofVirtual().name("fetch").start(task);
        try {
            return task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
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
        }
    }
}
