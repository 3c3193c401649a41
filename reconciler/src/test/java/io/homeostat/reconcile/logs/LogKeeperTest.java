package io.homeostat.reconcile.logs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertLinesMatch;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.Iterables;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.HeardLog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.InstantSource;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogKeeperTest {
    private static final long BYTES = 50_000;

    @TempDir
    private Path directory;

    private final HeardLog heard = HeardLog.ofThisThread(LogKeeper.class);
    private Layout layout = new Layout(Path.of("/"), Path.of("/"), "m");

    @BeforeEach
    void set() {
        layout = new Layout(directory, directory.resolve("run"), "m");
    }

    @AfterEach
    void detach() {
        heard.close();
    }

    private Path log(WorkloadId id, String name) throws IOException {
        return Files.createDirectories(layout.workloadState(id)).resolve(name);
    }

    private static long total(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.mapToLong(file -> file.toFile().length()).sum();
        }
    }

    @Test
    void whatIsGivenUpOfALogIsToldOnceUntilItFitsAgain() throws IOException {
        Path log = log(WorkloadId.process("q"), "process.log");
        LogKeeper keeper = new LogKeeper(layout, InstantSource.system());
        for (int round = 0; round < 3; round++) {
            Files.writeString(log, "a line of a log\n".repeat(5000));
            keeper.keep(BYTES);
        }
        String words = Iterables.getOnlyElement(heard.lines());
        assertTrue(
                words.startsWith(log + " has grown by more than limits.logBytesPerWorkload allows; its oldest "),
                words);
        Files.writeString(log, "a line of a log\n".repeat(1000));
        keeper.keep(BYTES);
        Files.writeString(log, "a line of a log\n".repeat(5000));
        keeper.keep(BYTES);
        assertEquals(2, heard.lines().size());
    }

    @Test
    void theLogsOfEveryKindStayWithinTheirBoundHoweverMuchIsWritten() throws IOException {
        WorkloadId plugin = WorkloadId.plugin("p");
        WorkloadId process = WorkloadId.process("q");
        LogKeeper keeper = new LogKeeper(layout, InstantSource.system());
        String block = "a line of a log\n".repeat(500);
        for (int round = 0; round < 40; round++) {
            for (Path file : new Path[] {layout.log(plugin), log(plugin, "errors.log"), layout.log(process)}) {
                Files.createDirectories(file.getParent());
                Files.writeString(file, block, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
            keeper.keep(BYTES);
            assertTrue(total(layout.workloadState(plugin)) <= BYTES, "plugin in round " + round);
            assertTrue(total(layout.workloadState(process)) <= BYTES, "process in round " + round);
        }
        assertTrue(Files.exists(layout.log(process).resolveSibling("process.log.1")));
        assertTrue(Files.exists(layout.log(plugin).resolveSibling("errors.log.1")));
    }

    @Test
    void nothingIsTouchedWhenNothingIsDue() throws IOException {
        Path log = Files.writeString(log(WorkloadId.process("q"), "process.log"), "short\n");

        new LogKeeper(layout, InstantSource.system()).keep(BYTES);

        assertEquals("short\n", Files.readString(log));
        assertFalse(Files.exists(log.resolveSibling("process.log.1")));
    }

    @Test
    void whatCannotBeRotatedIsToldOfOnceAndStopsNoOther() throws IOException {
        Path victim = Files.writeString(directory.resolve("victim"), "x".repeat(100_000));
        Path bad = log(WorkloadId.process("bad"), "process.log");
        Files.createSymbolicLink(bad, victim);
        Path good = Files.writeString(log(WorkloadId.process("good"), "process.log"), "line\n".repeat(3_000));
        LogKeeper keeper = new LogKeeper(layout, InstantSource.system());

        keeper.keep(BYTES);
        keeper.keep(BYTES);

        assertLinesMatch(List.of(".*symbolic link.*"), heard.lines());
        assertEquals(100_000, Files.size(victim));
        assertTrue(Files.size(good) <= BYTES);

        Files.delete(bad);
        keeper.keep(BYTES);
        Files.createSymbolicLink(bad, victim);
        keeper.keep(BYTES);
        assertEquals(2, heard.lines().size(), "a new occasion is worth a line");
    }

    @Test
    void aMachineWithoutWorkloadsIsNoProblem() {
        new LogKeeper(layout, InstantSource.system()).keep(BYTES);

        assertEquals(List.of(), heard.lines());
    }
}
