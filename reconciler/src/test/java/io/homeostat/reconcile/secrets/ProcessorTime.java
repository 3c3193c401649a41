package io.homeostat.reconcile.secrets;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.function.IntConsumer;

/** The processor time of this thread: what else the machine does is not the text's doing. */
final class ProcessorTime {
    private ProcessorTime() {}

    /**
     * Requires that four times the text takes less than eight times as long, and not sixteen times.
     *
     * @param work given the size of the text
     */
    static void assertGrowsWithTheTextOnly(IntConsumer work) {
        // Compiles it.
        work.accept(1);
        Duration some = of(work, 1);
        Duration more = of(work, 4);

        assertTrue(more.compareTo(some.multipliedBy(8)) < 0, () -> some + ", then " + more);
    }

    private static Duration of(IntConsumer work, int size) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadCpuTime();
        work.accept(size);
        return Duration.ofNanos(threads.getCurrentThreadCpuTime() - before);
    }
}
