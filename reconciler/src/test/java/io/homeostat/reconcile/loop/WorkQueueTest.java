package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.WorkQueue.Taken;
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

    private String take() throws InterruptedException {
        return queue.take(Duration.ofMinutes(1)).orElseThrow().key();
    }

    @Test
    void aKeyComesWithTheTriggerThatMadeItDue() throws InterruptedException {
        queue.add("a", Trigger.RESYNC, Duration.ofHours(1));
        queue.add("a", Trigger.EXIT);
        queue.add("a", Trigger.FILES);

        assertEquals(Optional.of(new Taken<>("a", Trigger.EXIT)), queue.take(Duration.ofMinutes(1)));
    }

    @Test
    void whatWasHintedAtDuringWorkKeepsItsTrigger() throws InterruptedException {
        queue.add("a", Trigger.START);
        take();
        queue.add("a", Trigger.EXIT);
        queue.add("a", Trigger.RESYNC, Duration.ofHours(1));
        queue.done("a");

        assertEquals(Optional.of(new Taken<>("a", Trigger.EXIT)), queue.take(Duration.ofMinutes(1)));
    }

    @Test
    void whoTakesWaitsNoLongerThanItsPatience() throws InterruptedException {
        queue.add("late", Trigger.RESYNC, Duration.ofHours(1));

        assertEquals(Optional.empty(), queue.take(Duration.ZERO));
    }

    @Test
    void theDepthCountsWhatIsDueAndNotWhatIsLaterOrHandedOut() throws InterruptedException {
        queue.add("a", Trigger.EXIT);
        queue.add("b", Trigger.EXIT);
        queue.add("late", Trigger.RESYNC, Duration.ofHours(1));
        assertEquals(2, queue.depth());
        take();
        assertEquals(1, queue.depth());
        queue.add("a", Trigger.FILES);
        assertEquals(2, queue.depth(), "a is due again, although it is being worked on");
    }

    @Test
    void whatIsAddedTwiceIsHandedOutOnce() throws InterruptedException {
        queue.add("a", Trigger.EXIT);
        queue.add("a", Trigger.EXIT);
        queue.add("b", Trigger.EXIT);

        assertEquals("a", take());
        assertEquals("b", take());
    }

    @Test
    void whatIsAddedDuringWorkIsHandedOutAfterIt() throws InterruptedException {
        queue.add("a", Trigger.EXIT);
        assertEquals("a", take());
        queue.add("a", Trigger.EXIT);
        queue.add("b", Trigger.EXIT);

        assertEquals("b", take(), "a is being worked on");
        queue.done("a");
        assertEquals("a", take());
    }

    @Test
    void soonerOvertakesLaterAndLaterDoesNotDelaySooner() throws InterruptedException {
        queue.add("a", Trigger.RESYNC, Duration.ofHours(1));
        queue.add("a", Trigger.EXIT);
        queue.add("a", Trigger.RESYNC, Duration.ofHours(2));

        assertEquals("a", take());
    }

    @Test
    void whatIsDueLaterComesWhenItsTimeHasCome() throws InterruptedException {
        queue.add("late", Trigger.RESYNC, Duration.ofSeconds(10));
        queue.add("soon", Trigger.RESYNC, Duration.ofSeconds(5));
        nanos.addAndGet(Duration.ofSeconds(10).toNanos());

        assertEquals("soon", take());
        assertEquals("late", take());
    }

    @Test
    void aDelayOfAgesIsNoOverflow() throws InterruptedException {
        queue.add("never", Trigger.RESYNC, Duration.ofSeconds(Long.MAX_VALUE));
        queue.add("now", Trigger.EXIT);

        assertEquals("now", take());
    }

    @Test
    void closingWakesWhoWaits() throws Exception {
        CompletableFuture<Optional<Taken<String>>> taken = CompletableFuture.supplyAsync(() -> {
            try {
                return queue.take(Duration.ofMinutes(1));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        queue.close();

        assertEquals(Optional.empty(), taken.get(20, TimeUnit.SECONDS));
    }
}
