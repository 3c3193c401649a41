package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.proto.plugin.Status;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Verifying, states and the removal of dynamic plugins. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class AdHocTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;
    private FakePlugin plugin;

    @BeforeEach
    void applyOne() throws IOException {
        shell = new Shell(directory);
        plugin = new FakePlugin(shell, "a");
        plugin.status =
                request -> Status.newBuilder().setCode(4).addResults("busy").build();
        shell.write("a.yaml", plugin.document());
        Result applied = shell.run("apply", "-f", directory + "/a.yaml");
        assertEquals(0, applied.status(), applied.out());
    }

    @AfterEach
    void leaveNothingBehind() throws Exception {
        try (FakePlugin _ = plugin) {
            shell.close();
        }
    }

    @Test
    void verifyingSaysWhetherARevisionRunsAndWhyNot() throws IOException {
        plugin.status = request -> Status.getDefaultInstance();
        Result good = shell.run("verify", "plugin/a", "--revision", "1");
        assertEquals(0, good.status(), good.out());
        assertEquals("plugin/a runs at revision 1\n", good.out());

        Result other = shell.run("verify", "plugin/a", "--revision", "2");
        assertEquals(1, other.status());
        assertTrue(other.out().matches("plugin/a [^\n]* 1, not 2\n"), other.out());

        shell.run("stop", "plugin/a");
        JsonNode stopped = JSON.readTree(
                shell.run("verify", "plugin/a", "--revision", "1", "-o", "json").out());
        assertFalse(stopped.get("verified").asBoolean());
        assertTrue(stopped.get("message").asText().startsWith("does not run, it is STOPPED: stopped by request"));

        Result unknown = shell.run("verify", "plugin/b", "--revision", "1");
        assertEquals(1, unknown.status());
        assertEquals("plugin/b is neither declared nor on this machine\n", unknown.out());
    }

    @Test
    void aPluginThatDoesNotAnswerIsNotVerified() {
        plugin.status = request -> {
            throw new IllegalStateException("out of order");
        };

        Result verified = shell.run("verify", "plugin/a", "--revision", "1");

        assertEquals(1, verified.status());
        assertTrue(verified.out().matches("plugin/a [^\n]*: GetStatus failed[^\n]*\n"), verified.out());
    }

    @Test
    void aPluginThatReportsACodeIsNotWell() {
        Result verified = shell.run("verify", "plugin/a", "--revision", "1");

        assertEquals(1, verified.status());
        assertEquals("plugin/a runs at revision 1 and is not well: it reports code 4\n", verified.out());
    }

    @Test
    void statesAreThoseThatAControlPlaneIsToldInTheJsonOfProtobuf() throws IOException {
        JsonNode states = JSON.readTree(shell.run("states", "-o", "json").out());

        JsonNode state = states.at("/daemonPluginStates/0");
        assertEquals("a", state.get("name").asText());
        assertEquals("1", state.get("currentRevisionId").asText());
        assertEquals("RUNNING", state.at("/currentPluginStatus/status").asText());
        assertEquals(4, state.at("/currentPluginStatus/responseCode").asInt());
        assertEquals("busy", state.at("/currentPluginStatus/results/0").asText());
        Instant.parse(state.at("/currentPluginStatus/updateTime").asText());
        assertEquals(64, state.get("configHash").asText().length());
        assertFalse(state.has("pendingRevisionId"), "what has its default is left out");

        assertTrue(
                shell.run("states").out().contains("a       1         RUNNING  4     -        -               busy\n"));
    }

    @Test
    void anAgentVerifiesAndStatesForWhoeverAsks() throws IOException {
        plugin.status = request -> Status.getDefaultInstance();
        try (TestAgent agent = TestAgent.start(shell)) {
            assertEquals(0, shell.run("verify", "plugin/a", "--revision", "1").status());
            JsonNode states = JSON.readTree(shell.run("states", "-o", "json").out());
            assertEquals("a", states.at("/daemonPluginStates/0/name").asText());
            assertEquals(2, agent.calls());
        }
    }

    @Test
    void onlyDynamicPluginsAreRemovedAndOnlyWhenItIsMeant() throws IOException {
        Path archive = shell.write("nothing.tar.gz", "no archive at all");
        shell.write("dynamic.yaml", dynamic("b", archive) + dynamic("GuestAgentCorePlugin", archive));
        shell.run("apply", "-f", directory + "/dynamic.yaml", "--timeout", "20s");

        Result asked = shell.run("reset");
        assertEquals(1, asked.status());
        assertTrue(asked.err().contains("with --yes these are, with their state: plugin/b\n"), asked.err());
        assertTrue(shell.run("status").out().contains("plugin/b"));

        Result reset = shell.run("reset", "--yes", "-o", "json");

        JsonNode results = JSON.readTree(reset.out());
        String left = shell.run("status").out();
        assertFalse(left.contains("plugin/b "), left);
        assertTrue(left.contains("plugin/a "), "install: local");
        assertTrue(left.contains("plugin/GuestAgentCorePlugin "), "protected");
        assertTrue(results.toString().contains("\"workload\":\"plugin/a\",\"result\":\"unchanged\""), reset.out());
        assertFalse(Files.exists(shell.layout().workloadState(io.homeostat.desired.model.WorkloadId.plugin("b"))));
    }

    private static String dynamic(String name, Path archive) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: %s}
                spec:
                  revision: "1"
                  source: {url: "%s", attempts: 1}
                  entryPoint: bin/none
                """.formatted(name, archive);
    }
}
