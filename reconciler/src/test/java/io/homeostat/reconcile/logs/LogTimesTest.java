package io.homeostat.reconcile.logs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.logs.LogIndex.Extent;
import io.homeostat.reconcile.logs.LogTimes.Span;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is known of when logs were written. */
class LogTimesTest {
    private static final WorkloadId ID = WorkloadId.process("q");
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");
    private static final long BYTES = 50_000;
    private static final long REST = Long.MAX_VALUE;

    @TempDir
    private Path directory;

    private Layout layout = new Layout(Path.of("/"), Path.of("/"), "m");
    private Path log = Path.of("/");
    private Path index = Path.of("/");
    private Instant now = NOON.plusSeconds(1000);
    private LogKeeper keeper = new LogKeeper(layout, () -> now);

    @BeforeEach
    void set() throws IOException {
        layout = new Layout(directory, directory.resolve("run"), "m");
        log = layout.log(ID);
        index = layout.logTimes(ID).resolve("process.log");
        Files.createDirectories(layout.workloadState(ID));
        keeper = new LogKeeper(layout, () -> now);
    }

    private void write(int seconds, String text) throws IOException {
        Files.writeString(log, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        Files.setLastModifiedTime(log, FileTime.from(NOON.plusSeconds(seconds)));
    }

    private List<Span> spans(Path file) throws IOException {
        Extent extent = Extent.of(file);
        return LogTimes.of(log, index).spans(extent.file(), extent.changed());
    }

    private static Span span(long end, int seconds) {
        return new Span(end, NOON.plusSeconds(seconds));
    }

    @Test
    void whatIsThereAtALookWasWrittenByTheLastChangeBefore() throws IOException {
        write(1, "one\n");
        keeper.keep(BYTES);
        keeper.keep(BYTES);
        write(5, "two\n");
        keeper.keep(BYTES);
        write(9, "three\n");

        assertEquals(List.of(span(4, 1), span(8, 5), span(REST, 9)), spans(log));
        assertEquals(0, LogTimes.beginning(spans(log), NOON.plusSeconds(1)));
        assertEquals(4, LogTimes.beginning(spans(log), NOON.plusSeconds(2)));
        assertEquals(8, LogTimes.beginning(spans(log), NOON.plusSeconds(9)));
        assertEquals(REST, LogTimes.beginning(spans(log), NOON.plusSeconds(10)));
    }

    @Test
    void anotherKeeperGoesOnWithWhatWasNoted() throws IOException {
        write(1, "one\n");
        keeper.keep(BYTES);
        write(5, "two\n");
        new LogKeeper(layout, () -> now).keep(BYTES);

        assertEquals(List.of(span(4, 1), span(8, 5), span(REST, 5)), spans(log));
    }

    @Test
    void rotatedLinesKeepTheirTimes() throws IOException {
        write(1, "one\n");
        keeper.keep(BYTES);
        write(5, "two\n".repeat(3000));
        keeper.keep(BYTES);
        Path copy = log.resolveSibling("process.log.1");
        Files.setLastModifiedTime(copy, FileTime.from(NOON.plusSeconds(7)));
        write(9, "three\n");
        keeper.keep(BYTES);

        List<Span> old = spans(copy);
        assertEquals(span(4, 1), old.getFirst());
        assertEquals(span(REST, 7), old.getLast());
        assertEquals(List.of(span(6, 9), span(REST, 9)), spans(log));

        write(11, "four\n".repeat(3000));
        keeper.keep(BYTES);
        assertEquals(span(4, 1), spans(log.resolveSibling("process.log.2")).getFirst(), "a copy that has moved up");
        assertEquals(span(6, 9), spans(copy).getFirst());
    }

    @Test
    void aBeginningThatIsGivenUpMovesTheTimesOfTheRest() throws IOException {
        String block = "a line\n".repeat(1000);
        write(1, block);
        keeper.keep(BYTES);
        write(5, block.repeat(9));
        Path copy = log.resolveSibling("process.log.1");
        keeper.keep(BYTES);

        assertTrue(Files.size(copy) < 9 * block.length(), "something was given up");
        assertEquals(2, spans(copy).size(), "nothing that is left was there at noon");
        assertEquals(0, LogTimes.beginning(spans(copy), NOON.plusSeconds(2)));
    }

    @Test
    void nothingHoldsOfALogThatHasBecomeShorter() throws IOException {
        write(1, "one\ntwo\n");
        keeper.keep(BYTES);
        Files.writeString(log, "x\n");
        Files.setLastModifiedTime(log, FileTime.from(NOON.plusSeconds(5)));

        assertEquals(List.of(span(REST, 5)), spans(log), "before anybody has looked");
        keeper.keep(BYTES);
        assertEquals(List.of(span(2, 5), span(REST, 5)), spans(log));
    }

    @Test
    void nothingHoldsOfALogThatSomebodyRotatedWithoutNotingIt() throws IOException {
        write(1, "one\n");
        keeper.keep(BYTES);
        Files.copy(log, log.resolveSibling("process.log.1"));
        Files.writeString(log, "");
        write(5, "later\n");

        assertEquals(List.of(span(REST, 5)), spans(log));
    }

    @Test
    void aHalfWrittenPointIsIgnoredAndReplaced() throws IOException {
        write(1, "one\n");
        keeper.keep(BYTES);
        Files.write(index, new byte[] {1, 2, 3}, StandardOpenOption.APPEND);
        assertEquals(List.of(span(4, 1), span(REST, 1)), spans(log));

        write(5, "two\n");
        new LogKeeper(layout, () -> now).keep(BYTES);
        assertEquals(List.of(span(4, 1), span(8, 5), span(REST, 5)), spans(log));
    }

    @Test
    void whatWasChangedInTheFutureWasWrittenByNow() throws IOException {
        write(5000, "one\n");
        keeper.keep(BYTES);

        assertEquals(span(4, 1000), spans(log).getFirst());
    }

    @Test
    void theNotesStaySmallAndMakeNothingSeemOlder() throws IOException {
        int lines = 2 * LogIndex.MOST;
        for (int i = 1; i <= lines; i++) {
            write(i, "x\n");
            now = NOON.plusSeconds(i);
            keeper.keep(10_000_000);
        }

        assertTrue(Files.size(index) <= 32L * LogIndex.MOST, "" + Files.size(index));
        List<Span> spans = spans(log);
        for (Span span : spans.subList(0, spans.size() - 1)) {
            assertEquals(NOON.plusSeconds(span.end() / 2), span.time());
        }
        assertEquals(2L * lines, spans.get(spans.size() - 2).end());
    }

    @Test
    void aLogIsRotatedAlthoughNothingCanBeNoted() throws IOException {
        Files.createDirectories(layout.logTimes(ID.kind()));
        Files.writeString(layout.logTimes(ID), "in the way");
        write(1, "one\n".repeat(5000));
        keeper.keep(BYTES);

        assertTrue(Files.exists(log.resolveSibling("process.log.1")));
        assertTrue(LogTimes.of(log, index).isEmpty());
        Files.delete(layout.logTimes(ID));
        write(5, "two\n");
        keeper.keep(BYTES);
        assertFalse(LogTimes.of(log, index).isEmpty());
    }
}
