package io.homeostat.reconcile.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.StandardOutput;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Commands that go on until they are interrupted, by themselves and through an agent. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class FollowTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final WorkloadId TALKER = WorkloadId.process("talker");

    @TempDir
    Path directory;

    private final List<AutoCloseable> closing = new ArrayList<>();
    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() throws Exception {
        for (AutoCloseable closeable : closing.reversed()) {
            closeable.close();
        }
        shell.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void logsGoOnAcrossARestart(boolean agent) throws Exception {
        start(agent);
        apply("hello 1");
        Running logs = run("logs", "process/talker", "-f");
        logs.awaitText("hello 1\n");
        apply("hello 2");
        logs.awaitText("hello 1\nhello 2\n");
        Files.writeString(shell.layout().log(TALKER), "anew\n");
        logs.awaitText("hello 1\nhello 2\nanew\n");
        assertEquals(130, logs.interrupt());
    }

    @Test
    void logsBeginWithWhatRotationHasMovedAway() throws Exception {
        apply("hello");
        Path log = shell.layout().log(TALKER);
        Files.writeString(log.resolveSibling(log.getFileName() + ".2"), "oldest\n");
        Files.writeString(log.resolveSibling(log.getFileName() + ".1"), "older\n");

        assertEquals(
                "oldest\nolder\nhello\n", shell.run("logs", "process/talker").out());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eventsGoOnWithWhatHappens(boolean agent) throws Exception {
        start(agent);
        Running events = run("events", "--follow", "-o", "json");
        apply("hello");
        events.awaitText("PLUGIN_STARTED");
        String all = shell.run("events", "-o", "json").out();
        events.awaitText(all);
        assertEquals(130, events.interrupt());
        assertEquals(all, events.text(), "each once, in order");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void statusIsWatchedOneObjectALine(boolean agent) throws Exception {
        start(agent);
        Running status = run("status", "--watch", "-o", "json");
        await().atMost(PATIENCE).until(() -> status.text().lines().count() >= 2);
        assertEquals(130, status.interrupt());
        List<String> lines = status.text().lines().toList();
        assertTrue(lines.getFirst().startsWith("{\"formatVersion\":\"1.0\",\"agent\":"), lines.getFirst());
        assertTrue(lines.get(1).startsWith("{\"formatVersion\":\"1.0\",\"agent\":"), lines.get(1));
    }

    @Test
    void aWatchedTableIsRedrawnOnATerminalAndSeparatedInAPipe() throws Exception {
        apply("hello");
        Running piped = run("status", "--watch");
        await().atMost(PATIENCE).until(() -> piped.text().split("WORKLOAD", -1).length >= 3);
        piped.interrupt();
        assertTrue(piped.text().startsWith("WORKLOAD"), piped.text());
        assertTrue(piped.text().contains("\n\nWORKLOAD"), piped.text());
        assertFalse(piped.text().contains("\u001b"), piped.text());

        shell.onTerminal();
        Running drawn = run("status", "--watch");
        await().atMost(PATIENCE).until(() -> drawn.text().split("\u001b\\[H\u001b\\[2J", -1).length >= 3);
        drawn.interrupt();
    }

    @Test
    void whoFollowsEventsThroughAnAgentThatEndsIsToldAndGoesOn() throws Exception {
        TestAgent agent = TestAgent.start(shell);
        apply("hello");
        Running events = run("events", "--follow", "-o", "json");
        events.awaitText("PLUGIN_STARTED");
        agent.close();
        await().atMost(PATIENCE).until(() -> {
            apply("at " + System.nanoTime());
            return events.text().split("PLUGIN_STARTED", -1).length > 2;
        });
        assertEquals(130, events.interrupt());
        assertTrue(
                events.result().err().contains("; going on without it"),
                events.result().err());
    }

    @Test
    void whoFollowsLogsMissesNothingWhenTheAgentEndsAndAnotherOneComes() throws Exception {
        TestAgent agent = TestAgent.start(shell);
        apply("line 0");
        List<Running> followers = List.of(
                run("logs", "process/talker", "-f"),
                run("logs", "process/talker", "-f", "--timestamps"),
                run("logs", "process/talker", "-f", "-o", "json"),
                run("logs", "process/talker", "process/nobody", "-f"));
        int lines = 1;
        for (boolean runs : new boolean[] {true, false, true}) {
            append("line " + lines++);
            for (Running follower : followers) {
                follower.awaitText("line " + (lines - 1));
            }
            // What is written at that moment, however slowly somebody else would take over.
            append("line " + lines++);
            if (runs) {
                agent.close();
            } else {
                agent = TestAgent.start(shell);
                closing.add(agent);
            }
            append("line " + lines++);
        }
        for (Running follower : followers) {
            follower.awaitText("line " + (lines - 1));
            assertEquals(130, follower.interrupt());
            assertEquals(
                    IntStream.range(0, lines)
                            .mapToObj(number -> "line " + number)
                            .toList(),
                    Pattern.compile("line [0-9]+")
                            .matcher(follower.text())
                            .results()
                            .map(MatchResult::group)
                            .toList());
        }
    }

    private void append(String line) throws IOException {
        Files.writeString(shell.layout().log(TALKER), line + "\n", StandardOpenOption.APPEND);
    }

    @Test
    void nothingIsFollowedForNobody() throws Exception {
        apply("hello");
        OutputStream closed = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        };
        PrintStream out = new StandardOutput(closed);
        out.print("x");
        Console console = new Console(out, out, OutputFormat.TEXT, new Ansi(false));
        assertFalse(console.isRead());
        assertTrue(new Console(
                        new StandardOutput(OutputStream.nullOutputStream()), out, OutputFormat.TEXT, new Ansi(false))
                .isRead());
    }

    private void start(boolean agent) {
        if (agent) {
            closing.add(TestAgent.start(shell));
        }
    }

    private void apply(String words) throws IOException {
        shell.write("talker.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: talker}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "echo %s; exec sleep 600"]
                  stop: {timeout: 5s}
                """.formatted(words));
        Shell.Result result = shell.run("apply", "-f", directory + "/talker.yaml");
        assertEquals(0, result.status(), result.err());
    }

    private Running run(String... words) {
        Running running = new Running(words);
        closing.add(running::interrupt);
        return running;
    }

    /** A command under way. */
    private final class Running {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final AtomicReference<Shell.Result> result = new AtomicReference<>();
        private final Thread thread;

        Running(String... words) {
            List<String> args = new ArrayList<>(List.of(words));
            args.addAll(List.of("--state-dir", "state", "--run-dir", "run"));
            thread = Thread.ofPlatform().start(() -> result.set(shell.into(out, args.toArray(String[]::new))));
        }

        String text() {
            return out.toString(UTF_8);
        }

        void awaitText(String text) {
            await().atMost(PATIENCE).until(() -> text().contains(text));
        }

        int interrupt() throws InterruptedException {
            thread.interrupt();
            return join();
        }

        int join() throws InterruptedException {
            thread.join();
            return result().status();
        }

        Shell.Result result() {
            return result.get();
        }
    }
}
