package io.homeostat.reconcile.fleet;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.SharedEtcd;
import io.homeostat.reconcile.fleet.FleetMirror.Scope;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Controllers on a real etcd. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Timeout(600)
class FleetControllerTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final Instant NOON = Instant.parse("2026-11-01T12:00:00Z");

    private final FleetKeys keys = new FleetKeys(SharedEtcd.newPrefix());
    private final RecordCodec codec = new RecordCodec(new JsonMapper());
    private final Rollout rollout = new Fleet(0, "1 100%").rollout();
    private final List<Replica> replicas = new ArrayList<>();
    private final HeardLog log =
            HeardLog.ofLines(line -> line.startsWith("first ") || line.startsWith("second "), FleetController.class);
    private Etcd etcd;
    private KeyValues store;

    private final class Replica {
        final KeyValues connection = connect();
        final Thread thread;

        Replica(String name) {
            FleetController controller = new FleetController(
                    connection,
                    keys,
                    set -> ImmutableList.of(new Scope(rollout, labels -> true)),
                    name,
                    InstantSource.system(),
                    Ticker.systemTicker(),
                    new Random(1));
            thread = Thread.ofVirtual().start(() -> {
                try {
                    controller.run();
                } catch (InterruptedException e) {
                    // Told to end.
                    Thread.currentThread().interrupt();
                }
            });
            replicas.add(this);
        }

        void end() throws InterruptedException {
            thread.interrupt();
            thread.join(PATIENCE);
            assertFalse(thread.isAlive(), "it does not end");
            connection.close();
        }
    }

    @BeforeEach
    void start() {
        etcd = SharedEtcd.below(keys.prefix());
        store = connect();
    }

    @AfterEach
    void end() throws InterruptedException {
        for (Replica replica : replicas) {
            replica.end();
        }
        store.close();
        log.close();
    }

    private KeyValues connect() {
        return new EtcdKeyValues(etcd);
    }

    private void put(String key, String value) throws Exception {
        store.commit(
                        ImmutableList.of(),
                        ImmutableList.of(
                                new KeyValues.Write.Put(key, ByteString.copyFromUtf8(value), KeyValues.NO_LEASE)))
                .orElseThrow();
    }

    private void register(String id) throws Exception {
        put(keys.machine(id), codec.write(new MachineRegistration(ImmutableSortedMap.of(), NOON)));
    }

    private void report(String id, String failed) throws Exception {
        ReportedWorkload workload =
                new ReportedWorkload(Fleet.WORKLOAD, "2", "2", failed, "Running", true, true, false, false, 0, "");
        put(keys.report(id), codec.write(new MachineReport("1", NOON, "etcd", "1", 1, 0, ImmutableList.of(workload))));
    }

    private Optional<RolloutState> state() throws Exception {
        return store.list(keys.rollouts()).entries().values().stream()
                .map(entry -> codec.read(RolloutState.class, entry.value().toStringUtf8()))
                .findFirst();
    }

    private void awaitState(Callable<Boolean> what) {
        await().atMost(PATIENCE).ignoreExceptions().until(what);
    }

    private List<String> candidates() throws Exception {
        return store.list(keys.leader()).entries().values().stream()
                .sorted((one, other) -> Long.compare(one.created(), other.created()))
                .map(Entry::value)
                .map(ByteString::toStringUtf8)
                .toList();
    }

    @Test
    void aCanaryThatFailsHaltsItAndTheNextControllerGoesOnFromThere() throws Exception {
        register("vm-1");
        put(keys.set(), "set");
        Replica first = new Replica("first");
        awaitState(() -> state().orElseThrow().machines() == 1);
        new Replica("second");
        await().atMost(PATIENCE).until(() -> candidates().equals(List.of("first", "second")));

        report("vm-1", "2");
        awaitState(() -> state().orElseThrow().phase() == Phase.HALTED);
        RolloutState halted = state().orElseThrow();

        assertEquals("first leads", log.lines().getFirst());
        first.end();
        replicas.remove(first);
        String ended = "first does not lead any more";
        assertTrue(log.lines().contains(ended));
        await().atMost(PATIENCE).until(() -> candidates().equals(List.of("second")));
        put(
                keys.order("web"),
                codec.write(new RolloutOrder(rollout.digest(), RolloutOrder.Action.RESUME, NOON, "ann")));
        awaitState(() -> state().orElseThrow().phase() == Phase.PROGRESSING);
        RolloutState resumed = state().orElseThrow();
        assertEquals(1, resumed.forgiven());
        assertEquals(
                Duration.between(halted.opened(), halted.since()), Duration.between(resumed.opened(), resumed.since()));
        assertEquals(List.of("second"), candidates());
        // A busy machine may have it lose its lease, and lead again.
        assertEquals(
                List.of("first leads", ended, "second leads"),
                log.lines().stream().distinct().limit(3).toList());
    }

    @Test
    void itGoesOnWhenEtcdWasAway(@TempDir Path directory) throws Exception {
        store.close();
        try (EtcdCluster own = EtcdCluster.start(directory, 1)) {
            etcd = new Etcd(ImmutableList.copyOf(own.endpoints()), keys.prefix(), null, null);
            store = connect();
            put(keys.set(), "set");
            Replica only = new Replica("only");
            awaitState(() -> state().isPresent());
            own.kill(0);
            own.start(0);
            awaitState(() -> {
                register("vm-1");
                return true;
            });

            awaitState(() -> state().orElseThrow().machines() == 1);
            assertEquals(List.of("only"), candidates());
            only.end();
            replicas.remove(only);
        }
    }
}
