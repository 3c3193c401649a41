package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.StandardOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What stories of commands that go on don't tell: no line is missed, and nothing is done for nobody. */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class FollowTest {
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

    @Test
    void whoFollowsLogsMissesNothingWhenTheAgentEndsAndAnotherOneComes() throws Exception {
        TestAgent agent = TestAgent.start(shell);
        apply("line 0");
        List<Background> followers = List.of(
                run("logs", "process/talker", "-f"),
                run("logs", "process/talker", "-f", "--timestamps"),
                run("logs", "process/talker", "-f", "-o", "json"),
                run("logs", "process/talker", "process/nobody", "-f"));
        int lines = 1;
        for (boolean runs : new boolean[] {true, false, true}) {
            append("line " + lines++);
            for (Background follower : followers) {
                follower.awaitOutput("line " + (lines - 1));
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
        for (Background follower : followers) {
            follower.awaitOutput("line " + (lines - 1));
            assertEquals(130, follower.interrupt().status());
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

    private Background run(String... words) {
        Background running = new Background(shell, shell.withDirectories(words));
        closing.add(running::end);
        return running;
    }
}
