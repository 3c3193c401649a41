package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.reconcile.SharedEtcd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** An agent as one of a fleet, against a real etcd: which documents it takes, and what it reports. */
@Timeout(300)
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
final class AgentFleetTest {
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final RecordCodec CODEC = new RecordCodec(new ObjectMapper());
    private static final String TWO_REVISIONS = web("1") + web("2") + """
            ---
            apiVersion: homeostat.io/v1
            kind: Rollout
            metadata: {name: web-2}
            spec: {workloads: [process/web], from: "1", to: "2"}
            """;

    private static final String LAST_PLACE = "f".repeat(16);

    private final AgentBench bench = new AgentBench();
    private final FleetKeys keys = new FleetKeys(SharedEtcd.newPrefix());
    private AgentConfig config;
    private KeyValues etcd;
    private int sequence;

    @BeforeEach
    void start() {
        config = config("role: web");
        etcd = new EtcdKeyValues(Objects.requireNonNull(config.sources().etcd()));
    }

    @AfterEach
    void close() throws IOException {
        bench.close();
        etcd.close();
    }

    private AgentConfig config(String labels) {
        return bench.config("labels: {" + labels + "}\nsources: {local: {directories: []}, "
                + SharedEtcd.source(keys.prefix()) + "}");
    }

    private static String web(String revision) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                placement: {matchLabels: {role: web}}
                spec:
                  install: local
                  revision: "%s"
                  entryPoint: /bin/sleep
                  arguments: ["60%s"]
                """.formatted(revision, revision);
    }

    private void publish(String documents) throws Exception {
        sequence++;
        byte[] set = SetFile.of(
                        "default",
                        sequence,
                        Instant.now(),
                        ImmutableSortedMap.of("web.yaml", documents),
                        Optional.empty())
                .compressed();
        put(keys.set(), ByteString.copyFrom(set));
    }

    private void put(String key, ByteString value) throws Exception {
        etcd.commit(ImmutableList.of(), ImmutableList.of(new Write.Put(key, value, KeyValues.NO_LEASE)))
                .orElseThrow();
    }

    private void stands(Phase phase, String through) throws Exception {
        stands(phase, through, 1L << 40);
    }

    private void stands(Phase phase, String through, long asOf) throws Exception {
        Choice.ReadRollout read = DocumentReader.parse(
                        DocumentReader.collect(
                                List.of(new DocumentReader.Input.Text("set", "set", null, TWO_REVISIONS))),
                        Choice.ALL)
                .rollouts()
                .getFirst();
        RolloutState state = new RolloutState(
                Rollout.of(read.name(), read.spec()).digest(),
                phase,
                0,
                through,
                asOf,
                1,
                Instant.EPOCH,
                Instant.EPOCH,
                null,
                0,
                0,
                "");
        put(keys.rollout("web-2"), ByteString.copyFromUtf8(CODEC.write(state)));
    }

    private void awaitSequence(long sequence) {
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().publishedSets().stream()
                        .flatMap(standing -> standing.set().stream())
                        .anyMatch(set -> set.sequence() == sequence));
    }

    private String declared() {
        return bench.store().declarations().stream()
                .filter(declaration -> declaration.source() == SourceName.ETCD
                        && declaration.workload().id().equals(WEB))
                .map(declaration -> declaration.workload().revision())
                .findFirst()
                .orElse("none");
    }

    private void awaitDeclared(String revision) {
        await().atMost(AgentBench.PATIENCE).until(() -> declared().equals(revision));
    }

    private MachineReport report() throws Exception {
        return CODEC.read(MachineReport.class, value(keys.report("test")));
    }

    /** The machine knows it, too. */
    private void awaitRegistered(String label, String value) {
        await().atMost(AgentBench.PATIENCE).until(() -> {
            ImmutableSortedMap<String, String> labels = CODEC.read(
                            MachineRegistration.class, value(keys.machine("test")))
                    .labels();
            return value.equals(labels.get(label))
                    && bench.store().registeredAt(labels).isPresent();
        });
    }

    private String role() throws Exception {
        return Objects.requireNonNull(CODEC.read(MachineRegistration.class, value(keys.machine("test")))
                .labels()
                .get("role"));
    }

    private String value(String key) throws Exception {
        Entry entry = Objects.requireNonNull(etcd.list(key).entries().get(key));
        return entry.value().toStringUtf8();
    }

    @Test
    void aMachineTakesTheNewRevisionWhenItIsItsTurnAndSaysSo() throws Exception {
        publish(TWO_REVISIONS);
        bench.start(config, true);
        awaitDeclared("1");

        stands(Phase.PROGRESSING, Rollout.EVERYBODY);
        awaitDeclared("2");
        await().atMost(AgentBench.PATIENCE).ignoreExceptions().until(() -> {
            MachineReport report = report();
            return report.sequence() == 1
                    && report.workloads().size() == 1
                    && report.workloads().getFirst().revision().equals("2")
                    && report.workloads().getFirst().healthy();
        });
        assertEquals("web", role());

        stands(Phase.ROLLED_BACK, Rollout.NOBODY);
        awaitDeclared("1");
    }

    @Test
    void aHaltStopsWhoeverHasNotTakenTheNewRevision() throws Exception {
        stands(Phase.HALTED, Rollout.EVERYBODY);
        publish(TWO_REVISIONS);
        bench.start(config, true);
        awaitDeclared("1");
        stands(Phase.PROGRESSING, Rollout.EVERYBODY);
        awaitDeclared("2");

        stands(Phase.HALTED, Rollout.NOBODY);
        publish(TWO_REVISIONS + "# published again\n");
        awaitSequence(2);
        assertEquals("2", declared());
    }

    @Test
    void aRolloutOpensNoMaintenanceWindow() throws Exception {
        String opens = ZonedDateTime.now(ZoneOffset.UTC).plusHours(12).format(DateTimeFormatter.ofPattern("HH:mm"));
        String closed = TWO_REVISIONS.replace(
                "spec:\n", "spec:\n  maintenanceWindow: {start: '" + opens + "', duration: 1h}\n");
        publish(closed);
        bench.start(config, true);
        awaitWell("1");

        stands(Phase.PROGRESSING, Rollout.EVERYBODY);
        awaitDeclared("2");
        awaitWindow();
        publish(TWO_REVISIONS);
        awaitWell("2");

        publish(closed);
        awaitSequence(3);
        stands(Phase.ROLLED_BACK, Rollout.NOBODY);
        awaitDeclared("1");
        awaitWindow();
    }

    private void awaitWell(String revision) {
        await().atMost(AgentBench.PATIENCE).until(() -> {
            LastKnownGood good = bench.store().history(WEB).lastKnownGood();
            return good != null && good.workload().revision().equals(revision) && !waitsForWindow();
        });
    }

    private void awaitWindow() {
        await().atMost(AgentBench.PATIENCE).until(this::waitsForWindow);
    }

    private boolean waitsForWindow() {
        return bench.store().history(WEB).conditions().stream()
                .anyMatch(condition -> condition.reason() == Reason.WAITING_FOR_WINDOW);
    }

    /** Not even a store that was lost moves a machine. */
    @Test
    void aMachineGoesOnByWhatItHeardLast(@TempDir Path directory) throws Exception {
        try (EtcdCluster own = EtcdCluster.start(directory, 1)) {
            etcd.close();
            config = bench.config("labels: {role: web}\nsources: {local: {directories: []}, etcd: {prefix: "
                    + keys.prefix() + ", endpoints: ['" + own.endpoints().getFirst() + "']}}");
            etcd = new EtcdKeyValues(Objects.requireNonNull(config.sources().etcd()));
            goesOnWithout(own);
            bench.stop();
        }
    }

    private void goesOnWithout(EtcdCluster own) throws Exception {
        publish(TWO_REVISIONS);
        stands(Phase.PROGRESSING, Rollout.EVERYBODY);
        bench.start(config, true);
        awaitDeclared("2");
        bench.stop();

        etcd.commit(ImmutableList.of(), ImmutableList.of(new Write.Delete(keys.rollout("web-2"))));
        put(keys.rollout("other"), ByteString.copyFromUtf8("{what a newer version writes"));
        bench.start(config, true);
        publish(TWO_REVISIONS + "# published again\n");
        awaitSequence(2);
        assertEquals("2", declared());

        own.kill(0);
        bench.stop();
        bench.start(config, true);
        bench.running(WEB);
        assertEquals("2", declared());
    }

    @Test
    void otherLabelsAreOtherDocuments() throws Exception {
        publish(web("1"));
        Agent agent = bench.start(config("role: db"), true);
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().publishedSets().stream()
                        .anyMatch(standing -> standing.set().isPresent()));
        assertEquals("none", declared());

        agent.reload(config);
        bench.running(WEB);
        agent.reload(config("role: db"));
        bench.awaitNone(WEB);
        await().atMost(AgentBench.PATIENCE).ignoreExceptions().until(() -> role().equals("db"));
    }

    /** It was there before the wave opened, but nobody has counted it then. */
    @Test
    void aMachineThatGetsItsLabelsLaterWaitsForTheNextWave() throws Exception {
        publish(TWO_REVISIONS);
        Agent agent = bench.start(config("role: db"), true);
        await().atMost(AgentBench.PATIENCE).ignoreExceptions().until(() -> role().equals("db"));
        long opened = etcd.list(keys.machines()).revision();
        stands(Phase.PROGRESSING, LAST_PLACE, opened);
        await().atMost(AgentBench.PATIENCE)
                .until(() -> !bench.store().rolloutStates().isEmpty());
        awaitSequence(1);

        agent.reload(config);
        await().atMost(AgentBench.PATIENCE).until(() -> !declared().equals("none"));
        assertEquals("1", declared());
        awaitRegistered("role", "web");
        publish(TWO_REVISIONS + "# published again\n");
        awaitSequence(2);
        assertEquals("1", declared());

        stands(Phase.PROGRESSING, LAST_PLACE);
        awaitDeclared("2");
        agent.reload(config("role: web, tier: front"));
        awaitRegistered("tier", "front");
        assertEquals("2", declared(), "who has it keeps it");
    }

    @Test
    void anAgentThatEndsIsSilentAtOnce() throws Exception {
        bench.start(config, true);
        await().atMost(AgentBench.PATIENCE)
                .ignoreExceptions()
                .until(() -> report().workloads().isEmpty());
        bench.stop();
        // Its lease would last for 45 s.
        await().atMost(Duration.ofSeconds(30))
                .until(() -> etcd.list(keys.reports()).entries().isEmpty());
        assertEquals(1, etcd.list(keys.machines()).entries().size());
    }
}
