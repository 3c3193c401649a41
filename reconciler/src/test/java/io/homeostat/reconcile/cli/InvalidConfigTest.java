package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableSet;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.sqlite.MachineState;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.command.environment.AgentFile;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What commands do while the agent's configuration file has a mistake, which the agent has not read. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class InvalidConfigTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final String TYPO = "metrcs: {listen: \"\"}\n";
    private static final String NO_YAML = "log: {\n";

    private final Path directory;
    private final Shell shell;
    private final Path config;

    InvalidConfigTest() throws IOException {
        directory = Shell.userDirectory();
        shell = new Shell(directory)
                .with(Map.of(
                        "XDG_CONFIG_HOME", directory + "/config",
                        "XDG_STATE_HOME", directory + "/usual",
                        "XDG_RUNTIME_DIR", directory + "/usual-run"));
        config = Files.createDirectories(directory.resolve("config").resolve("homeostat"))
                .resolve("agent.yaml");
    }

    @AfterEach
    void cleanUp() throws IOException {
        Files.deleteIfExists(config);
        shell.close();
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    @Test
    void looksGoOnWhereTheFileSaysWithAWarning() throws IOException {
        applyBoth();
        configure(TYPO);

        for (List<String> words : List.of(
                List.of("status"),
                List.of("events"),
                List.of("logs", "process/a"),
                List.of("get", "process/a"),
                List.of("history", "process/a"),
                List.of("describe", "process/a"),
                List.of("verify", "process/a", "--revision", "local"),
                List.of("states"))) {
            Result done = plain(words);

            // What is declared has no agent, and none could be started.
            assertEquals(
                    words.getFirst().equals("status") ? 1 : 0, done.status(), words + ": " + done.out() + done.err());
            assertEquals(warning(), done.err().lines().findFirst().orElse(""));
            assertEquals(
                    1,
                    done.err().lines().filter(line -> line.contains("warning")).count(),
                    done.err());
        }
        assertTrue(plain(List.of("status")).out().contains("process/a  RUNNING"));
    }

    @Test
    void resultsAndMessagesStayJson() throws IOException {
        applyBoth();
        configure(TYPO);

        Result done = shell.plain("status", "-o", "json");

        assertEquals(1, done.status(), done.err());
        assertEquals(
                2, new ObjectMapper().readTree(done.out()).path("workloads").size(), done.out());
        for (String line : done.err().lines().toList()) {
            assertTrue(new ObjectMapper().readTree(line).has("message"), line);
        }
        assertTrue(done.err().contains("the file is not valid"), done.err());
    }

    @Test
    void whatRunsIsPausedStoppedAndDeletedAndNothingElseIsDone() throws Exception {
        applyBoth();
        ProcessHandle a = ProcessHandle.of(shell.pid(A)).orElseThrow();
        ProcessHandle b = ProcessHandle.of(shell.pid(B)).orElseThrow();
        configure(TYPO);
        b.destroyForcibly();
        b.onExit().get();

        done("pause", "process/a", "--reason", "night");
        done("stop", "process/a");
        assertFalse(a.isAlive());
        assertTrue(shell.plain("status").out().contains("process/a  STOPPED"));
        done("delete", "process/a");

        assertEquals(
                ImmutableSet.of(B),
                shell.instances().stream().map(one -> one.workload()).collect(ImmutableSet.toImmutableSet()));
        assertEquals(b.pid(), shell.pid(B), "it was launched again");
    }

    @Test
    void whatLaunchesOrForeseesThatIsRefused() throws IOException {
        applyBoth();
        long a = shell.pid(A);
        configure(TYPO);

        for (List<String> words : List.of(
                List.of("apply", "-f", both()),
                List.of("start", "process/a"),
                List.of("restart", "process/a"),
                List.of("trigger", "process/a"),
                List.of("resume", "process/a"),
                List.of("rollback", "process/a"),
                List.of("reset", "--yes"),
                List.of("plan"),
                List.of("diff", "-f", both()))) {
            Result refused = plain(words);

            assertEquals(
                    words.contains("diff") ? 2 : 1, refused.status(), words + ": " + refused.out() + refused.err());
            assertEquals("", refused.out());
            assertTrue(
                    refused.err()
                            .contains("homeostat: " + words.getFirst()
                                    + ": no agent runs, and what may be launched here is in " + config
                                    + ", which is not valid; nothing was done; correct it first"),
                    refused.err());
        }
        assertEquals(a, shell.pid(A));
        assertEquals(2, shell.instances().size());
    }

    @Test
    void aRefusalCreatesNothing() throws IOException {
        configure(TYPO);
        assertEquals(1, shell.plain("apply", "-f", both()).status());
        assertEquals(1, shell.plain("reset", "--yes").status());
        Files.writeString(config, TYPO);
        assertEquals(1, shell.plain("apply", "-f", both()).status());
        Files.writeString(config, NO_YAML);
        assertEquals(1, shell.plain("apply", "-f", both()).status());

        try (Stream<Path> there = Files.list(directory)) {
            assertEquals(
                    ImmutableSet.of(directory.resolve("both.yaml"), directory.resolve("config")),
                    there.collect(ImmutableSet.toImmutableSet()));
        }
    }

    @Test
    void theAgentThatRunsDoesEverything() throws IOException {
        configure(TYPO);
        try (TestAgent agent = TestAgent.start(shell)) {
            done("apply", "-f", both());
            done("plan");
            done("restart", "process/a");
            assertEquals(3, agent.calls());

            Files.writeString(shell.layout().uiAddress(), "http://127.0.0.1:9465/#token=abc\n");
            Result page = shell.plain("ui");
            assertEquals("http://127.0.0.1:9465/#token=abc\n", page.out(), page.err());
        }
    }

    @Test
    void aFileThatMayNameOtherDirectoriesEndsTheCommandWithTheWayRound() throws IOException {
        applyBoth();

        for (String wrong : List.of(NO_YAML, "stateDir: state\n", "statDir: " + shell.state() + "\n")) {
            Files.writeString(config, wrong);
            for (List<String> words : List.of(
                    List.of("status"),
                    List.of("stop", "process/a"),
                    List.of("status", "--state-dir", "state"),
                    List.of("status", "--run-dir", "run"))) {
                Result failed = plain(words);

                assertEquals(1, failed.status(), words + ": " + failed.out() + failed.err());
                assertTrue(
                        failed.err().contains(config + " is not valid, and may name other directories than "),
                        failed.err());
                assertTrue(failed.err().contains("--state-dir DIR --run-dir DIR\n" + config + ":"), failed.err());
            }
            Result told = shell.run("status");
            assertEquals(1, told.status(), told.err());
            assertTrue(told.err().startsWith("homeostat: warning: " + config + ":"), told.err());
            assertEquals(1, shell.run("apply", "-f", both()).status());
        }
        assertEquals(0, shell.run("stop", "process/a").status());
    }

    @Test
    void anAgentOnTheUsualDirectoriesIsAskedWhereNothingInTheFileLooksLikeAPlace() throws IOException {
        linkUsual();
        Files.writeString(config, NO_YAML);
        try (TestAgent agent = TestAgent.start(shell)) {
            done("apply", "-f", both());
            Result told = done("status");
            assertEquals(2, agent.calls());
            assertTrue(
                    told.err()
                            .contains("of it counts only where the state is: " + directory.resolve("usual/homeostat")
                                    + " and " + shell.layout().runDir()),
                    told.err());
            assertEquals(0, shell.plain("status", "--state-dir", "state").status());
        }
        assertEquals(1, shell.plain("status").status());
    }

    /** A second one would launch what the other has launched. */
    @Test
    void anAgentOnTheUsualDirectoriesIsNotAskedForAnotherThatTheFileMayName() throws IOException {
        linkUsual();
        for (String wrong : List.of(
                "stateDir: /elsewhere\n" + NO_YAML,
                "storage: {path: /elsewhere}\n" + NO_YAML,
                "stateDirectory: data\n",
                "storage: {path: /elsewhere}\n",
                "stateDir: state\n")) {
            Files.writeString(config, wrong);
            try (TestAgent agent = TestAgent.start(shell)) {
                for (List<String> words : List.of(
                        List.of("apply", "-f", both()), List.of("status"), List.of("status", "--run-dir", "run"))) {
                    Result refused = plain(words);

                    assertEquals(1, refused.status(), wrong + words + refused.out() + refused.err());
                    assertTrue(
                            refused.err().contains(", where an agent runs that may be another one; "), refused.err());
                    assertTrue(
                            refused.err().contains("say where the state is: --state-dir DIR\n" + config + ":"),
                            refused.err());
                }
                assertEquals(0, agent.calls());
                done("apply", "-f", both(), "--state-dir", "state");
                assertEquals(1, agent.calls());
            }
        }
    }

    @Test
    void whatAnAgentThatIsSilentWouldForeseeIsRefusedToo() throws IOException {
        applyBoth();
        configure(TYPO);
        AgentFile.ofThisProcess(shell.layout().agentSocket(), "1.0.0", new ProcFs())
                .write(shell.layout());

        Result plan = shell.plain("plan");
        Result status = shell.plain("status");

        assertEquals(1, plan.status(), plan.out());
        assertTrue(plan.err().contains("does not answer"), plan.err());
        assertTrue(
                plan.err().contains("homeostat: plan: no agent runs, and what may be launched here is in "),
                plan.err());
        assertTrue(status.err().contains("does not answer"), status.err());
        assertTrue(status.out().contains("process/a  RUNNING"), status.out());
        Files.delete(shell.layout().agentFile());
    }

    @Test
    void theMachineStaysTheOneThatTheAgentKnew() throws IOException {
        configure("instanceId: first\n");
        done("apply", "-f", both());
        configure("instanceId: second\n" + TYPO);

        done("stop", "process/a");

        assertTrue(shell.plain("status").out().contains("process/a  STOPPED"));
        assertEquals(
                "first", new MachineState(shell.layout()).owner().orElseThrow().id());
        configure("instanceId: first\n");
        done("delete", "--all");
    }

    /** Nor is it read then what the machine was called. */
    @Test
    void whatRunsWhereTheStateWasDeletedIsShownAndStopped() throws Exception {
        configure("instanceId: first\n");
        done("apply", "-f", both());
        ProcessHandle a = ProcessHandle.of(shell.pid(A)).orElseThrow();
        ProcessHandle b = ProcessHandle.of(shell.pid(B)).orElseThrow();
        try {
            MoreFiles.deleteRecursively(shell.state(), RecursiveDeleteOption.ALLOW_INSECURE);
            configure("instanceId: first\n" + TYPO);

            for (int i = 0; i < 2; i++) {
                Result status = shell.plain("status");
                assertTrue(status.out().contains("process/a  RUNNING"), status.out());
                // As whoever takes the lock does.
                Files.createDirectories(shell.state());
            }
            done("stop", "process/a");
            assertFalse(a.isAlive());
            assertTrue(b.isAlive());
            done("stop", "--all");
            assertFalse(b.isAlive());

            configure("instanceId: first\n");
            Result applied = shell.plain("apply", "-f", both());
            assertTrue(applied.out().contains("process/a  waiting: stopped by request since "), applied.out());
            done("start", "--all");
            done("delete", "--all");
        } finally {
            // Nobody else finds them any more where this fails.
            a.destroyForcibly();
            b.destroyForcibly();
        }
    }

    @Test
    void whateverOnlyTellsLooksWhereTheFileSays() throws IOException {
        applyBoth();
        configure(TYPO);

        assertTrue(shell.plain("complete", "stop", "").out().contains("process/a\n"));
        Result doctor = shell.plain("doctor", "--config", config.toString());
        assertTrue(doctor.out().contains("fail  configuration    " + config + " is not valid"), doctor.out());
        assertTrue(doctor.out().contains(shell.state().toString()), doctor.out());
        assertFalse(doctor.out().contains(directory.resolve("usual").toString()), doctor.out());
        ByteArrayOutputStream archive = new ByteArrayOutputStream();
        assertEquals(
                0,
                shell.into(archive, "diagnostics", "-", "--config", config.toString())
                        .status());
        try (InputStream unpacked = new GZIPInputStream(new ByteArrayInputStream(archive.toByteArray()))) {
            assertTrue(new String(unpacked.readAllBytes(), StandardCharsets.UTF_8).contains("process/a"));
        }
        Files.writeString(config, NO_YAML);
        assertEquals(":words\n", shell.plain("complete", "stop", "").out());
        assertTrue(
                shell.plain("doctor").out().contains(directory.resolve("usual").toString()));
    }

    private void linkUsual() throws IOException {
        Files.createDirectories(directory.resolve("usual"));
        Files.createSymbolicLink(directory.resolve("usual").resolve("homeostat"), shell.state());
    }

    private Result done(String... words) {
        Result done = shell.plain(words);
        assertEquals(0, done.status(), List.of(words) + ": " + done.out() + done.err());
        return done;
    }

    private Result plain(List<String> words) {
        return shell.plain(words.toArray(String[]::new));
    }

    private String warning() {
        return "homeostat: warning: " + config
                + ":3:1: unknown key 'metrcs'; did you mean 'metrics'?; the file is not valid, and of it counts only where the state is: "
                + shell.state() + " and " + shell.layout().runDir()
                + "; correct it, and check it: homeostat validate --config " + config;
    }

    private void applyBoth() throws IOException {
        configure("");
        done("apply", "-f", both());
    }

    private String both() throws IOException {
        return shell.write("both.yaml", Shell.sleeper("a", 300) + Shell.sleeper("b", 300))
                .toString();
    }

    /** Has the directories that this test's own are. */
    private void configure(String rest) throws IOException {
        Files.writeString(
                config,
                "stateDir: " + shell.state() + "\nrunDir: " + shell.layout().runDir() + "\n" + rest);
    }
}
