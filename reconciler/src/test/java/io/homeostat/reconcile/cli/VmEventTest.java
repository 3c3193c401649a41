package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.grpc.Status;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Events of the machine, told to plugins that run. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class VmEventTest {
    private static final WorkloadId B = WorkloadId.plugin("b");
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;
    private FakePlugin a;
    private FakePlugin b;

    @BeforeEach
    void applyTwo() throws IOException {
        shell = new Shell(directory);
        a = new FakePlugin(shell, "a");
        b = new FakePlugin(shell, "b");
        shell.write("ab.yaml", a.document() + b.document());
        Result applied = shell.run("apply", "-f", directory + "/ab.yaml");
        assertEquals(0, applied.status(), applied.out());
    }

    @AfterEach
    void leaveNothingBehind() throws Exception {
        try (FakePlugin _ = a;
                FakePlugin _ = b) {
            shell.close();
        }
    }

    @Test
    void everyPluginThatRunsIsToldLetterForLetterAndNothingElseChanges() throws IOException {
        String before = shell.run("status", "-o", "json").out();

        Result told = shell.run("vm-event", "startup");

        assertEquals(0, told.status(), told.err());
        assertEquals("""
                PLUGIN    REVISION  CODE  RESULT
                plugin/a  1         0     told
                plugin/b  1         0     told
                """, told.out());
        for (FakePlugin plugin : List.of(a, b)) {
            assertEquals(1, plugin.applied.size());
            assertEquals(
                    "{\"Command\":\"VmEvent\",\"Event\":\"startup\"}",
                    plugin.applied.getFirst().getStringConfig());
        }
        assertEquals(hashes(before), hashes(shell.run("status", "-o", "json").out()));
        assertTrue(shell.run("plan").out().endsWith("0 to remove, 2 unchanged.\n"));
    }

    @Test
    void whoDoesNotImplementApplyIsReportedAndNotRestarted() throws IOException {
        b.refusal = Status.UNIMPLEMENTED;
        long pid = shell.pid(B);

        Result told = shell.run("vm-event", "shutdown", "-o", "json");

        assertEquals(1, told.status(), told.err());
        JsonNode answer = JSON.readTree(told.out());
        assertEquals("shutdown", answer.get("event").asText());
        assertEquals(0, answer.at("/plugins/0/code").asInt());
        assertEquals("plugin/b", answer.at("/plugins/1/workload").asText());
        assertEquals(502, answer.at("/plugins/1/code").asInt());
        assertEquals("1", answer.at("/plugins/1/revision").asText());
        assertEquals(
                0, shell.run("apply", "-f", directory + "/ab.yaml").status(), "everything is as declared all the same");
        assertEquals(pid, shell.pid(B));
        assertEquals(1, b.applied.size());
    }

    @Test
    void whatDoesNotRunIsNoFailure() throws Exception {
        ProcessHandle process = ProcessHandle.of(shell.pid(B)).orElseThrow();
        process.destroyForcibly();
        process.onExit().get(10, TimeUnit.SECONDS);

        Result told = shell.run("vm-event", "specialize");

        assertEquals(0, told.status(), told.err());
        assertTrue(told.out().contains("plugin/b  -         501   not running\n"), told.out());
        assertEquals(List.of(), b.applied);
        assertEquals(1, a.applied.size());
    }

    @Test
    void anAgentTellsThemForWhoeverAsks() {
        try (TestAgent agent = TestAgent.start(shell)) {
            Result told = shell.run("vm-event", "startup");

            assertEquals(0, told.status(), told.err());
            assertEquals(1, agent.calls());
            assertTrue(told.out().contains("plugin/a  1         0     told\n"), told.out());
        }
        assertEquals(1, a.applied.size());
    }

    private static List<String> hashes(String status) throws IOException {
        return JSON.readTree(status).get("workloads").findValuesAsText("configHash");
    }
}
