package io.homeostat.observe.usage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Lifecycle.Metrics;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.FakeProc;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.usage.UsageReport.Usage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One workload, process 100, in a group of version 2 on a machine of files; time goes by as the test says. */
class UsageSamplerTest {
    private static final WorkloadId ID = WorkloadId.plugin("p");
    private static final Instant START = Instant.parse("2026-11-20T12:00:00Z");
    private static final Duration INTERVAL = Duration.ofSeconds(10);

    @TempDir
    Path root;

    private FakeProc proc;
    private UsageSampler sampler;
    private long nanos;

    @BeforeEach
    void setUp() throws Exception {
        proc = new FakeProc(root.resolve("proc"));
        proc.process(100, 1, 100, 5000);
        Files.createDirectories(root.resolve("cgroup"));
        Files.writeString(root.resolve("cgroup/cgroup.controllers"), "cpu memory\n");
        group(0, 0);
        sampler = new UsageSampler(groups(), proc.procFs, () -> START.plusNanos(nanos), new Ticker() {
            @Override
            public long read() {
                return nanos;
            }
        });
    }

    @Test
    void processorTimeIsThatOfTheLastIntervalInPercentOfOneCore() throws Exception {
        follow(60);
        sample(0, 3_600_000_000L, 1000);
        assertEquals(Optional.empty(), sampler.latest(ID), "since when it has used an hour nobody knows");
        sample(10, 3_600_000_000L + 15_000_000, 2000);
        assertEquals(Optional.of(new Usage(START.plusSeconds(10), 150, 2000)), sampler.latest(ID));
        sample(20, 3_600_000_000L + 15_500_000, 3000);
        assertEquals(Optional.of(new Usage(START.plusSeconds(20), 5, 3000)), sampler.latest(ID));
    }

