package io.homeostat.observe.usage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.process.FakeProc;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.usage.UsageMeter.TreeMeter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tree of process 100, started at tick 5000; looked at again after ten seconds, at an uptime of 100 and then 110 seconds. */
class TreeMeterTest {
    private static final Instance LAUNCH = new Instance(
            "l1",
            WorkloadId.plugin("p"),
            "target",
            "A",
            null,
            ImmutableSortedMap.of(),
            Instant.EPOCH,
            new ProcessIdentity(100, 5000, FakeProc.BOOT),
            Phase.STARTED,
            "");

    @TempDir
    Path root;

    private FakeProc proc;
    private ProcessTable.Reader reader;
    private final TreeMeter meter = new TreeMeter();

    @BeforeEach
    void setUp() throws Exception {
        proc = new FakeProc(root);
        reader = new ProcessTable.Reader(proc.procFs, Ticker.systemTicker());
        proc.write("uptime", "100.00 1.00\n");
    }

    @Test
    void whatEachProcessUsedSinceThenIsAddedUp() throws Exception {
        process(100, 1, 1000, 0, 5000);
        process(101, 100, 2000, 0, 5001);
        look();
        process(100, 1, 1007, 0, 5000);
        process(101, 100, 2030, 0, 5001);
        assertEquals(37, lookAgain());
    }

    @Test
    void aChildThatEndedCountsForWhatItUsedSinceThenAndNotForMore() throws Exception {
        process(100, 1, 1000, 0, 5000);
        process(101, 100, 2000, 0, 5001);
        look();
        proc.end(101);
        process(100, 1, 1007, 2030, 5000);
        assertEquals(37, lookAgain());
    }

    @Test
    void aChildThatEndedAndThatNobodyOfTheTreeWaitedForMakesNothingNegative() throws Exception {
        process(100, 1, 1000, 0, 5000);
        process(101, 100, 2000, 500, 5001);
        look();
        proc.end(101);
        process(100, 1, 1007, 0, 5000);
        assertEquals(7, lookAgain());
    }

    @Test
    void aZombieCountsOnceBeforeAndAfterItIsWaitedFor() throws Exception {
        process(100, 1, 1000, 0, 5000);
        process(101, 100, 2000, 0, 5001);
        look();
        line(101, "Z", 100, 2030, 0, 5001);
        assertEquals(30, lookAgain());
        proc.end(101);
        process(100, 1, 1000, 2030, 5000);
        assertEquals(0, lookAgain());
    }

    @Test
    void aProcessThatBeganSinceThenCountsAsAWhole() throws Exception {
        process(100, 1, 1000, 0, 5000);
        look();
        process(101, 100, 12, 3, 10_500);
        assertEquals(15, lookAgain());
    }

    @Test
    void whatAProcessUsedBeforeItCameToTheTreeDoesNotCount() throws Exception {
        process(100, 1, 1000, 0, 5000);
        process(500, 1, 9999, 0, 4000);
        look();
        process(500, 100, 9999, 0, 4000);
        assertEquals(0, lookAgain());
    }

    @Test
    void shortLivedChildrenOfTheTreeCountWithWhoWaitedForThem() throws Exception {
        process(100, 1, 1000, 100, 5000);
        look();
        process(100, 1, 1000, 340, 5000);
        assertEquals(240, lookAgain());
    }

    @Test
    void anotherProcessWithTheNumberOfAnEndedOneIsANewOne() throws Exception {
        process(100, 1, 1000, 0, 5000);
        process(101, 100, 2000, 0, 5001);
        look();
        process(101, 100, 4, 0, 10_500);
        process(100, 1, 1000, 2001, 5000);
        assertEquals(5, lookAgain());
    }

    @Test
    void aDaemonThatLeftSessionAndParentIsFoundByItsMarkAndWhatIsInTheGroupsByThat() throws Exception {
        process(100, 1, 0, 0, 5000);
        proc.process(110, 1, 110, 5100, LaunchMarks.LAUNCH + "=l1");
        proc.process(120, 1, 120, 5100, LaunchMarks.LAUNCH + "=l2").process(130, 1, 130, 5100);
        proc.process(140, 1, 140, 5100, LaunchMarks.LAUNCH + "=l1").ids(140, 4711, 4711);
        ProcessTable table = reader.read();
        assertEquals(ImmutableSet.of(100L, 110L, 130L), members(table, ImmutableSet.of(130L, 7777L)));
    }

    @Test
    void theEnvironmentOfAnotherUsersProcessIsNotRead() throws Exception {
        process(100, 1, 0, 0, 5000);
        proc.process(110, 1, 110, 5100).ids(110, 4711, 4711);
        assertEquals(ImmutableSet.of(100L), members(reader.read(), ImmutableSet.of()));

        // Had it been read, it would be known to have no mark.
        proc.process(110, 1, 110, 5100, LaunchMarks.LAUNCH + "=l1");
        assertEquals(ImmutableSet.of(100L, 110L), members(reader.read(), ImmutableSet.of()));
    }

    private static ImmutableSet<Long> members(ProcessTable table, ImmutableSet<Long> grouped) {
        return table.members(ImmutableList.of(LAUNCH), grouped).stream()
                .map(ProcFs.Stat::pid)
                .collect(ImmutableSet.toImmutableSet());
    }

    @Test
    void anotherProcessWithTheNumberOfTheMainOneIsNobodysTree() throws Exception {
        process(100, 1, 1000, 0, 9000);
        assertEquals(
                0,
                reader.read()
                        .members(ImmutableList.of(LAUNCH), ImmutableSet.of())
                        .size());
    }

    private void look() throws IOException {
        ProcessTable table = reader.read();
        long ignored = meter.used(table.members(ImmutableList.of(LAUNCH), ImmutableSet.of()), table, 0);
        assertEquals(0, ignored);
    }

    /** In ticks. */
    private long lookAgain() throws IOException {
        proc.write("uptime", "110.00 1.00\n");
        ProcessTable table = reader.read();
        return meter.used(
                        table.members(ImmutableList.of(LAUNCH), ImmutableSet.of()),
                        table,
                        Duration.ofSeconds(10).toNanos())
                / ProcFs.NANOS_PER_TICK;
    }

    private void process(long pid, long parent, long own, long children, long startTicks) throws IOException {
        proc.process(pid, parent, pid, startTicks);
        line(pid, "S", parent, own, children, startTicks);
    }

    private void line(long pid, String state, long parent, long own, long children, long startTicks)
            throws IOException {
        String line = FakeProc.line(pid, "p", state, parent, pid, 1, startTicks);
        proc.line(pid, line.replace(" 5 6 7 8 ", " " + own + " 0 " + children + " 0 "));
    }
}
