package io.homeostat.reconcile.agent;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.desired.etcd.EtcdKeyValues;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Write;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.eclipse.jgit.api.Git;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An agent enforces what is published elsewhere, also while nobody answers there. */
@Timeout(300)
final class AgentPublishedSetsTest {
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final WorkloadId DB = WorkloadId.process("db");

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws IOException {
        bench.close();
    }

    @Test
    void whatAWebServerHasIsEnforcedAlsoAfterARestartWithoutIt() throws Exception {
        WebServer server = new WebServer();
        server.content = AgentBench.sleeper("web", 600);
        AgentConfig config = https(server.url());
        bench.start(config, true);
        ProcessIdentity first = bench.running(WEB);

        server.content = AgentBench.sleeper("web", 600) + "---\n" + AgentBench.sleeper("db", 600);
        ProcessIdentity db = bench.running(DB);

        bench.stop();
        server.close();
        AgentBench.kill(db);
        bench.start(config, true);
        bench.runningAfter(DB, db);
        assertEquals(first, bench.running(WEB));
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().problems().stream()
                        .anyMatch(problem -> problem.message().contains(" last answered ")));
    }

    @Test
    void aSourceThatIsTakenOutOfTheConfigurationIsWithdrawn() throws Exception {
        try (WebServer server = new WebServer()) {
            server.content = AgentBench.sleeper("web", 600);
            Agent agent = bench.start(https(server.url()), true);
            bench.running(WEB);

            agent.reload(bench.config("resync: 30s"));

            bench.awaitNone(WEB);
            assertEquals(ImmutableList.of(), bench.store().publishedSets());
        }
    }

    /** Nothing stops only because what comes after it does not answer yet. */
    @Test
    void aSourceThatTakesThePlaceOfAnotherIsWaitedFor() throws Exception {
        try (WebServer bucket = new WebServer();
                WebServer server = new WebServer()) {
            bucket.content = AgentBench.sleeper("web", 600);
            Agent agent = bench.start(
                    bench.config("sources: {local: {directories: []}, bucket: {url: 'gs://bucket/set.yaml', endpoint: '"
                            + bucket.url("/") + "', credentials: none, interval: 1s}}"),
                    true);
            ProcessIdentity web = bench.running(WEB);

            server.content = "";
            agent.reload(https(server.url()));
            await().atMost(AgentBench.PATIENCE)
                    .until(() -> bench.store().problems().stream()
                            .anyMatch(problem -> problem.message().contains("declares nothing")));
            assertEquals(web, bench.running(WEB));

            server.content = AgentBench.sleeper("db", 600);
            bench.running(DB);
            bench.awaitNone(WEB);
        }
    }

    @Test
    void aSourceThatIsTakenOutWhileNoAgentRunsIsWithdrawn() throws Exception {
        try (WebServer server = new WebServer()) {
            server.content = AgentBench.sleeper("web", 600);
            bench.start(https(server.url()), true);
            bench.running(WEB);
            bench.stop();

            bench.start("30s", true);

            bench.awaitNone(WEB);
        }
    }

    @Test
    void keysThatCannotBeReadChangeNothing() throws Exception {
        try (WebServer server = new WebServer()) {
            server.content = AgentBench.sleeper("web", 600);
            Agent agent = bench.start(https(server.url()), true);
            bench.running(WEB);
            AgentConfig wrong = bench.config("signatures: {documents: {require: true, keys: [/nowhere/key.pem]}}");

            ActuationFailure failure = assertThrows(ActuationFailure.class, () -> agent.reload(wrong));

            assertTrue(String.valueOf(failure.getMessage()).contains("/nowhere/key.pem"), failure::getMessage);
            assertEquals(1, bench.store().publishedSets().size());
            server.content = AgentBench.sleeper("db", 600);
            bench.running(DB);
        }
    }

    @Test
    void whatIsPublishedInEtcdRunsAtOnce(@TempDir Path directory) throws Exception {
        assumeTrue(EtcdCluster.isInstalled());
        try (EtcdCluster cluster = EtcdCluster.start(directory, 1)) {
            AgentConfig config = bench.config("sources: {local: {directories: []}, etcd: {endpoints: ['"
                    + cluster.endpoints().getFirst() + "']}}");
            try (KeyValues etcd =
                    new EtcdKeyValues(Objects.requireNonNull(config.sources().etcd()))) {
                publish(etcd, 1, "web");
                bench.start(config, true);
                bench.running(WEB);

                publish(etcd, 2, "db");
                bench.running(DB);
                bench.awaitNone(WEB);

                cluster.kill(0);
                await().atMost(AgentBench.PATIENCE)
                        .until(() -> !bench.store().problems().isEmpty());
                ProcessIdentity db = bench.running(DB);
                AgentBench.kill(db);
                bench.runningAfter(DB, db);

                cluster.start(0);
                await().atMost(AgentBench.PATIENCE)
                        .until(() -> bench.store().problems().isEmpty());
                publish(etcd, 3, "web");
                bench.running(WEB);
            }
        }
    }

    @Test
    void whatABucketHasIsEnforced() throws Exception {
        try (WebServer server = new WebServer()) {
            server.content = AgentBench.sleeper("web", 600);
            bench.start(
                    bench.config("sources: {local: {directories: []}, bucket: {url: 'gs://bucket/set.yaml', endpoint: '"
                            + server.url("/") + "', credentials: none, interval: 1s, reports: 'gs://bucket/reports'}}"),
                    true);

            bench.running(WEB);
            assertEquals(
                    "1",
                    bench.store().publishedSets().getFirst().set().orElseThrow().version());
            await().atMost(AgentBench.PATIENCE)
                    .until(() -> server.put.startsWith("/bucket/reports/test.json: ")
                            && server.put.contains("\"version\":\"1\"")
                            && server.put.contains("\"id\":\"process/web\""));
        }
    }

    @Test
    void whatAGitRepositoryHasIsEnforced(@TempDir Path directory) throws Exception {
        try (Git git = Git.init().setDirectory(directory.toFile()).call()) {
            push(git, directory, "web");
            bench.start(
                    bench.config("sources: {local: {directories: []}, git: {url: 'file://" + directory
                            + "', interval: 1s}}"),
                    true);
            bench.running(WEB);

            String commit = push(git, directory, "db");
            bench.running(DB);
            bench.awaitNone(WEB);
            assertEquals(
                    commit,
                    bench.store().publishedSets().getFirst().set().orElseThrow().version());

            Files.writeString(directory.resolve("web.yaml"), "kind: Wrong\n");
            commit(git);
            await().atMost(AgentBench.PATIENCE)
                    .until(() -> bench.store().problems().stream()
                            .anyMatch(problem -> problem.message().startsWith("file://" + directory + "/web.yaml:1:")));
            bench.running(DB);
        }
    }

    private static String push(Git git, Path directory, String process) throws Exception {
        Files.writeString(directory.resolve("web.yaml"), AgentBench.sleeper(process, 600));
        return commit(git);
    }

    private static String commit(Git git) throws Exception {
        git.add().addFilepattern("web.yaml").call();
        return git.commit()
                .setMessage("published")
                .setAuthor("me", "me@example.com")
                .setCommitter("me", "me@example.com")
                .setSign(false)
                .call()
                .name();
    }

    private static void publish(KeyValues etcd, long sequence, String process) throws Exception {
        SetFile set = SetFile.of(
                "default",
                sequence,
                Instant.EPOCH,
                ImmutableSortedMap.of("web.yaml", AgentBench.sleeper(process, 600)),
                Optional.empty());
        etcd.commit(
                ImmutableList.of(),
                ImmutableList.of(new Write.Put(
                        new FleetKeys("/homeostat").set(), ByteString.copyFrom(set.compressed()), KeyValues.NO_LEASE)));
    }

    private AgentConfig https(String url) {
        return bench.config(
                "sources: {local: {directories: []}, https: {url: '" + url + "', interval: 1s}}\nresync: 30s");
    }

    /** Serves one text, and remembers what was put last. */
    private static final class WebServer implements AutoCloseable {
        private final HttpServer server;
        private volatile String content = "";
        private volatile String put = "";

        WebServer() throws IOException {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", exchange -> {
                exchange.getResponseHeaders().add("x-goog-generation", "1");
                if (exchange.getRequestMethod().equals("PUT")) {
                    put = exchange.getRequestURI().getPath() + ": "
                            + new String(exchange.getRequestBody().readAllBytes(), UTF_8);
                }
                byte[] bytes = content.getBytes(UTF_8);
                exchange.sendResponseHeaders(200, bytes.length);
                try (OutputStream body = exchange.getResponseBody()) {
                    body.write(bytes);
                }
            });
            server.start();
        }

        String url() {
            return url("/set.yaml");
        }

        String url(String path) {
            return "http://127.0.0.1:" + server.getAddress().getPort() + path;
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }
}
