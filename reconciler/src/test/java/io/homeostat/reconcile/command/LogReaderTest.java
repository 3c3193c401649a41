package io.homeostat.reconcile.command;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.reconcile.logs.LogTimes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reading a log with its copies while it is rotated. */
class LogReaderTest {
    private static final int COPIES = 9;

    /** A log of more than 50 bytes is rotated. */
    private static final long ROOM = 50L * (COPIES + 1);

    @TempDir
    Path directory;

    private Path path;
    private int written;

    @BeforeEach
    void writeAndRotateTwice() {
        path = directory.resolve("process.log");
        rotated();
        rotated();
        write(3);
    }

    @Test
    void everyLineIsReadOnceAndInOrderThoughCopiesAreMovedAndDroppedMeanwhile() throws IOException {
        try (LogReader reader = new LogReader(path, LogTimes.NONE)) {
            assertTrue(reader.begin(Instant.EPOCH, OptionalInt.empty()));
            rotated();
            rotated();
            Files.delete(LogRotation.copies(path).getFirst());

            assertEquals(lines(written), read(reader));
        }
    }

    @Test
    void theSameByTheLine() {
        try (LogReader reader = new LogReader(path, LogTimes.NONE)) {
            assertTrue(reader.begin(Instant.EPOCH, OptionalInt.empty()));
            rotated();
            rotated();
            List<String> read = new ArrayList<>();
            while (reader.hasNext(false)) {
                read.add(reader.take().text());
            }

            assertEquals(lines(written), read);
        }
    }

    @Test
    void aRotationWhileTheFilesAreOpenedHasThemOpenedAgain() {
        Deque<Runnable> meanwhile = new ArrayDeque<>(List.of(this::rotated, this::rotated));
        try (LogReader reader = new LogReader(path, LogTimes.NONE, () -> {
            if (!meanwhile.isEmpty()) {
                meanwhile.removeFirst().run();
            }
        })) {
            assertTrue(reader.begin(Instant.EPOCH, OptionalInt.empty()));

            assertEquals(lines(written), read(reader));
        }
    }

    private static List<String> read(LogReader reader) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        reader.copyTo(out);
        return out.toString(UTF_8).lines().toList();
    }

    private static List<String> lines(int until) {
        return IntStream.range(0, until).mapToObj(LogReaderTest::line).toList();
    }

    private static String line(int number) {
        return "%04d".formatted(number);
    }

    private void rotated() {
        write(12);
        try {
            assertTrue(new LogRotation().rotate(path, ROOM, COPIES).isPresent());
        } catch (ActuationFailure e) {
            throw new AssertionError(e);
        }
        write(1);
    }

    private void write(int count) {
        String lines = IntStream.range(written, written + count)
                .mapToObj(number -> line(number) + "\n")
                .collect(Collectors.joining());
        written += count;
        try {
            Files.writeString(path, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
