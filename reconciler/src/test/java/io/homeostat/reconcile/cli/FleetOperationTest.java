package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.protobuf.ByteString;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.model.AgentConfig.Etcd;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** The commands for a fleet, with a real etcd. */
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
class FleetOperationTest {
    private static final int NOBODY = 65534;
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final String SET = """
            apiVersion: homeostat.io/v1
            kind: Rollout
            metadata: {name: web-2}
            spec: {workloads: [process/web], from: "1", to: "2"}
            ---
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: web}
            spec: {install: local, revision: "1", entryPoint: /bin/true}
            ---
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: web}
            spec: {install: local, revision: "2", entryPoint: /bin/true}
            """;

    private Path directory;
    private Path config;
    private Shell shell;
    private EtcdCluster etcd;
    private KeyValues store;

    /** Of an ordinary user: root's configuration has a fixed place. */
    @BeforeEach
    void start() throws IOException {
        directory = Files.createTempDirectory("hf").toRealPath();
        if (((Number) Files.getAttribute(directory, "unix:uid")).intValue() == 0) {
            Files.setAttribute(directory, "unix:uid", NOBODY);
        }
        etcd = EtcdCluster.start(directory.resolve("etcd"), 1);
        String endpoint = etcd.endpoints().getFirst();
        config = Files.writeString(
                directory.resolve("agent.yaml"), "sources: {etcd: {endpoints: ['" + endpoint + "']}}\n");
        shell = new Shell(directory).with(Map.of("XDG_CONFIG_HOME", directory + "/config", "USER", "ann"));
        store = new EtcdKeyValues(new Etcd(ImmutableList.of(endpoint), "/homeostat", null, null));
    }

    @AfterEach
    void end() throws Exception {
        store.close();
        etcd.close();
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    private Result fleet(String... words) {
        return shell.plain(ImmutableList.<String>builder()
                .add("fleet")
                .add(words)
                .add("--config", config.toString())
                .build()
                .toArray(String[]::new));
    }

    private void put(String key, String value) throws Exception {
        store.commit(
                        ImmutableList.of(),
                        ImmutableList.of(new KeyValues.Write.Put(
                                "/homeostat/" + key, ByteString.copyFromUtf8(value), KeyValues.NO_LEASE)))
                .orElseThrow();
    }

    @Test
    void aRolloutIsFollowedPausedAndResumed() throws Exception {
        put("machines/vm-1", "{\"at\": \"2026-11-01T12:00:00Z\"}");
        put("set", SET);
        CompletableFuture<Integer> ended = new CompletableFuture<>();
        Thread controller = Thread.ofPlatform()
                .start(() -> ended.complete(fleet("controller").status()));
        try {
            await().atMost(PATIENCE).until(() -> fleet("status").out().contains("wave 1 of 4 is open"));
            assertEquals("""
                    1 machine, 0 heard of, 1 silent
                    ROLLOUT  PHASE        WAVE  MACHINES  DONE  WAITING  SILENT  FAILED  REASON
                    web-2    progressing  1/4   1         0     0        1       0       wave 1 of 4 is open
                    web-2: vm-1 silent: nothing is heard of it
                    """, fleet("status").out());
            assertEquals(1, fleet("status").status(), "a silent machine is not well");

            assertEquals(
                    new Result(0, "ordered: pause web-2; the controller that leads follows\n", ""),
                    fleet("pause", "web-2"));
            await().atMost(PATIENCE)
                    .until(() -> fleet("status", "-o", "json")
                            .out()
                            .contains("\"phase\":\"paused\",\"wave\":1,\"from\":\"1\",\"to\":\"2\",\"machines\":1"));
            assertTrue(fleet("status").out().contains("paused by ann"));
            fleet("rollback", "web-2");
            await().atMost(PATIENCE).until(() -> fleet("status").out().contains("rolledBack"));
        } finally {
            controller.interrupt();
        }
        assertEquals(0, ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        assertTrue(store.list("/homeostat/leader").entries().isEmpty(), "another one need not wait for its lease");
    }

    @Test
    void whatMakesNoSenseIsSaid() throws Exception {
        assertEquals(
                ImmutableList.of(64, 64, 64),
                ImmutableList.of(
                        fleet("frob").status(),
                        fleet("pause").status(),
                        fleet("status", "web").status()));
        Result unknown = fleet("pause", "web");
        assertEquals(1, unknown.status());
        assertTrue(unknown.err().contains("there is no rollout web; none is published"), unknown.err());
        assertTrue(store.list("/homeostat/").entries().isEmpty(), "nothing was written");

        Files.writeString(config, "{}");
        assertTrue(
                fleet("status").err().contains(config + " has no sources.etcd"),
                fleet("status").err());
    }

    @Test
    void aStoreThatDoesNotAnswerIsNamed() throws Exception {
        etcd.kill(0);
        Result silent = fleet("status");

        assertEquals(1, silent.status());
        assertTrue(silent.err().contains(etcd.endpoints().getFirst()), silent.err());
        assertFalse(silent.err().contains("Exception"), silent.err());
    }
}
