package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.concurrent.DefaultEventExecutor;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 1, unit = TimeUnit.MINUTES)
class KernelWaitsTest {
    private final Queue<Runnable> due = new ArrayDeque<>();
    private final AtomicInteger woken = new AtomicInteger();
    private final KernelWaits waits = new KernelWaits(() -> woken::incrementAndGet, due::add);
    private final EventExecutor thread = new DefaultEventExecutor();
    private final CountDownLatch free = new CountDownLatch(1);

    @AfterEach
    void end() {
        free.countDown();
        Future<?> _ = thread.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
    }

    private void hold() {
        thread.execute(() -> {
            try {
                free.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    /** After the thread has done all that it was given. */
    private void later() throws Exception {
        if (free.getCount() == 0) {
            thread.submit(() -> {}).get();
        }
        due.remove().run();
    }

    @Test
    void aThreadThatDoesNotAnswerIsWokenUntilItDoes() throws Exception {
        hold();
        waits.active(thread);
        later();
        assertEquals(0, woken.get());

        later();
        later();

        assertEquals(2, woken.get());
        free.countDown();
        later();
        later();
        assertEquals(2, woken.get());
        assertTrue(due.isEmpty());
    }

    @Test
    void oneThatAnswersIsAskedAsLongAsAnythingGoesOn() throws Exception {
        free.countDown();
        for (int time = 0; time < 100; time++) {
            waits.active(thread);
            assertEquals(1, due.size());
            later();
        }
        later();

        assertTrue(due.isEmpty());
        assertEquals(0, woken.get());
        waits.active(thread);
        assertEquals(1, due.size());
    }

    @Test
    void aThreadThatHasEndedIsNotAsked() throws Exception {
        waits.active(thread);
        thread.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).get();
        due.remove().run();

        assertTrue(due.isEmpty());
    }
}
