package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class KernelWaitsTest {
    private final Queue<Runnable> due = new ArrayDeque<>();
    private final AtomicInteger woken = new AtomicInteger();
    private final KernelWaits waits = new KernelWaits(() -> woken::incrementAndGet, due::add);

    private void later() {
        due.remove().run();
    }

    @Test
    void aCallThatIsSeenTwiceIsInterruptedUntilItEnds() {
        waits.begin();
        later();
        assertEquals(0, woken.get());

        later();
        later();

        assertEquals(2, woken.get());
        assertTrue(waits.end());
        assertFalse(waits.end());
    }

    @Test
    void callsThatEndAreNotInterruptedHoweverManyThereAre() {
        for (int call = 0; call < 100; call++) {
            waits.begin();
            later();
            assertFalse(waits.end());
        }

        assertEquals(0, woken.get());
    }

    @Test
    void whereNothingIsCalledNobodyLooks() {
        waits.begin();
        assertFalse(waits.end());
        later();
        later();

        assertTrue(due.isEmpty());
        waits.begin();
        assertEquals(1, due.size());
    }

    @Test
    void theNextCallIsNotBlamedForTheLastOne() {
        waits.begin();
        later();
        later();
        waits.begin();

        assertFalse(waits.end());
    }
}