    @Test
    void aLateSampleIsAboutTheTimeThatWentByAndIsNotMadeUpFor() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(50, 25_000_000, 0);
        sample(51, 26_000_000, 0);
        assertEquals(List.of(new Usage(START.plusSeconds(50), 50, 0)), samples());
    }

    @Test
    void nothingIsSampledBeforeItIsDue() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(9, 1, 0);
        assertEquals(List.of(), samples());
        assertEquals(Duration.ofSeconds(1), sampler.pause());
        nanos = Duration.ofMillis(2_400).toNanos();
        assertEquals(Duration.ofMillis(7_600), sampler.pause());
    }

    @Test
    void whatIsNewIsMeasuredWithinASecondAndWhatHasAnotherIntervalByThat() {
        assertTrue(sampler.follow(ID, new Metrics(Duration.ofHours(1), 60), ImmutableList.of()));
        nanos = Duration.ofMillis(400).toNanos();
        assertEquals(Duration.ofMillis(600), sampler.pause());
        sampler.sample();
        assertEquals(Duration.ofMinutes(1), sampler.pause());
        assertTrue(sampler.follow(ID, metrics(60), ImmutableList.of()));
        assertEquals(Duration.ofMillis(9_600), sampler.pause());
    }

    @Test
    void theFirstIntervalIsNeverLessThanHalfAnInterval() throws Exception {
        follow(60);
        sample(9, 0, 0);
        sample(10, 1_000_000, 0);
        assertEquals(List.of(), samples());
        sample(20, 1_100_000, 0);
        assertEquals(List.of(new Usage(START.plusSeconds(20), 10, 0)), samples());
    }

    @Test
    void theOldestSamplesGoFirst() throws Exception {
        follow(2);
        for (int i = 0; i <= 5; i++) {
            sample(10L * i, 0, i);
        }
        assertEquals(
                List.of(new Usage(START.plusSeconds(40), 0, 4), new Usage(START.plusSeconds(50), 0, 5)), samples());
    }

    @Test
    void whatWasDeliveredIsReportedNoMoreAndStillTheLatest() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(10, 0, 1);
        sampler.delivered(sampler.report());
        assertEquals(UsageReport.EMPTY, sampler.report());
        assertEquals(1, sampler.latest(ID).orElseThrow().memoryBytes());
    }

    @Test
    void aReportThatGotLostIsInTheNextOne() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(10, 0, 1);
        assertEquals(1, sampler.report().samples().size());
        sample(20, 0, 2);
        assertEquals(2, sampler.report().samples().size());
    }

    @Test
    void deliveringAReportKeepsWhatOnlyALaterOneHas() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(10, 0, 1);
        UsageReport first = sampler.report();
        sample(20, 0, 2);
        UsageReport second = sampler.report();
        sampler.delivered(first);
        assertEquals(List.of(new Usage(START.plusSeconds(20), 0, 2)), samples());
        sampler.delivered(second);
        sampler.delivered(first);
        assertEquals(List.of(), samples());
    }

    @Test
    void anOldReportHasNothingOfAWorkloadThatWasForgottenMeanwhile() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(10, 0, 1);
        UsageReport old = sampler.report();
        sampler.forget(ID);
        assertEquals(UsageReport.EMPTY, sampler.report());
        follow(60);
        sample(20, 0, 0);
        sample(30, 0, 2);
        sampler.delivered(old);
        assertEquals(List.of(new Usage(START.plusSeconds(30), 0, 2)), samples());
    }

    @Test
    void whatDoesNotRunHasNoLatestSampleAndKeepsWhatIsNotDelivered() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(10, 0, 1);
        assertFalse(sampler.follow(ID, metrics(60), ImmutableList.of()));
        sample(20, 0, 2);
        assertEquals(ImmutableSortedMap.of(), sampler.latest());
        assertEquals(1, samples().size());
    }

    @Test
    void aGroupThatWasMadeAnewCountsFromZero() throws Exception {
        follow(60);
        sample(0, 90_000_000, 0);
        sample(10, 1_000_000, 0);
        assertEquals(10, sampler.latest(ID).orElseThrow().cpuPercent());
    }

    @Test
    void whatCanNotBeReadIsLeftOutAndMeasuredAnewAfterwards() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(10, 1_000_000, 0);
        Files.writeString(root.resolve("cgroup/homeostat.slice/plugin-p/memory.current"), "much\n");
        nanos = Duration.ofSeconds(20).toNanos();
        sampler.sample();
        sample(30, 9_000_000, 0);
        sample(40, 10_000_000, 0);
        assertEquals(
                List.of(new Usage(START.plusSeconds(10), 10, 0), new Usage(START.plusSeconds(40), 10, 0)), samples());
    }

    @Test
    void withoutAGroupTheTreeIsMeasured() throws Exception {
        Files.delete(root.resolve("cgroup/homeostat.slice/plugin-p/cgroup.procs"));
        uptime(1000);
        follow(60);
        sampler.sample();
        proc.line(100, FakeProc.line(100, "p", "S", 1, 100, 1, 5000).replace(" 5 6 7 8 ", " 105 206 7 8 "));
        nanos = INTERVAL.toNanos();
        sampler.sample();
        assertEquals(List.of(new Usage(START.plusSeconds(10), 30, 169L * Libc.pageSize())), samples());
    }

    @Test
    void ofWhatIsInAGroupThatDoesNotCountTimeOnlyTheProcessesInItAreRead() throws Exception {
        follow(60);
        group(0, 4096);
        Files.delete(root.resolve("cgroup/homeostat.slice/plugin-p/cpu.stat"));
        uptime(1000);
        // Not what stat(5) is, so whoever read all processes would fail.
        proc.line(300, "nonsense");
        sampler.sample();
        proc.line(100, FakeProc.line(100, "p", "S", 1, 100, 1, 5000).replace(" 5 6 7 8 ", " 105 206 7 8 "));
        nanos = INTERVAL.toNanos();
        sampler.sample();
        assertEquals(List.of(new Usage(START.plusSeconds(10), 30, 4096)), samples());
    }

    @Test
    void aGroupThatDoesNotCountTimeAndWhoseProcessesCanNotBeSeenIsNoGroupWithoutAny() throws Exception {
        group(0, 4096);
        Files.delete(root.resolve("cgroup/homeostat.slice/plugin-p/cpu.stat"));
        uptime(1000);
        UsageMeter meter = new UsageMeter(ID, groups(), () -> nanos);
        ImmutableList<Instance> launches =
                ImmutableList.of(instance(ID, new ProcessIdentity(100, 5000, FakeProc.BOOT)));
        Meter.Processes processes = new UsageSampler.ReadOnce(new ProcessTable.Reader(proc.procFs, () -> nanos));
        assertEquals(
                4096, meter.measure(launches, INTERVAL, processes).orElseThrow().memoryBytes());

        Files.writeString(root.resolve("cgroup/homeostat.slice/plugin-p/cgroup.procs"), "nonsense\n");

        IOException failed = assertThrows(IOException.class, () -> meter.measure(launches, INTERVAL, processes));
        assertTrue(failed.toString().contains(" plugin/p: "), failed::toString);
    }

    @Test
    void allTreesAreMeasuredInOneLookAtTheMachine() throws Exception {
        Files.delete(root.resolve("cgroup/homeostat.slice/plugin-p/cgroup.procs"));
        uptime(1000);
        WorkloadId other = WorkloadId.process("q");
        proc.process(200, 1, 200, 6000);
        follow(60);
        sampler.follow(
                other, metrics(60), ImmutableList.of(instance(other, new ProcessIdentity(200, 6000, FakeProc.BOOT))));
        sampler.sample();
        nanos = INTERVAL.toNanos();
        sampler.sample();
        assertEquals(List.of(ID, other), sampler.latest().keySet().asList());
    }

    @Test
    void whatHasLeftItsGroupIsMeasuredByItsTreeOnceAPassHasBeenThere() throws Exception {
        follow(60);
        sample(0, 0, 0);
        sample(10, 1_000_000, 0);
        Files.writeString(root.resolve("cgroup/homeostat.slice/plugin-p/cgroup.procs"), "");
        uptime(1000);
        follow(60);
        sample(20, 1_000_000, 0);
        assertEquals(1, samples().size(), "one count says nothing of another");
        sample(30, 1_000_000, 0);
        assertTrue(sampler.latest(ID).orElseThrow().memoryBytes() > 0);
    }

    private CgroupLayout groups() {
        return CgroupLayout.detect(root.resolve("cgroup"), root.resolve("no-proc"), "homeostat");
    }

    private void follow(int most) {
        sampler.follow(
                ID, metrics(most), ImmutableList.of(instance(ID, new ProcessIdentity(100, 5000, FakeProc.BOOT))));
    }

    private static Metrics metrics(int most) {
        return new Metrics(INTERVAL, most);
    }

    private static Instance instance(WorkloadId id, @Nullable ProcessIdentity identity) {
        return new Instance(
                "launch-" + id.name(),
                id,
                "target",
                "A",
                null,
                ImmutableSortedMap.of(),
                START,
                identity,
                Phase.STARTED,
                "");
    }

    private void sample(long second, long usedMicros, long bytes) throws IOException {
        nanos = Duration.ofSeconds(second).toNanos();
        group(usedMicros, bytes);
        sampler.sample();
    }

    private void group(long usedMicros, long bytes) throws IOException {
        Path group = Files.createDirectories(root.resolve("cgroup/homeostat.slice/plugin-p"));
        if (Files.notExists(group.resolve("cgroup.procs"))) {
            Files.writeString(group.resolve("cgroup.procs"), "100\n");
        }
        Files.writeString(group.resolve("cpu.stat"), "usage_usec " + usedMicros + "\nuser_usec 0\n");
        Files.writeString(group.resolve("memory.current"), bytes + "\n");
    }

    private void uptime(long seconds) throws IOException {
        proc.write("uptime", seconds + ".00 1.00\n");
    }

    private List<Usage> samples() {
        return sampler.report().samples().get(ID);
    }
}
