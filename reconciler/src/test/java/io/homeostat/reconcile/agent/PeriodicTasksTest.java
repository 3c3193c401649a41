package io.homeostat.reconcile.agent;

import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PeriodicTasksTest {
    private final PeriodicTasks tasks = new PeriodicTasks("test");

    @AfterEach
    void close() {
        tasks.close();
    }

    @Test
    void whatWaitsMostOfTheTimeHasNoThreadOfTheSystem() throws InterruptedException {
        BlockingQueue<Boolean> virtual = new LinkedBlockingQueue<>();
        tasks.soon("a piece", () -> virtual.add(Thread.currentThread().isVirtual()));

        assertEquals(Boolean.TRUE, virtual.poll(1, TimeUnit.MINUTES));
    }

    @Test
    void whatThrowsIsDoneAgainWhenItIsDue() {
        AtomicInteger times = new AtomicInteger();

        tasks.every(() -> Duration.ofMillis(1), "a test", () -> {
            if (times.incrementAndGet() < 3) {
                throw new IllegalStateException("not yet");
            }
        });

        await().atMost(Duration.ofSeconds(30)).until(() -> times.get() > 3);
    }

    @Test
    void anErrorStopsNothingEither() {
        AtomicInteger times = new AtomicInteger();

        tasks.every(() -> Duration.ofMillis(1), "a test", () -> {
            times.incrementAndGet();
            throw new AssertionError("worse");
        });

        await().atMost(Duration.ofSeconds(30)).until(() -> times.get() > 3);
    }

    @Test
    void whatTakesThePlaceOfAnotherIsDoneAndTheOtherIsNot() {
        AtomicInteger times = new AtomicInteger();
        CountDownLatch all = new CountDownLatch(1);
        // One piece at a time: none of those that follow begins before the last of them is there.
        tasks.soon("what comes before it", () -> awaitUninterruptibly(all));

        for (int i = 0; i < 100; i++) {
            tasks.instead(Duration.ofMillis(1), "a test", times::incrementAndGet);
        }
        CountDownLatch later = new CountDownLatch(1);
        tasks.in(Duration.ofMillis(2), "what comes after it", later::countDown);
        all.countDown();

        await().atMost(Duration.ofSeconds(30)).until(() -> later.getCount() == 0);
        assertEquals(1, times.get());
    }

    @Test
    void whoFoundOutLongAgoWhenWorkIsDueDoesNotDelayIt() {
        CountDownLatch done = new CountDownLatch(1);
        Thread knowsBetter =
                Thread.ofPlatform().unstarted(() -> tasks.instead(() -> Duration.ZERO, "what is due", done::countDown));

        tasks.instead(
                () -> {
                    knowsBetter.start();
                    await().atMost(Duration.ofSeconds(30))
                            .until(() -> knowsBetter.getState() == Thread.State.BLOCKED || !knowsBetter.isAlive());
                    return Duration.ofHours(1);
                },
                "what was due later",
                () -> {});

        await().atMost(Duration.ofSeconds(30)).until(() -> done.getCount() == 0);
    }

    @Test
    void closingInterruptsWhatIsUnderWay() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        tasks.soon("a test", () -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
        });
        assertTrue(begun.await(30, TimeUnit.SECONDS));

        tasks.close();

        assertTrue(interrupted.await(30, TimeUnit.SECONDS));
    }
}
