package io.homeostat.observe.process;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.observe.process.ProcFs.SharedLook;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each look answers with its number, and ends when it is allowed to. */
@Timeout(120)
class SharedLookTest {
    private static final int CROWD = 200;

    private final AtomicInteger looks = new AtomicInteger();
    private final AtomicInteger questions = new AtomicInteger();
    private final Semaphore allowed = new Semaphore(0);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final SharedLook<Integer> look = new SharedLook<>(this::look, () -> {});

    private int look() throws IOException {
        int number = looks.incrementAndGet();
        allowed.acquireUninterruptibly();
        if (number == 2) {
            throw new IOException("the second look fails");
        }
        return number;
    }

    @AfterEach
    void close() {
        allowed.release(1000);
        threads.shutdownNow();
    }

    private Future<Integer> ask() {
        return threads.submit(() -> {
            questions.incrementAndGet();
            return look.answer();
        });
    }

    private static int get(Future<Integer> answer) throws Exception {
        return answer.get(60, TimeUnit.SECONDS);
    }

    @Test
    void whoAsksWhileALookIsUnderWayGetsTheNextTogetherWithEverybodyElseWhoDid() throws Exception {
        Future<Integer> first = ask();
        await().atMost(Duration.ofSeconds(60)).until(() -> looks.get() == 1);
        allowed.release(2);
        assertEquals(1, get(first));
        assertThrows(Exception.class, () -> get(ask()), "the second look fails");

        Future<Integer> third = ask();
        await().atMost(Duration.ofSeconds(60)).until(() -> looks.get() == 3);
        List<Future<Integer>> crowd = new ArrayList<>();
        for (int i = 0; i < CROWD; i++) {
            crowd.add(ask());
        }
        await().atMost(Duration.ofSeconds(60)).until(() -> questions.get() == 3 + CROWD);
        allowed.release(1000);

        assertEquals(3, get(third));
        for (Future<Integer> each : crowd) {
            // Never the third, which began before they asked; who was slow to ask may have one more of his own.
            assertTrue(get(each) > 3);
        }
        assertTrue(looks.get() < 3 + CROWD / 2, looks + " looks");
    }

    @Test
    void aLookThatFailsFailsForWhoDidItAndNotForThoseWhoWait() throws Exception {
        allowed.release(1);
        assertEquals(1, look.answer());
        Future<Integer> fails = ask();
        await().atMost(Duration.ofSeconds(60)).until(() -> looks.get() == 2);
        Future<Integer> waits = ask();
        allowed.release(2);

        assertThrows(Exception.class, () -> get(fails));
        assertEquals(3, get(waits));
    }

    @Test
    void nothingIsAnsweredFromAnEarlierLook() throws Exception {
        allowed.release(1000);
        assertEquals(1, look.answer());
        assertThrows(IOException.class, look::answer);
        assertEquals(3, look.answer());
    }

    @Test
    void whoAsksWhileALookHasToWaitIsAnsweredByIt() throws Exception {
        Semaphore paced = new Semaphore(0);
        AtomicInteger begun = new AtomicInteger();
        SharedLook<Integer> slow = new SharedLook<>(this::look, () -> {
            begun.incrementAndGet();
            paced.acquireUninterruptibly();
        });
        allowed.release(1000);
        Future<Integer> first = threads.submit(slow::answer);
        await().atMost(Duration.ofSeconds(60)).until(() -> begun.get() == 1);
        Future<Integer> second = threads.submit(slow::answer);
        await().atMost(Duration.ofSeconds(60)).until(() -> slow.waiting() == 1);
        paced.release();

        assertEquals(1, get(first));
        assertEquals(1, get(second));

        Future<Integer> fails = threads.submit(slow::answer);
        await().atMost(Duration.ofSeconds(60)).until(() -> begun.get() == 2);
        Future<Integer> triesAgain = threads.submit(slow::answer);
        await().atMost(Duration.ofSeconds(60)).until(() -> slow.waiting() == 1);
        paced.release(2);
        assertThrows(Exception.class, () -> get(fails), "the second look fails");
        assertEquals(3, get(triesAgain));
    }
}
