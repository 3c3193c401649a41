package io.homeostat.observe.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LimitObserverTest {
    private static final WorkloadId ID = WorkloadId.plugin("ops-agent");

    @TempDir
    Path root;

    private Path group;

    @BeforeEach
    void makeGroup() throws IOException {
        Files.writeString(root.resolve("cgroup.controllers"), "cpu memory\n");
        group = Files.createDirectories(root.resolve("homeostat.slice/plugin-ops-agent"));
        write("cgroup.procs", "12\n7\n");
        write("memory.max", "max\n");
        write("cpu.max", "max 100000\n");
        write("memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n");
    }

    @Test
    void readsTheLimitsOfVersion2() throws IOException {
        assertEquals(Observation.seen(limits(null, null)), observer().observe(ID));
        write("memory.max", "268435456\n");
        write("cpu.max", "20000 100000\n");
        assertEquals(Observation.seen(limits(256L << 20, 20)), observer().observe(ID));
    }

    @Test
    void readsWhetherAllIsKilledTogether() throws IOException {
        write("memory.oom.group", "1\n");
        assertEquals(
                Observation.seen(new Limits(null, null, false, true)),
                observer().observe(ID));
        write("memory.oom.group", "0\n");
        assertEquals(Observation.seen(Limits.NONE), observer().observe(ID));
    }

    @Test
    void readsTheLimitsOfVersion1() throws IOException {
        Files.delete(root.resolve("cgroup.controllers"));
        Path memory = version1("memory");
        Path cpu = version1("cpu");
        Files.writeString(memory.resolve("memory.limit_in_bytes"), "9223372036854771712\n");
        Files.writeString(memory.resolve("memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
        Files.writeString(cpu.resolve("cpu.cfs_quota_us"), "-1\n");
        Files.writeString(cpu.resolve("cpu.cfs_period_us"), "50000\n");
        assertEquals(Observation.seen(limits(null, null)), observer().observe(ID));
        assertEquals(Observation.seen(5L), observer().oomKills(ID));

        Files.writeString(memory.resolve("memory.limit_in_bytes"), "33554432\n");
        Files.writeString(cpu.resolve("cpu.cfs_quota_us"), "75000\n");
        assertEquals(Observation.seen(limits(32L << 20, 150)), observer().observe(ID));
    }

    @Test
    void aShareBelowOnePercentIsStillALimit() throws IOException {
        write("cpu.max", "1000 1000000\n");
        assertEquals(Observation.seen(limits(null, 1)), observer().observe(ID));
    }

    @Test
    void whatHasNoGroupHasNoLimitsNoProcessesAndNoKills() {
        WorkloadId other = WorkloadId.plugin("other");
        assertEquals(Observation.seen(Limits.NONE), observer().observe(other));
        assertEquals(Observation.seen(ImmutableSortedSet.<Long>of()), observer().pids(other));
        assertEquals(Observation.seen(0L), observer().oomKills(other));
        assertEquals(Observation.seen(true), observer().holds(other, 7));
    }

    @Test
    void aFileThatCantBeReadIsNotNoLimit() throws IOException {
        Files.delete(group.resolve("cpu.max"));
        assertInstanceOf(Observation.Unseen.class, observer().observe(ID));
        write("cpu.max", "gibberish\n");
        assertInstanceOf(Observation.Unseen.class, observer().observe(ID));
        write("memory.events", "oom_kill many\n");
        assertInstanceOf(Observation.Unseen.class, observer().oomKills(ID));
    }

    @Test
    void countsKillsForWantOfMemory() throws IOException {
        assertEquals(Observation.seen(2L), observer().oomKills(ID));
        write("memory.events", "low 0\n");
        assertEquals(Observation.seen(0L), observer().oomKills(ID));
    }

    @Test
    void namesTheProcessesAlsoOfGroupsThatTheWorkloadMade() throws IOException {
        Path below = Files.createDirectory(group.resolve("payload"));
        Files.writeString(below.resolve("cgroup.procs"), "30\n");
        assertEquals(
                Observation.seen(ImmutableSortedSet.of(7L, 12L, 30L)),
                observer().pids(ID));
        assertEquals(Observation.seen(true), observer().holds(ID, 30));
    }

    @Test
    void aProcessThatSomebodyMovedOutIsNotHeld() {
        assertEquals(Observation.seen(true), observer().holds(ID, 12));
        assertEquals(Observation.seen(false), observer().holds(ID, 13));
    }

    @Test
    void aLookTellsWhatIsInForceAndWhoIsOutside() throws IOException {
        write("memory.max", "268435456\n");
        assertEquals(
                Observation.seen(
                        new ObservedLimits(limits(256L << 20, null), ImmutableSortedSet.of(13L), LimitObstacles.NONE)),
                observer().look(ID, ImmutableSet.of(12L, 13L)));
    }

    @Test
    void groupsOfWhatDoesNotRunAreOfNoInterest() throws IOException {
        write("memory.max", "gibberish\n");
        assertEquals(Observation.seen(ObservedLimits.NONE), observer().look(ID, ImmutableSet.of()));
        assertInstanceOf(Observation.Unseen.class, observer().look(ID, ImmutableSet.of(12L)));
    }

    @Test
    void limitsAgreeWhenTheKernelKeepsThemAsExactlyAsItCan() {
        assertTrue(LimitObserver.agree(limits(1_000_000L, 20), limits(999_424L, 20)));
        assertTrue(LimitObserver.agree(new Limits(null, null, true), Limits.NONE));
        assertFalse(LimitObserver.agree(limits(1_000_000L, 20), limits(999_424L, 21)));
        assertFalse(LimitObserver.agree(limits(1_000_000L, null), limits(1_003_520L, null)));
        assertFalse(LimitObserver.agree(limits(1_000_000L, null), limits(900_000L, null)));
        assertFalse(LimitObserver.agree(limits(1_000_000L, null), limits(null, null)));
        assertFalse(LimitObserver.agree(limits(null, null), limits(1_000_000L, null)));
    }

    private LimitObserver observer() {
        return new LimitObserver(CgroupLayout.detect(root, root.resolve("no-proc"), "homeostat"));
    }

    private void write(String file, String text) throws IOException {
        Files.writeString(group.resolve(file), text);
    }

    private Path version1(String controller) throws IOException {
        Path made = Files.createDirectories(root.resolve(controller).resolve("homeostat/plugin-ops-agent"));
        Files.createFile(root.resolve(controller).resolve("cgroup.procs"));
        return made;
    }

    private static Limits limits(@Nullable Long memory, @Nullable Integer cpu) {
        return new Limits(memory == null ? null : new Size(memory), cpu == null ? null : new Cpu(cpu), false);
    }
}
