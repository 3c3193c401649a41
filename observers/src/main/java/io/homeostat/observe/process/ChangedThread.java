package io.homeostat.observe.process;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/**
 * Work that changes the thread that does it for good: its rights, {@link Libc#becomeForFiles}, or its namespaces. It gets a new thread,
 * which ends with it.
 *
 * <p>A thread begins with the rights and namespaces of the one that starts it. To wake a virtual thread can be to start a carrier for it,
 * which would then do the work of all others with what was meant for this one. So the changed thread wakes only a platform thread,
 * and that one whoever waits for the result.
 */
public final class ChangedThread {
    private ChangedThread() {}

    /**
     * Starts such work.
     *
     * @param name of the threads
     */
    public static <T> CompletableFuture<T> run(String name, Callable<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Future<?> _ = start(name, () -> {
            try {
                result.complete(start(name, work).get());
            } catch (ExecutionException e) {
                result.completeExceptionally(e.getCause());
            } catch (InterruptedException | RuntimeException | Error e) {
                // Such as: no thread can be started. Nobody must wait for that.
                result.completeExceptionally(e);
            }
            return null;
        });
        return result;
    }

    /** Starts work that leaves its thread, a new platform thread, as it is: whoever waits is woken by that thread itself. */
    public static <T> Future<T> start(String name, Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofPlatform().daemon().name(name).start(task);
        return task;
    }
}
