package io.homeostat.reconcile.agent.fleet;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.SharedEtcd;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Against a real etcd. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
class FleetReporterTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final RecordCodec CODEC = new RecordCodec(new ObjectMapper());

    private final FleetKeys keys = new FleetKeys(SharedEtcd.newPrefix());
    private KeyValues store;
    private final ReportedWorkloads workloads = new ReportedWorkloads();
    private final List<Long> registered = new CopyOnWriteArrayList<>();
    private volatile ImmutableSortedMap<String, String> labels = ImmutableSortedMap.of("role", "web");
    private volatile String version = "17";
    private Duration lifetime = FleetReporter.LEASE;

    @BeforeEach
    void start() {
        store = new EtcdKeyValues(SharedEtcd.below(keys.prefix()));
    }

    @AfterEach
    void end() {
        store.close();
    }

    private FleetReporter reporter(KeyValues through) {
        FleetReporter reporter = new FleetReporter(
                through,
                keys,
                "i-1",
                workloads,
                () -> new Reporter.About("1.0", labels, "etcd", version, 42, 0),
                Clock.systemUTC(),
                new Random(1),
                Duration.ofMillis(50),
                lifetime,
                (with, revision) -> registered.add(revision));
        workloads.onChange(reporter::changed);
        reporter.start();
        return reporter;
    }

    private void looked(Example example) {
        Situation situation = example.learned().situation();
        workloads.looked(situation, Planner.plan(situation));
    }

    private Optional<Entry> found(String key) throws Exception {
        return Optional.ofNullable(store.list(key).entries().get(key));
    }

    private MachineReport report() throws Exception {
        return found(keys.report("i-1"))
                .map(entry -> CODEC.read(MachineReport.class, entry.value().toStringUtf8()))
                .orElseThrow();
    }

    private ImmutableSortedMap<String, String> registeredLabels() throws Exception {
        Entry machine = found(keys.machine("i-1")).orElseThrow();
        return CODEC.read(MachineRegistration.class, machine.value().toStringUtf8())
                .labels();
    }

    private List<ReportedWorkload> workloads() throws Exception {
        return report().workloads();
    }

    @Test
    void whatTheLoopSawIsReported() throws Exception {
        try (FleetReporter reporter = reporter(store)) {
            looked(Example.plugin()
                    .wants("A")
                    .installed("A")
                    .active("A")
                    .runs("A")
                    .knownGood("A"));
            await().atMost(PATIENCE).ignoreExceptions().until(() -> !workloads().isEmpty());
            ReportedWorkload well = workloads().getFirst();
            assertEquals(
                    List.of("plugin/p", "A", "A", "", "RUNNING"),
                    List.of(well.id(), well.revision(), well.desired(), well.failed(), well.state()));
            assertTrue(well.converged());
            assertEquals(
                    List.of("1.0", "etcd", "17", 42L),
                    List.of(report().agent(), report().source(), report().version(), report().sequence()));

            looked(Example.plugin()
                    .wants("B")
                    .installed("A")
                    .active("A")
                    .runs("A")
                    .knownGood("A"));
            await().atMost(PATIENCE)
                    .until(() -> workloads().getFirst().desired().equals("B"));
            looked(Example.plugin());
            await().atMost(PATIENCE).until(() -> workloads().isEmpty());
            version = "18";
            reporter.changed();
            await().atMost(PATIENCE).until(() -> report().version().equals("18"));
        }
        assertEquals(Optional.empty(), found(keys.report("i-1")), "who ended on purpose is silent at once");
        assertTrue(found(keys.machine("i-1")).isPresent());
    }

    @Test
    void whatStaysTheSameIsWrittenOnce() throws Exception {
        try (FleetReporter reporter = reporter(store)) {
            await().atMost(PATIENCE).ignoreExceptions().until(() -> workloads().isEmpty());
            List<Entry> written = new CopyOnWriteArrayList<>();
            long before = found(keys.report("i-1")).orElseThrow().modified();
            try (KeyValues.Watching _ = store.watch(keys.report("i-1"), before, new WriteListener(written))) {
                for (int i = 0; i < 5; i++) {
                    reporter.changed();
                }
                version = "18";
                reporter.changed();
                await().atMost(PATIENCE).until(() -> !written.isEmpty());
            }
            assertEquals("18", report().version());
            assertEquals(
                    List.of(found(keys.report("i-1")).orElseThrow().modified()),
                    written.stream().map(Entry::modified).toList());
        }
    }

    @Test
    void aRegistrationCountsFromWhenItGotItsLabels() throws Exception {
        for (int start = 1; start <= 4; start++) {
            int times = start;
            if (times > 2) {
                labels = ImmutableSortedMap.of("role", "db");
            }
            try (FleetReporter reporter = reporter(store)) {
                await().atMost(PATIENCE).until(() -> registered.size() == times);
            }
        }
        Entry machine = found(keys.machine("i-1")).orElseThrow();
        assertEquals(List.of(machine.created(), machine.created(), machine.modified(), machine.modified()), registered);
        assertNotEquals(machine.created(), machine.modified());
        assertEquals(labels, registeredLabels());
    }

    @Test
    void labelsThatChangeWhileItReportsAreRegistered() throws Exception {
        try (FleetReporter reporter = reporter(store)) {
            await().atMost(PATIENCE).ignoreExceptions().until(() -> workloads().isEmpty());
            labels = ImmutableSortedMap.of("role", "db");
            reporter.changed();
            await().atMost(PATIENCE).until(() -> registered.size() == 2);
        }
        assertEquals(labels, registeredLabels());
        assertEquals(found(keys.machine("i-1")).orElseThrow().modified(), registered.getLast());
    }

    @Test
    void aReportThatSomebodyRemovedComesBack() throws Exception {
        lifetime = Duration.ofSeconds(3);
        try (FleetReporter reporter = reporter(store)) {
            await().atMost(PATIENCE).ignoreExceptions().until(() -> workloads().isEmpty());
            store.commit(
                    ImmutableList.of(),
                    ImmutableList.of(new Write.Delete(keys.report("i-1")), new Write.Delete(keys.machine("i-1"))));
            await().atMost(PATIENCE)
                    .until(() -> found(keys.report("i-1")).isPresent()
                            && found(keys.machine("i-1")).isPresent());
        }
    }

    @Test
    void aRegistrationThatIsGoneComesBackWithTheNextReport() throws Exception {
        try (FleetReporter reporter = reporter(store)) {
            await().atMost(PATIENCE).ignoreExceptions().until(() -> workloads().isEmpty());
            store.commit(
                    ImmutableList.of(),
                    ImmutableList.of(new Write.Delete(keys.report("i-1")), new Write.Delete(keys.machine("i-1"))));
            looked(Example.plugin().wants("A").installed("A").active("A").runs("A"));
            await().atMost(PATIENCE)
                    .until(() -> found(keys.report("i-1")).isPresent()
                            && found(keys.machine("i-1")).isPresent());
        }
    }

    @Test
    void anEtcdThatIsAwayIsToldAndReportedToWhenItIsBack(@TempDir Path directory) throws Exception {
        try (EtcdCluster etcd = EtcdCluster.start(directory, 1);
                KeyValues own = new EtcdKeyValues(
                        new Etcd(ImmutableList.copyOf(etcd.endpoints()), keys.prefix(), null, null))) {
            store.close();
            store = own;
            // Killed while it makes its files it can't be started again.
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> store.list(keys.reports()).entries().isEmpty());
            etcd.kill(0);
            try (FleetReporter reporter = reporter(own)) {
                await().atMost(PATIENCE)
                        .until(() -> reporter.problem()
                                .contains("in etcd at " + etcd.endpoints().get(0)));
                etcd.start(0);
                await().atMost(PATIENCE)
                        .ignoreExceptions()
                        .until(() -> workloads().isEmpty());
                await().atMost(PATIENCE).until(() -> reporter.problem().isEmpty());
            }
        }
    }

    @Test
    void aRegistrationThatIsNoJsonIsWrittenAnew() throws Exception {
        store.commit(
                ImmutableList.of(),
                ImmutableList.of(new Write.Put(keys.machine("i-1"), ByteString.copyFromUtf8("?"), 0)));
        try (FleetReporter reporter = reporter(store)) {
            await().atMost(PATIENCE).until(() -> !registered.isEmpty());
            assertTrue(found(keys.machine("i-1"))
                    .orElseThrow()
                    .value()
                    .toStringUtf8()
                    .contains("web"));
        }
    }

    private record WriteListener(List<Entry> written) implements KeyValues.Listener {
        @Override
        public void changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long revision) {
            written.addAll(put);
        }

        @Override
        public void ended(KeyValuesException failure) {
            throw new AssertionError(failure);
        }
    }
}
