package io.homeostat.reconcile.runtime.kata;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Time that stands still until a test moves it. A thread that sleeps goes on after a moment; only sleeps of the test's own thread move the
 * time, and only after {@link #pass}.
 */
final class FakeTiming implements GuestTiming {
    /** A real moment, in which other threads run. */
    private static final long MOMENT = 200_000;

    private static final long LONGEST_SECONDS = 60;

    private final Thread owner = Thread.currentThread();
    private final AtomicLong now = new AtomicLong();
    private final Queue<Runnable> atSleeps = new ArrayDeque<>();
    private final List<Duration> timeouts = new CopyOnWriteArrayList<>();
    private volatile boolean passes;

    /** Lets sleeps of this thread, and waits that end without a result, take their time. */
    void pass() {
        passes = true;
    }

    /** Those that calls were to have. */
    List<Duration> timeouts() {
        return timeouts;
    }

    void advance(Duration duration) {
        now.addAndGet(duration.toNanos());
    }

    /** Runs an action when this thread sleeps or waits for the next time, one action for each time. */
    void atNextSleep(Runnable action) {
        atSleeps.add(action);
    }

    @Override
    public long read() {
        return now.get();
    }

    @Override
    public void sleep(Duration duration) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted");
        }
        if (owner.equals(Thread.currentThread())) {
            act();
            if (passes) {
                advance(duration);
                return;
            }
        }
        LockSupport.parkNanos(MOMENT);
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted");
        }
    }

    /** Long enough for a machine that is busy: no test waits for a call that is not answered. */
    @Override
    public Duration callTimeout(Duration timeout) {
        timeouts.add(timeout);
        return Duration.ofMinutes(10);
    }

    private void act() {
        Runnable action = atSleeps.poll();
        if (action != null) {
            action.run();
        }
    }

    /** Waits for as long as it takes, unless time passes: then only what is there already counts. */
    @Override
    public boolean await(CompletableFuture<?> future, Duration timeout) throws InterruptedException {
        if (owner.equals(Thread.currentThread())) {
            act();
        }
        if (passes && !future.isDone()) {
            if (owner.equals(Thread.currentThread())) {
                advance(timeout);
            }
            return false;
        }
        try {
            Object _ = future.get(LONGEST_SECONDS, TimeUnit.SECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }
}
