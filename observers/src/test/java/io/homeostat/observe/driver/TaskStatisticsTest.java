package io.homeostat.observe.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.TaskStatistics.Sample;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.goplugin.PluginConnection;
import io.homeostat.observe.process.Launches;
import io.homeostat.proto.nomad.driver.CPUUsage;
import io.homeostat.proto.nomad.driver.MemoryUsage;
import io.homeostat.proto.nomad.driver.TaskResourceUsage;
import io.homeostat.proto.nomad.driver.TaskStats;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a driver counts of its tasks, and when it is not asked any more. */
class TaskStatisticsTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration INTERVAL = Duration.ofSeconds(20);
    private static final WorkloadId ID = new WorkloadId(Kind.DRIVER, "fake");
    private static final String TASK = "allocation/web/1";

    @TempDir
    Path root;

    private final GrpcTransport transport = new GrpcTransport();
    private final AtomicBoolean alive = new AtomicBoolean(true);
    private Layout layout;
    private FakeDriver driver;
    private DriverSession session;

    /** So many times it can be asked. */
    private volatile long endsAfter = Long.MAX_VALUE;

    @BeforeEach
    void setUp() throws Exception {
        layout = new Layout(root.resolve("state"), root.resolve("run"), "i");
        Files.createDirectories(layout.machineDirectory());
        driver = FakeDriver.on(root.resolve("plugin1"));
        session = session();
    }

    @AfterEach
    void tearDown() throws Exception {
        session.close();
        driver.close();
        transport.close();
    }

    private DriverSession session() throws Exception {
        Handshake handshake =
                new Handshake(2, Handshake.Network.UNIX, root.resolve("plugin1").toString());
        DriverSession opened = new DriverSession(
                "fake",
                new PluginConnection(transport, handshake, root, (channel, bytes) -> {}),
                () -> alive.get() && driver.plugin.count("TaskStats") < endsAfter,
                () -> Instant.EPOCH);
        opened.attach(LONG);
        return opened;
    }

    private StatisticsCrashes.OfDriver launch(String id) {
        Instance instance = Launches.instance(ID, id);
        return new StatisticsCrashes(layout, Files::write, Ticker.systemTicker()).of(instance);
    }

    private TaskStatistics statistics(StatisticsCrashes.OfDriver crashes) {
        return new TaskStatistics(session, crashes, TASK, INTERVAL, Ticker.systemTicker());
    }

    private static ConditionFactory soon() {
        return Awaitility.await().atMost(LONG).pollInterval(Duration.ofMillis(10));
    }

    private static CPUUsage.Builder cpu(double percent) {
        return CPUUsage.newBuilder().setPercent(percent).addMeasuredFields(CPUUsage.Fields.PERCENT);
    }

    private static MemoryUsage.Builder resident(long bytes) {
        return MemoryUsage.newBuilder().setRss(bytes).addMeasuredFields(MemoryUsage.Fields.RSS);
    }

    private static TaskStatsResponse told(CPUUsage.Builder cpu, MemoryUsage.Builder memory) {
        return TaskStatsResponse.newBuilder()
                .setStats(TaskStats.newBuilder()
                        .setAggResourceUsage(
                                TaskResourceUsage.newBuilder().setCpu(cpu).setMemory(memory)))
                .build();
    }

    @Test
    void theDriverIsAskedOnceAndWhatItSaysIsTakenOnce() {
        driver.counting(told(cpu(12.5), resident(4096)));
        try (TaskStatistics statistics = statistics(launch("l1"))) {
            soon().until(() -> statistics.take().equals(Optional.of(new Sample(12.5, 4096))));

            assertEquals(Optional.empty(), statistics.take());
            driver.countReaders.getFirst().onNext(told(cpu(1), resident(1)));
            soon().until(() -> statistics.take().equals(Optional.of(new Sample(1, 1))));
            assertEquals(1, driver.countRequests.size());
            assertEquals(TASK, driver.countRequests.getFirst().getTaskId());
            assertEquals(
                    INTERVAL.toSeconds(),
                    driver.countRequests.getFirst().getCollectionInterval().getSeconds());
        }
        soon().until(driver.countReaders::isEmpty);
    }

    @Test
    void onlyWhatWasMeasuredAndIsANumberCounts() {
        assertEquals(Optional.empty(), Sample.of(TaskStatsResponse.getDefaultInstance()));
        assertEquals(Optional.empty(), Sample.of(told(cpu(Double.NaN), resident(1))));
        assertEquals(Optional.empty(), Sample.of(told(cpu(Double.POSITIVE_INFINITY), resident(1))));
        assertEquals(Optional.empty(), Sample.of(told(cpu(-1), resident(1))));
        assertEquals(Optional.empty(), Sample.of(told(CPUUsage.newBuilder().setPercent(3), resident(1))));
        assertEquals(
                Optional.empty(),
                Sample.of(told(cpu(3), MemoryUsage.newBuilder().setRss(1))));
        assertEquals(Optional.empty(), Sample.of(told(cpu(3), resident(-1))), "more than a long can hold");
        CPUUsage.Builder both = cpu(Double.NaN)
                .setUserMode(2)
                .setSystemMode(1)
                .addMeasuredFields(CPUUsage.Fields.USER_MODE)
                .addMeasuredFields(CPUUsage.Fields.SYSTEM_MODE);
        assertEquals(Optional.of(new Sample(3, 1)), Sample.of(told(both, resident(1))));
        MemoryUsage.Builder usage = resident(1).setUsage(7).addMeasuredFields(MemoryUsage.Fields.USAGE);
        assertEquals(Optional.of(new Sample(3, 7)), Sample.of(told(cpu(3), usage)));
    }

    @Test
    void aStreamThatBreaksIsOpenedAgainWhileSomebodyAsks() {
        driver.counting(told(cpu(1), resident(1)));
        try (TaskStatistics statistics = statistics(launch("l1"))) {
            soon().until(() -> statistics.take().isPresent());
            driver.countReaders
                    .removeFirst()
                    .onError(Status.UNKNOWN.withDescription("no").asException());

            soon().until(() -> statistics.take().isPresent());

            assertEquals(2, driver.countRequests.size());
        }
    }

    @Test
    void aDriverThatDoesNotCountIsNotAskedAgain() throws Exception {
        driver.plugin.failing("TaskStats", Status.UNKNOWN.withDescription("stats not implemented for driver"));
        try (TaskStatistics statistics = statistics(launch("l1"))) {
            assertEquals(Optional.empty(), statistics.take());
            soon().until(() -> driver.plugin.count("TaskStats") == 1);

            // Longer than the longest pause after any other error.
            soon().during(Duration.ofSeconds(6)).until(() -> statistics.take().isEmpty());

            assertEquals(1, driver.plugin.count("TaskStats"));
        }
    }

    @Test
    void aRevisionThatDiesOfItTwiceIsNeverAskedAgain() throws Exception {
        driver.plugin.failing("TaskStats", Status.UNAVAILABLE);
        for (String launch : new String[] {"l1", "l2"}) {
            endsAfter = driver.plugin.count("TaskStats") + 2;
            StatisticsCrashes.OfDriver crashes = launch(launch);
            assertTrue(crashes.mayBeAsked());
            try (TaskStatistics first = statistics(crashes);
                    TaskStatistics second = statistics(crashes)) {
                assertEquals(Optional.empty(), first.take());
                assertEquals(Optional.empty(), second.take());
                soon().until(() -> !crashes.mayBeAsked());
            }
        }
        endsAfter = Long.MAX_VALUE;
        long asked = driver.plugin.count("TaskStats");

        StatisticsCrashes.OfDriver third = launch("l3");

        assertFalse(third.mayBeAsked());
        try (TaskStatistics statistics = statistics(third)) {
            assertEquals(Optional.empty(), statistics.take());
        }
        assertEquals(asked, driver.plugin.count("TaskStats"));
        assertEquals(
                "fake " + Launches.instance(ID, "l1").revision() + " 2\n",
                Files.readString(layout.machineDirectory().resolve("statistics-crashes")));
    }

    @Test
    void theEndOfADriverThatWasToldToEndIsNoCrash() throws Exception {
        driver.counting(told(cpu(1), resident(1)));
        StatisticsCrashes.OfDriver crashes = launch("l1");
        try (TaskStatistics statistics = statistics(crashes)) {
            soon().until(() -> statistics.take().isPresent());

            session.shutdown(LONG);
            alive.set(false);
            driver.countReaders.forEach(reader -> reader.onError(Status.UNAVAILABLE.asException()));
            soon().until(() -> !statistics.isOpen());

            assertTrue(crashes.mayBeAsked());
            assertFalse(Files.exists(layout.machineDirectory().resolve("statistics-crashes")));
        }
    }

    @Test
    void theEndOfADriverAfterAStreamThatNobodyReadsAnyMoreIsNoCrash() {
        driver.counting(told(cpu(1), resident(1)));
        StatisticsCrashes.OfDriver crashes = launch("l1");
        try (TaskStatistics statistics = statistics(crashes)) {
            soon().until(() -> statistics.take().isPresent());
        }
        soon().until(driver.countReaders::isEmpty);

        alive.set(false);

        Awaitility.await().during(Duration.ofMillis(200)).atMost(LONG).until(crashes::mayBeAsked);
        assertFalse(Files.exists(layout.machineDirectory().resolve("statistics-crashes")));
    }

    @Test
    void aDriverThatFloodsIsReadSlowly() throws InterruptedException {
        TaskStatsResponse[] many = new TaskStatsResponse[50];
        for (int i = 0; i < many.length; i++) {
            many[i] = told(cpu(i), resident(1));
        }
        driver.counting(many);
        try (TaskStatistics statistics = statistics(launch("l1"))) {
            assertEquals(Optional.empty(), statistics.take());
            long begun = System.nanoTime();
            int taken = 0;
            while (taken < 5) {
                taken += statistics.take().isPresent() ? 1 : 0;
                Thread.sleep(1);
            }

            assertTrue(
                    System.nanoTime() - begun >= Duration.ofMillis(300).toNanos(), "messages are taken as they come");
        }
    }
}
