package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class VirtualThreadsTest {
    @Test
    void aThreadIsKnownWhileItsTaskRuns() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Thread thread = VirtualThreads.factory("of-test-").newThread(() -> {
            begun.countDown();
            waitFor(end);
            throw new IllegalStateException("its task may fail");
        });
        thread.setUncaughtExceptionHandler((_, _) -> {});
        assertFalse(VirtualThreads.running().contains(thread));

        thread.start();
        begun.await();
        assertTrue(VirtualThreads.running().contains(thread));
        assertEquals("of-test-0", thread.getName());
        assertTrue(Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getMethodName().equals("waitFor")));

        end.countDown();
        thread.join();
        assertFalse(VirtualThreads.running().contains(thread));
    }

    private static void waitFor(CountDownLatch end) {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
