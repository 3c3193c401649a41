package io.homeostat.reconcile.agent.nomad;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.nomad.driver.CPUUsage;
import io.homeostat.proto.nomad.driver.MemoryUsage;
import io.homeostat.proto.nomad.driver.TaskStats;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the usage of a task's processes between two looks. */
class TaskUsageTest {
    private static final ProcessIdentity MAIN = new ProcessIdentity(10, 1000, "boot");

    @TempDir
    Path proc;

    private long nanos;
    private TaskUsage usage;

    @BeforeEach
    void open() throws Exception {
        process(10, 1, 0, 1000, 100);
        process(11, 10, 0, 1001, 10);
        process(12, 11, 0, 1002, 1);
        process(20, 1, 0, 1000, 1000);
        usage = new TaskUsage(new ProcFs(proc), () -> Instant.ofEpochSecond(7), () -> nanos);
    }

    private void process(long pid, long parent, long ticks, long start, long pages) throws Exception {
        Path directory = Files.createDirectories(proc.resolve(Long.toString(pid)));
        Files.writeString(
                directory.resolve("stat"),
                pid + " (p) S " + parent + " 1 1 0 -1 0 0 0 0 0 " + ticks + " 0 0 0 20 0 1 0 " + start + " 0 " + pages
                        + "\n");
    }

    private TaskStats lookAfter(Duration time) throws Exception {
        nanos += time.toNanos();
        return usage.look("id", MAIN);
    }

    private static double percent(TaskStats stats) {
        return stats.getAggResourceUsage().getCpu().getPercent();
    }

    @Test
    void theTreeOfTheTaskIsMeasured() throws Exception {
        TaskStats stats = lookAfter(Duration.ofSeconds(1));

        assertEquals("id", stats.getId());
        assertEquals(7, stats.getTimestamp().getSeconds());
        assertEquals(Set.of("10", "11", "12"), stats.getResourceUsageByPidMap().keySet());
        assertEquals(
                111 * Libc.pageSize(), stats.getAggResourceUsage().getMemory().getRss());
        assertEquals(
                10 * Libc.pageSize(),
                stats.getResourceUsageByPidOrThrow("11").getMemory().getRss());
        assertTrue(stats.getAggResourceUsage().getCpu().getMeasuredFieldsList().contains(CPUUsage.Fields.PERCENT));
        assertTrue(
                stats.getAggResourceUsage().getMemory().getMeasuredFieldsList().contains(MemoryUsage.Fields.RSS));
    }

    @Test
    void theFirstLookHasNothingToCompareWith() throws Exception {
        process(10, 1, 5000, 1000, 100);

        assertEquals(0, percent(lookAfter(Duration.ofSeconds(1))));
    }

    @Test
    void percentsAreOfOneCoreSinceTheLastLook() throws Exception {
        lookAfter(Duration.ofSeconds(1));
        process(10, 1, 50, 1000, 100);
        process(11, 10, 100, 1001, 10);

        TaskStats stats = lookAfter(Duration.ofSeconds(2));

        assertEquals(75, percent(stats));
        assertEquals(25, stats.getResourceUsageByPidOrThrow("10").getCpu().getPercent());
        assertEquals(0, percent(lookAfter(Duration.ofSeconds(2))));
    }

    @Test
    void allThatANewProcessHasUsedIsOfThisTime() throws Exception {
        lookAfter(Duration.ofSeconds(1));
        process(13, 10, 100, 2000, 1);
        assertEquals(100, percent(lookAfter(Duration.ofSeconds(1))));

        // Another process with the same number.
        process(13, 10, 100, 3000, 1);
        assertEquals(100, percent(lookAfter(Duration.ofSeconds(1))));
    }

    @Test
    void twoLooksAtTheSameMomentAreNoDivisionByZero() throws Exception {
        lookAfter(Duration.ZERO);

        assertEquals(0, percent(lookAfter(Duration.ZERO)));
    }

    @Test
    void anotherProcessWithTheNumberOfTheTaskIsNotMeasured() throws Exception {
        process(10, 1, 0, 9999, 100);

        TaskStats stats = lookAfter(Duration.ofSeconds(1));

        assertEquals(Set.of(), stats.getResourceUsageByPidMap().keySet());
        assertEquals(0, stats.getAggResourceUsage().getMemory().getRss());
    }
}
