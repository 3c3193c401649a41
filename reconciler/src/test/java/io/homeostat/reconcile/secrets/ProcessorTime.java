package io.homeostat.reconcile.secrets;

import static org.junit.jupiter.api.Assertions.fail;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/** The processor time of this thread: what else the machine does is not the text's doing. */
final class ProcessorTime {
    private ProcessorTime() {}

    /**
     * Requires that four times the text takes less than eight times as long, and not sixteen times. Whatever disturbs one measurement
     * does not disturb three.
     *
     * @param work given the size of the text
     */
    static void assertGrowsWithTheTextOnly(IntConsumer work) {
        // Compiles it.
        work.accept(1);
        List<String> measured = new ArrayList<>();
        do {
            Duration some = of(work, 1);
            Duration more = of(work, 4);
            if (more.compareTo(some.multipliedBy(8)) < 0) {
                return;
            }
            measured.add(some + ", then " + more);
        } while (measured.size() < 3);
        fail(measured.toString());
    }

    private static Duration of(IntConsumer work, int size) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadCpuTime();
        work.accept(size);
        return Duration.ofNanos(threads.getCurrentThreadCpuTime() - before);
    }
}
