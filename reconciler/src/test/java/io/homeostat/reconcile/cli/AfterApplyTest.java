package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What commands say of a machine on which something was applied. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class AfterApplyTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void jsonHasAResultAWorkload() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        Result result = shell.run("apply", "-f", directory + "/a.yaml", "-o", "json");
        assertEquals(
                "{\"formatVersion\":\"1.0\",\"workloads\":[{\"workload\":\"process/a\",\"result\":\"converged\",\"action\":\"install\","
                        + "\"reason\":\"NOT_INSTALLED\",\"message\":\"not running\",\"revision\":\"local\"}],"
                        + "\"summary\":{\"installed\":1,\"updated\":0,\"repaired\":0,\"removed\":0,\"failed\":0,\"unchanged\":0,\"waiting\":0}}\n",
                result.out());
    }

    @Test
    void statusHasAllThatIsSpecified() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        apply();
        Result result = shell.run("status", "process/a", "-o", "json");
        assertEquals(0, result.status(), result.err());
        JsonNode status = JSON.readTree(result.out());
        assertTrue(status.get("agent").isNull());
        JsonNode workload = status.get("workloads").get(0);
        assertEquals(
                "[kind, name, source, generation, observedGeneration, state, desiredRevision, currentRevision, pendingRevision, pid,"
                        + " startedAt, restarts, lastExit, health, configHash, metrics, conditions]",
                Stream.of(workload)
                        .flatMap(node -> node.properties().stream())
                        .map(Map.Entry::getKey)
                        .toList()
                        .toString());
        assertEquals("RUNNING", workload.get("state").asText());
        assertEquals(shell.pid(A), workload.get("pid").asLong());
        assertEquals(0, workload.get("health").get("code").asInt());
        assertEquals(5, workload.get("conditions").size());
        assertEquals("Converged", workload.get("conditions").get(0).get("type").asText());
        assertEquals("True", workload.get("conditions").get(0).get("status").asText());
    }

    @Test
    void statusOfAnUnknownWorkloadNamesTheKnownOnes() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        apply();
        Result result = shell.run("status", "process/b");
        assertEquals(1, result.status());
        assertTrue(result.err().endsWith("declared are: process/a\n"), result.err());
    }

    @Test
    void eventsTellTheStory() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        apply();
        Result text = shell.run("events");
        assertTrue(text.out().contains("  process/a  local  PLUGIN_CONFIG_INSTALL  declared by applied\n"), text.out());
        String last = shell.run("events", "-o", "json")
                .out()
                .lines()
                .reduce((a, b) -> b)
                .orElseThrow();
        JsonNode event = JSON.readTree(last);
        assertEquals("PLUGIN_INSTALLED", event.get("type").asText());
        assertEquals("process/a", event.get("workload").asText());
    }

    @Test
    void logsAreTheWorkloadsOwnWords() throws IOException {
        shell.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "echo to out; echo to err >&2; exec sleep 600"]
                """);
        apply();
        assertEquals("to out\nto err\n", shell.run("logs", "process/a").out());
        assertEquals(1, shell.run("logs", "process/b").status());
    }

    private Result apply() {
        return shell.run("apply", "-f", directory + "/a.yaml");
    }
}
