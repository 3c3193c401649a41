package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.agent.CommandServer;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What an agent does for commands beside what they print. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class AgentCommandsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;
    private TestAgent agent;

    @BeforeEach
    void start() throws IOException {
        shell = new Shell(directory);
        agent = TestAgent.start(shell);
    }

    @AfterEach
    void leaveNothingBehind() {
        agent.close();
        shell.close();
    }

    @Test
    void anApplyThroughAnAgentParsesAndPrintsEachDocumentOnce() throws IOException {
        Path documents = Files.createDirectory(directory.resolve("d"));
        Files.writeString(documents.resolve("a.yaml"), Shell.sleeper("a", 600));
        Files.writeString(documents.resolve("b.yaml"), Shell.sleeper("b", 600) + Shell.sleeper("c", 600));
        shell.typing(Shell.sleeper("d", 600));

        Result applied = shell.run("apply", "-f", documents.toString(), "-");
        assertEquals(0, applied.status(), applied.err());
        assertEquals("0 parsed, 0 printed", shell.documents().toString());
        assertEquals("3 parsed, 4 printed", agent.documents().toString());

        assertEquals(0, shell.run("plan", "-f", documents.toString()).status());
        assertEquals("0 parsed, 0 printed", shell.documents().toString());
        assertEquals("5 parsed, 7 printed", agent.documents().toString());

        agent.close();
        assertEquals(0, shell.run("apply", "-f", documents.toString()).status());
        assertEquals("2 parsed, 3 printed", shell.documents().toString());
    }

    @Test
    void whereADefectHappenedIsLoggedByTheAgentAndAFailureIsNot() {
        try (HeardLog log = HeardLog.ofLines(line -> line.matches("(logs|status) .*"), CommandServer.class)) {
            assertEquals(1, shell.run("logs", "process/nobody").status());
            assertEquals(List.of(), log.events());

            agent.close();
            agent = TestAgent.start(shell, request -> {
                throw new IllegalStateException("planted");
            });
            Result defect = shell.run("status");

            assertEquals(1, defect.status());
            assertTrue(defect.err().startsWith("homeostat: status: planted\n"), defect.err());
            ILoggingEvent logged = Iterables.getOnlyElement(log.events());
            assertEquals("status ended by a defect of homeostat", logged.getFormattedMessage());
            assertEquals(Level.ERROR, logged.getLevel());
            assertEquals("planted", logged.getThrowableProxy().getMessage());
        }
    }

    @Test
    void statusSaysWhatAWorkloadUsesAndNullWhereNobodySamplesThat() throws IOException {
        WorkloadId a = WorkloadId.process("a");
        shell.write("a.yaml", Shell.sleeper("a", 600) + Shell.sleeper("b", 600));
        shell.run("apply", "-f", directory + "/a.yaml");
        agent.uses(a, new Usage(Instant.EPOCH, 12.345, 12_345_678));

        String json = shell.run("status", "-o", "json").out();
        assertEquals(
                "{\"cpuPercent\":12.3,\"memoryBytes\":12345678}",
                JSON.readTree(json).path("workloads").path(0).path("metrics").toString());
        assertTrue(JSON.readTree(json).path("workloads").path(1).path("metrics").isNull(), json);
        String text = shell.run("status", "process/a").out();
        assertTrue(text.contains("  Uses:       12.3% of one core, 11.8 MiB\n"), text);
        assertTrue(shell.run("status", "process/b").out().contains("  Uses:       -\n"));
    }
}
