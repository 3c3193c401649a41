package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class QuietEventLoopTest {
    private static final long PATIENCE = 30;

    @Test
    void itSleepsUntilSomethingIsDueOrGivenToIt() throws Exception {
        QuietEventLoop group = new QuietEventLoop("quiet");
        try {
            QuietEventLoop.Loop loop = assertInstanceOf(QuietEventLoop.Loop.class, group.next());
            Future<Long> idle = loop.submit(() -> loop.delayNanos(System.nanoTime()));
            assertEquals(QuietEventLoop.PAUSE, idle.get(PATIENCE, TimeUnit.SECONDS));

            // Given to it while it sleeps.
            Future<?> due = loop.schedule(() -> {}, 10, TimeUnit.MILLISECONDS);
            due.get(PATIENCE, TimeUnit.SECONDS);

            Future<?> later = loop.schedule(() -> {}, PATIENCE, TimeUnit.SECONDS);
            Future<Long> waiting = loop.submit(() -> loop.delayNanos(System.nanoTime()));
            assertTrue(waiting.get(PATIENCE, TimeUnit.SECONDS) < QuietEventLoop.PAUSE);
            assertTrue(later.cancel(false));
        } finally {
            Future<?> _ = group.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
        }
    }
}
