package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.logs.LogKeeper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which part of logs and events is shown, and how, with and without an agent. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LogsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(50);
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final WorkloadId LONG = WorkloadId.process("long");
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    @TempDir
    Path directory;

    private Shell shell;

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @BeforeEach
    void write() throws IOException {
        shell = new Shell(directory);
        log(A, "", "one\ntwo\nthree\n");
        log(A, ".1", "older\n");
        log(LONG, "", "\"quoted\"\nopen");
    }

    @Test
    void theTailGoesBackIntoWhatRotationHasMovedAway() {
        assertEquals(
                "two\nthree\n", shell.run("logs", "process/a", "--tail", "2").out());
        assertEquals(
                "older\none\ntwo\nthree\n",
                shell.run("logs", "process/a", "--tail", "4").out());
        assertEquals(
                "older\none\ntwo\nthree\n",
                shell.run("logs", "process/a", "--tail", "99").out());
        assertEquals("", shell.run("logs", "process/a", "--tail", "0").out());
    }

    @Test
    void aLineThatRotationHasSplitIsOneOfTheTail() throws IOException {
        log(A, ".2", "oldest\nnew");
        log(A, ".1", "er, in");
        log(A, "", " three files\nlast\n");
        String[] lines = {"oldest", "newer, in three files", "last"};
        for (int tail = 1; tail <= 4; tail++) {
            ImmutableList<String> wanted = ImmutableList.copyOf(lines).subList(Math.max(0, 3 - tail), 3);
            assertEquals(
                    wanted, logs("process/a", "--tail", tail + "").lines().collect(ImmutableList.toImmutableList()));
            assertEquals(
                    wanted,
                    logs("process/a", "--timestamps", "--tail", tail + "")
                            .lines()
                            .map(line -> line.substring(line.indexOf(' ') + 1))
                            .collect(ImmutableList.toImmutableList()));
            assertEquals(
                    wanted.size(),
                    logs("process/a", "-o", "json", "--tail", tail + "").lines().count());
        }
    }

    @Test
    void theLinesOfSeveralAreMarked() {
        String marked = "process/a    | two\nprocess/a    | three\nprocess/long | \"quoted\"\nprocess/long | open\n";
        assertEquals(
                marked,
                shell.run("logs", "process/a", "process/long", "--tail", "2").out());
        try (TestAgent agent = TestAgent.start(shell)) {
            assertEquals(
                    marked,
                    shell.run("logs", "process/a", "process/long", "--tail", "2")
                            .out());
            assertTrue(agent.calls() > 0);
        }
    }

    @Test
    void ofSeveralLogsTheOneThatCanNotBeReadIsNamed() throws IOException {
        Files.createSymbolicLink(shell.layout().workloadState(B), shell.layout().workloadState(B));
        Result result = shell.run("logs", "process/a", B.toString(), "process/long");
        assertEquals(1, result.status(), result.out());
        assertTrue(
                result.err()
                        .startsWith(
                                "homeostat: logs: cannot read " + shell.layout().log(B) + ": "),
                result.err());

        WorkloadId plugin = WorkloadId.plugin("p");
        log(plugin, "", "output\n");
        Path errors = shell.layout().log(plugin).resolveSibling("errors.log");
        Files.createDirectory(errors);
        Result ofPlugin = shell.run("logs", "process/a", "plugin/p");
        assertEquals(1, ofPlugin.status(), ofPlugin.out());
        assertTrue(ofPlugin.err().startsWith("homeostat: logs: " + errors + " "), ofPlugin.err());
    }

    @Test
    void linesAreObjectsForPrograms() throws IOException {
        changed(LONG, 7);
        assertEquals("""
                {"formatVersion":"1.0","workload":"process/long","file":"process.log","time":"2026-11-20T12:00:07.000Z","line":"\\"quoted\\""}
                {"formatVersion":"1.0","workload":"process/long","file":"process.log","time":"2026-11-20T12:00:07.000Z","line":"open"}
                """, shell.run("logs", "process/long", "-o", "json").out());
    }

    @Test
    void theLastLinesOfAPluginAreThoseOfItsTwoLogsTogether() throws IOException {
        WorkloadId plugin = WorkloadId.plugin("p");
        LogKeeper keeper = new LogKeeper(shell.layout(), Clock.fixed(NOON.plusSeconds(100), ZoneOffset.UTC));
        Path errors = shell.layout().log(plugin).resolveSibling("errors.log");
        append(plugin, 10, "one\n", keeper);
        Files.writeString(errors, "bad\n");
        Files.setLastModifiedTime(errors, FileTime.from(NOON.plusSeconds(20)));
        append(plugin, 30, "two\nthree\n", keeper);

        assertEquals("bad\ntwo\nthree\n", logs("plugin/p", "--tail", "3"));
        assertEquals("three\n", logs("plugin/p", "--tail", "1"));
        assertEquals("one\ntwo\nthree\nbad\n", logs("plugin/p"));
        assertTrue(logs("plugin/p", "-o", "json").contains("\"file\":\"errors.log\""));
    }

    /** a: first at 10, half a line at 20, its end at 30, last at 50; b: between at 25, after at 40. */
    private void noted() throws IOException {
        LogKeeper keeper = new LogKeeper(shell.layout(), Clock.fixed(NOON.plusSeconds(100), ZoneOffset.UTC));
        Files.delete(shell.layout().log(A).resolveSibling("process.log.1"));
        Files.writeString(shell.layout().log(A), "");
        append(A, 10, "first\n", keeper);
        append(A, 20, "ha", keeper);
        append(B, 25, "between\n", keeper);
        append(A, 30, "lf\n", keeper);
        append(B, 40, "after\n", keeper);
        append(A, 50, "last\n", keeper);
    }

    private void append(WorkloadId id, int seconds, String text, LogKeeper keeper) throws IOException {
        Path log = shell.layout().log(id);
        Files.createDirectories(log.getParent());
        Files.writeString(log, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        changed(id, seconds);
        keeper.keep(1_000_000);
    }

    private void changed(WorkloadId id, int seconds) throws IOException {
        Files.setLastModifiedTime(shell.layout().log(id), FileTime.from(NOON.plusSeconds(seconds)));
    }

    private String logs(String... options) {
        Result result = shell.run(
                ImmutableList.<String>builder().add("logs").add(options).build().toArray(String[]::new));
        assertEquals(0, result.status(), result.err());
        return result.out();
    }

    @Test
    void linesAreChosenByTheTimeByWhichTheyHadBeenWritten() throws IOException {
        noted();
        shell.at(Clock.fixed(NOON.plusSeconds(60), ZoneOffset.UTC));

        assertEquals("first\nhalf\nlast\n", logs("process/a", "--since", "50s"));
        assertEquals("half\nlast\n", logs("process/a", "--since", "30s"), "a line is where its end is");
        assertEquals("last\n", logs("process/a", "--since", "2026-11-20T13:00:31+01:00"));
        assertEquals("", logs("process/a", "--since", "5s"));
        assertEquals("last\n", logs("process/a", "--since", "50s", "--tail", "1"));
        assertEquals("half\nlast\n", logs("process/a", "--since", "30s", "--tail", "9"));
        try (TestAgent agent = TestAgent.start(shell)) {
            assertEquals("half\nlast\n", logs("process/a", "--since", "30s"));
            assertTrue(agent.calls() > 0);
        }
    }

    @Test
    void timesStandBeforeLinesAndOrderThoseOfSeveral() throws IOException {
        noted();
        assertEquals("""
                2026-11-20T12:00:10.000Z first
                2026-11-20T12:00:30.000Z half
                2026-11-20T12:00:50.000Z last
                """, logs("process/a", "--timestamps"));
        String both = """
                process/a | first
                process/b | between
                process/a | half
                process/b | after
                process/a | last
                """;
        assertEquals(both, logs("process/a", "process/b"));
        String timed = """
                process/b | 2026-11-20T12:00:40.000Z after
                process/a | 2026-11-20T12:00:50.000Z last
                """;
        String[] options = {"process/a", "process/b", "--timestamps", "--since", "2026-11-20T12:00:31Z"};
        assertEquals(timed, logs(options));
        try (TestAgent agent = TestAgent.start(shell)) {
            assertEquals(both, logs("process/a", "process/b"));
            assertEquals(timed, logs(options));
            assertTrue(agent.calls() > 0);
        }
    }

    @Test
    void whatNobodyNotedCountsAsWrittenWhenTheLogWasLastChangedAndThatIsSaid() throws IOException {
        changed(LONG, 30);
        String[] before = {"logs", "process/long", "--since", "2026-11-20T12:00:29Z"};
        assertEquals("\"quoted\"\nopen", shell.run(before).out());
        assertTrue(
                shell.run(before).err().contains("nobody noted when"),
                shell.run(before).err());
        assertEquals("", logs("process/long", "--since", "2026-11-20T12:00:31Z"));
        assertEquals("", shell.run("logs", "process/long").err());
    }

    @Test
    void workloadsAreChosenByLabelOrAllThatAreDeclared() throws IOException {
        for (String name : List.of("x", "y")) {
            shell.write(name + ".yaml", """
                    apiVersion: homeostat.io/v1
                    kind: Process
                    metadata: {name: %1$s, labels: {of: %1$s}}
                    spec:
                      install: local
                      entryPoint: /bin/sh
                      arguments: ["-c", "echo I am %1$s; exec sleep 600"]
                    """.formatted(name));
        }
        assertEquals(
                0,
                shell.run("apply", "-f", directory + "/x.yaml", directory + "/y.yaml")
                        .status());
        await().atMost(PATIENCE)
                .until(() -> logs("--all").equals("process/x | I am x\nprocess/y | I am y\n")
                        || logs("--all").equals("process/y | I am y\nprocess/x | I am x\n"));

        assertEquals("process/x | I am x\n", logs("-l", "of=x"));
        Result none = shell.run("logs", "-l", "of=z", "-f");
        assertEquals(1, none.status());
        assertEquals("", none.out());
        assertTrue(none.err().contains("nothing is declared here with of=z"), none.err());
        Result some = shell.run("logs", "process/no", "process/x", "process/nor");
        assertEquals(1, some.status());
        assertEquals("process/x   | I am x\n", some.out());
        assertTrue(some.err().contains("process/no, process/nor are not declared; declared are: "), some.err());
        try (TestAgent agent = TestAgent.start(shell)) {
            assertEquals("process/x | I am x\n", logs("-l", "of=x"));
            assertEquals(2, logs("--all").lines().count());
            assertTrue(agent.calls() > 0);
        }
        assertEquals(64, shell.run("logs", "process/x", "--all").status());
    }

    @Test
    void notesGoWithTheirWorkload() throws IOException {
        shell.write("z.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: z}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "echo begun; exec sleep 600"]
                """);
        WorkloadId z = WorkloadId.process("z");
        assertEquals(0, shell.run("apply", "-f", directory + "/z.yaml").status());
        await().atMost(PATIENCE).until(() -> logs("process/z").equals("begun\n"));
        new LogKeeper(shell.layout(), Clock.systemUTC()).keep(1_000_000);
        assertTrue(Files.exists(shell.layout().logTimes(z).resolve("process.log")));

        assertEquals(0, shell.run("delete", "process/z").status());
        assertFalse(Files.exists(shell.layout().logTimes(z)));
    }

    @Test
    void whatWasSaidBeforeTheProgramCouldWriteIsShownWhereItsLogIsMissing() throws IOException {
        shell.write("z.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: z}
                spec:
                  install: local
                  entryPoint: /bin/sleep
                  arguments: ["600"]
                  rlimits: {nofile: unlimited}
                  start: {attempts: 1}
                """);
        Result applied = shell.run("apply", "-f", directory + "/z.yaml");
        assertEquals(1, applied.status(), applied::toString);

        Result logs = shell.run("logs", "process/z");
        assertEquals("", logs.out());
        assertTrue(
                logs.err().startsWith("homeostat: process/z has written nothing; its last start failed: "), logs.err());
        assertTrue(logs.err().contains("prlimit: failed to set the NOFILE resource limit"), logs.err());
    }

    @Test
    void whatHasWrittenNothingIsAnErrorBesideWhatHas() {
        Result result = shell.run("logs", "process/a", "process/b");
        assertEquals(1, result.status());
        assertTrue(result.err().contains("process/b is not declared; "), result.err());
    }

    @Test
    void eventsAreChosenByWorkloadTimeAndNumber() {
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store()) {
            event(store, 0, null, "begin");
            event(store, 10, A, "first");
            event(store, 20, LONG, "second");
            event(store, 30, A, "third");
        }
        shell.at(Clock.fixed(NOON.plusSeconds(40), ZoneOffset.UTC));

        assertEquals(List.of("begin", "first", "second", "third"), events());
        assertEquals(List.of("first", "third"), events("--for", "process/a"));
        assertEquals(List.of("first", "second", "third"), events("--for", "process/a", "--for", "process/long"));
        assertEquals(List.of("second", "third"), events("--limit", "2"));
        assertEquals(List.of(), events("--limit", "0"));
        assertEquals(List.of("third"), events("--for", "process/a", "--limit", "1"));
        assertEquals(List.of("second", "third"), events("--since", "20s"));
        assertEquals(List.of("third"), events("--since", "2026-11-20T13:00:21+01:00"));
    }

    private static void event(StateStore store, int seconds, @Nullable WorkloadId workload, String message) {
        store.record(new Event(NOON.plusSeconds(seconds), workload, "", EventType.AGENT_STARTED, message));
    }

    private ImmutableList<String> events(String... options) {
        Result result = shell.run(ImmutableList.<String>builder()
                .add("events")
                .add(options)
                .build()
                .toArray(String[]::new));
        assertEquals(0, result.status(), result.err());
        return result.out().lines().map(line -> line.replaceFirst(".* ", "")).collect(ImmutableList.toImmutableList());
    }

    private void log(WorkloadId id, String suffix, String text) throws IOException {
        Path log = shell.layout().log(id);
        Files.createDirectories(log.getParent());
        Files.writeString(log.resolveSibling(log.getFileName() + suffix), text);
    }
}
