package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which part of logs and events is shown, and how, with and without an agent. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LogsTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId LONG = WorkloadId.process("long");
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    @TempDir
    Path directory;

    private Shell shell;

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
    void linesAreObjectsForPrograms() {
        assertEquals("""
                {"formatVersion":"1.0","workload":"process/long","line":"\\"quoted\\""}
                {"formatVersion":"1.0","workload":"process/long","line":"open"}
                """, shell.run("logs", "process/long", "-o", "json").out());
    }

    @Test
    void whatHasWrittenNothingIsAnErrorBesideWhatHas() {
        Result result = shell.run("logs", "process/a", "process/b");
        assertEquals(1, result.status());
        assertTrue(result.err().contains("process/b has written nothing here"), result.err());
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
