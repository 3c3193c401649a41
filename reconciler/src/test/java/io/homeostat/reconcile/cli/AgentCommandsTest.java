package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.agent.CommandServer;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Commands while an agent runs on the state directory: they are done inside it, and print what they print without one. */
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
    void planAndStatusPrintTheSameWithAndWithoutAnAgent() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600) + Shell.sleeper("b", 600));
        Result planned = shell.run("plan", "-f", directory + "/a.yaml", "--detailed-exitcode");
        Result applied = shell.run("apply", "-f", directory + "/a.yaml");
        shell.write("a.yaml", Shell.sleeper("a", 601));
        Result replanned = shell.run("plan", "-f", directory + "/a.yaml", "--prune", "-o", "json");
        Result status = shell.run("status", "process/a");
        Result events = shell.run("events", "-o", "json");
        Result logs = shell.run("logs", "process/a");
        assertEquals(6, agent.calls());
        agent.close();

        assertEquals(2, planned.status(), planned.err());
        assertTrue(planned.out().contains("Plan: 2 to install"), planned.out());
        assertEquals(0, applied.status(), applied.err());
        assertTrue(applied.out().endsWith("Apply: 2 installed, 0 updated, 0 repaired, 0 removed, 0 unchanged.\n"));
        assertEquals(replanned, shell.run("plan", "-f", directory + "/a.yaml", "--prune", "-o", "json"));
        assertEquals(
                status.out().replaceAll("[0-9]+s", "Ns"),
                shell.run("status", "process/a").out().replaceAll("[0-9]+s", "Ns"));
        assertEquals(events, shell.run("events", "-o", "json"));
        assertEquals(logs, shell.run("logs", "process/a"));
    }

    /** Of another state directory, where the agent listens. */
    private Result statusOf(String stateDir) {
        return shell.plain(
                "status",
                "--state-dir",
                stateDir,
                "--run-dir",
                shell.layout().runDir().toString());
    }

    @Test
    void anAgentOfAnotherStateDirectoryIsToldOf() throws IOException {
        String other = directory.resolve("other").toString();

        Result status = statusOf(other);

        String warning = "homeostat: warning: the agent that listens at "
                + shell.layout().agentSocket() + " works on another state directory than " + other + "; ";
        assertTrue(status.err().startsWith(warning), status.err());
        assertEquals(3, status.status());
        assertEquals(0, agent.calls());
        agent.close();
        Files.writeString(shell.layout().agentSocket(), "left by one that was killed");
        Result alone = statusOf(other);
        assertFalse(alone.err().contains("warning"), alone.err());
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
    void whatIsWrongWithDocumentsIsToldAlikeWithAndWithoutAnAgent() throws IOException {
        String warned = Shell.sleeper("a", 600).replace("stop:", "dependsOn: [process/nobody]\n  stop:");
        Path one = shell.write("one.yaml", warned + Shell.sleeper("b", 600).replace("kind", "kinds"));
        Path two = shell.write("two.yaml", "a: [");
        List<List<String>> commands = List.of(
                List.of("apply", "-f", one.toString(), two.toString()),
                List.of("apply", "-f", one.toString(), two.toString(), "-o", "json"),
                List.of("plan", "-f", one.toString()),
                List.of("apply", "-f", one.toString(), directory + "/nowhere.yaml"),
                List.of("apply", "-f", "-"));
        shell.typing(warned.replace("metadata", "meta"));

        List<Result> through = commands.stream()
                .map(words -> shell.run(words.toArray(String[]::new)))
                .toList();
        assertEquals(4, agent.calls(), "what can't be read needs no agent");
        agent.close();

        assertEquals(
                through,
                commands.stream()
                        .map(words -> shell.run(words.toArray(String[]::new)))
                        .toList());
        for (Result result : through) {
            assertEquals(1, result.status());
            assertEquals("", result.out());
        }
        String apply = through.getFirst().err();
        assertTrue(apply.startsWith("warning: " + one + ":"), apply);
        assertTrue(apply.contains("\n" + one + ":"), apply);
        assertTrue(apply.contains("\n" + two + ":1:"), apply);
        assertTrue(apply.endsWith(", so nothing was stored or changed; correct the files\n"), apply);
        assertTrue(
                through.get(3).err().contains("/nowhere.yaml: no such file"),
                through.get(3).err());
    }

    @Test
    void errorsOfDiffAreInItsNameThoughItAsksForAPlan() throws IOException {
        String bad = shell.write("bad.yaml", "kind: Nonsense\n").toString();

        Result through = shell.run("diff", "-f", bad, "-o", "json");
        assertEquals(1, agent.calls());
        agent.close();

        assertEquals("diff", JSON.readTree(through.err()).at("/error/command").asText(), through.err());
        assertEquals(through, shell.run("diff", "-f", bad, "-o", "json"));
    }

    @Test
    void whereADefectHappenedIsLoggedByTheAgentAndAFailureIsNot() {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(CommandServer.class);
        logger.addAppender(log);
        try {
            assertEquals(1, shell.run("logs", "process/nobody").status());
            assertEquals(List.of(), log.list);

            agent.close();
            agent = TestAgent.start(shell, request -> {
                throw new IllegalStateException("planted");
            });
            Result defect = shell.run("status");

            assertEquals(1, defect.status());
            assertTrue(defect.err().startsWith("homeostat: status: planted\n"), defect.err());
            ILoggingEvent logged = log.list.getFirst();
            assertEquals("status ended by a defect of homeostat", logged.getFormattedMessage());
            assertEquals(Level.ERROR, logged.getLevel());
            assertEquals("planted", logged.getThrowableProxy().getMessage());
        } finally {
            logger.detachAppender(log);
        }
    }

    @Test
    void statusSaysWhichAgentAnswersAndNullWithoutOne() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        shell.run("apply", "-f", directory + "/a.yaml");
        JsonNode json = JSON.readTree(shell.run("status", "-o", "json").out()).path("agent");
        assertEquals(ProcessHandle.current().pid(), json.path("pid").asLong());
        assertEquals(Version.current(), json.path("version").asText());
        assertTrue(json.path("uptimeSeconds").asLong(-1) >= 0);
        Result text = shell.run("status");
        assertTrue(text.err().matches("agent: pid [0-9]+, up .*, version .*\n"), text.err());

        agent.close();
        assertTrue(JSON.readTree(shell.run("status", "-o", "json").out())
                .path("agent")
                .isNull());
        assertTrue(shell.run("status").err().startsWith("homeostat: no agent runs, so "));
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

    @Test
    void deleteInsideTheAgentRemovesTheProcess() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        shell.run("apply", "-f", directory + "/a.yaml");
        long pid = shell.pid(WorkloadId.process("a"));
        Result deleted = shell.run("delete", "process/a");
        assertEquals(0, deleted.status(), deleted.err());
        assertFalse(ProcessHandle.of(pid).isPresent());
        assertEquals(2, agent.calls());
    }

    @Test
    void filesAreReadByTheCallerAndParsedByTheAgentWhichStoresNothingOfWrongOnes() throws IOException {
        Result missing = shell.run("apply", "-f", directory + "/missing.yaml");
        assertEquals(1, missing.status());
        assertTrue(missing.err().contains("nothing was stored or changed"), missing.err());
        assertEquals(0, agent.calls());

        shell.write("bad.yaml", Shell.sleeper("b", 600) + "apiVersion: homeostat.io/v1\nkind: Process\n");
        Result bad = shell.run("apply", "-f", directory + "/bad.yaml");
        assertEquals(1, bad.status());
        assertTrue(bad.err().contains("nothing was stored or changed"), bad.err());
        assertEquals(1, agent.calls());
        assertEquals(ExitStatus.NOTHING_DECLARED, shell.run("status").status());

        Result typed = shell.typing(Shell.sleeper("a", 600)).run("apply", "-f", "-");
        assertEquals(0, typed.status(), typed.err());
        assertEquals(3, agent.calls());
    }

    @Test
    void relativePathsInWhatWasTypedStartFromTheCallersWorkingDirectory() {
        String plugin = """
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: a}
                spec: {revision: "1", source: {url: a.tar.gz, attempts: 1}, entryPoint: a}
                """;

        Result typed = shell.typing(plugin).run("apply", "-f", "-", "--timeout", "20s");

        assertEquals(1, typed.status(), typed.toString());
        assertTrue(typed.out().contains(directory.resolve("a.tar.gz").toString()), typed.toString());
        assertEquals(0, shell.run("delete", "plugin/a").status());
    }

    @Test
    void failuresInsideTheAgentAreToldInTheSameWords() throws IOException {
        Result through = shell.run("logs", "process/nobody");
        Result status = shell.run("status");
        agent.close();
        assertEquals(1, through.status());
        assertEquals(through, shell.run("logs", "process/nobody"));
        assertEquals(ExitStatus.NOTHING_DECLARED, status.status());
    }

    @Test
    void theSocketAndTheNoteAreForNobodyElseAndGoWithTheAgent() throws IOException {
        for (Path file :
                new Path[] {shell.layout().agentSocket(), shell.layout().agentFile()}) {
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        }
        agent.close();
        assertFalse(Files.exists(shell.layout().agentSocket()));
        assertFalse(Files.exists(shell.layout().agentFile()));
    }

    @Test
    void theNoteOfADeadAgentIsIgnored() throws IOException {
        String note = Files.readString(shell.layout().agentFile());
        agent.close();
        Files.writeString(
                shell.layout().agentFile(),
                note.replaceAll("\"startTicks\":[0-9]+", "\"startTicks\":1").replace("agent.sock", "gone.sock"));
        Result status = shell.run("status");
        assertEquals(ExitStatus.NOTHING_DECLARED, status.status(), status.err());
        assertFalse(status.err().contains("agent"), status.err());
        Files.writeString(shell.layout().agentFile(), "not json");
        assertEquals(ExitStatus.NOTHING_DECLARED, shell.run("status").status());
    }

    @Test
    void anAgentThatDoesNotAnswerIsReadAroundButNotChangedAround() throws IOException {
        Files.writeString(
                shell.layout().agentFile(),
                Files.readString(shell.layout().agentFile()).replace("agent.sock", "gone.sock"));
        shell.write("a.yaml", Shell.sleeper("a", 600));
        Result plan = shell.run("plan", "-f", directory + "/a.yaml");
        assertEquals(0, plan.status(), plan.err());
        assertTrue(plan.err().contains("does not answer"), plan.err());
        assertTrue(plan.err().contains("without it"), plan.err());
        assertTrue(plan.out().contains("Plan: 1 to install"), plan.out());

        Result apply = shell.run("apply", "-f", directory + "/a.yaml");
        assertEquals(1, apply.status());
        assertTrue(apply.err().contains("gone.sock"), apply.err());
        assertTrue(apply.err().contains("kill " + ProcessHandle.current().pid()), apply.err());
        assertEquals(0, agent.calls());
    }

    @Test
    void coloursAreTheCallersChoice() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        Shell terminal = new Shell(directory).onTerminal().with(ImmutableMap.of("TERM", "xterm"));
        assertTrue(terminal.run("plan", "-f", directory + "/a.yaml").out().contains("\u001b["));
        assertFalse(shell.run("plan", "-f", directory + "/a.yaml").out().contains("\u001b["));
        assertEquals(2, agent.calls());
    }
}
