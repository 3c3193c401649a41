package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.base.Ticker;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class WorkQueueTest {
    private final AtomicLong nanos = new AtomicLong();
    private final WorkQueue<String> queue = new WorkQueue<>(new Ticker() {
        @Override
        public long read() {
            return nanos.get();
        }
    });

    @Test
    void whatIsAddedTwiceIsHandedOutOnce() throws InterruptedException {
        queue.add("a");
        queue.add("a");
        queue.add("b");

        assertEquals(Optional.of("a"), queue.take());
        assertEquals(Optional.of("b"), queue.take());
    }

    @Test
    void whatIsAddedDuringWorkIsHandedOutAfterIt() throws InterruptedException {
        queue.add("a");
        assertEquals(Optional.of("a"), queue.take());
        queue.add("a");
        queue.add("b");

        assertEquals(Optional.of("b"), queue.take(), "a is being worked on");
        queue.done("a");
        assertEquals(Optional.of("a"), queue.take());
    }

    @Test
    void soonerOvertakesLaterAndLaterDoesNotDelaySooner() throws InterruptedException {
        queue.add("a", Duration.ofHours(1));
        queue.add("a");
        queue.add("a", Duration.ofHours(2));

        assertEquals(Optional.of("a"), queue.take());
    }

    @Test
    void whatIsDueLaterComesWhenItsTimeHasCome() throws InterruptedException {
        queue.add("late", Duration.ofSeconds(10));
        queue.add("soon", Duration.ofSeconds(5));
        nanos.addAndGet(Duration.ofSeconds(10).toNanos());

        assertEquals(Optional.of("soon"), queue.take());
        assertEquals(Optional.of("late"), queue.take());
    }

    @Test
    void aDelayOfAgesIsNoOverflow() throws InterruptedException {
        queue.add("never", Duration.ofSeconds(Long.MAX_VALUE));
        queue.add("now");

        assertEquals(Optional.of("now"), queue.take());
    }

    @Test
    void closingWakesWhoWaits() throws Exception {
        CompletableFuture<Optional<String>> taken = CompletableFuture.supplyAsync(() -> {
            try {
                return queue.take();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        queue.close();

        assertEquals(Optional.empty(), taken.get(20, TimeUnit.SECONDS));
    }
}
