package io.homeostat.reconcile.command;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.reconcile.logs.LogTimes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
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
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Reading a log with its copies while it is rotated. */
class LogReaderTest {
    private static final long TERABYTE = 1L << 40;
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
    void whoWritesOnIsNotReadForEver() throws IOException {
        try (LogReader reader = new LogReader(path, LogTimes.NONE)) {
            assertTrue(reader.begin(Instant.EPOCH, OptionalInt.empty()));
            int read = 0;
            for (; reader.hasNext(false) && read < 1000; read++) {
                LogReader.Line _ = reader.take();
                Files.writeString(path, "x".repeat(70_000) + "\n", StandardOpenOption.APPEND);
            }

            assertTrue(read < 100, () -> "more than was there");
        }
    }

    @Test
    void theSameByTheLine() {
        try (LogReader reader = new LogReader(path, LogTimes.NONE)) {
            assertTrue(reader.begin(Instant.EPOCH, OptionalInt.empty()));
            rotated();
            rotated();

            assertEquals(lines(written), readByTheLine(reader));
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

    /** The workload makes a copy, which nobody looks at before the next rotation. */
    @Test
    @Timeout(60)
    void whatWasNeverWrittenIsLeftOutHoweverLongItIs() throws IOException {
        path = directory.resolve("sparse.log");
        Files.writeString(path, "three\n");
        try (FileChannel copy = FileChannel.open(
                directory.resolve("sparse.log.1"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            copy.write(ByteBuffer.wrap("one\n".getBytes(UTF_8)));
            copy.write(ByteBuffer.wrap("two\n".getBytes(UTF_8)), TERABYTE);
        }
        Files.createFile(directory.resolve("sparse.log.2"));
        for (String name : List.of("sparse.log.1", "sparse.log.2")) {
            try (RandomAccessFile longer =
                    new RandomAccessFile(directory.resolve(name).toFile(), "rw")) {
                longer.setLength(2 * TERABYTE);
            }
        }

        for (OptionalInt tail : List.of(OptionalInt.empty(), OptionalInt.of(2))) {
            String last = tail.isEmpty() ? "onetwothree" : "twothree";
            try (LogReader bytes = new LogReader(path, LogTimes.NONE);
                    LogReader lines = new LogReader(path, LogTimes.NONE)) {
                assertTrue(bytes.begin(Instant.EPOCH, tail));
                assertEquals(last, withoutNuls(read(bytes)));
                assertTrue(lines.begin(Instant.EPOCH, tail));
                assertEquals(last, withoutNuls(readByTheLine(lines)));
            }
        }
    }

    /** Those around a hole are written out; they may part a line. */
    private static String withoutNuls(List<String> lines) {
        return String.join("", lines).replace("\0", "");
    }

    private static List<String> readByTheLine(LogReader reader) {
        List<String> read = new ArrayList<>();
        while (reader.hasNext(false)) {
            read.add(reader.take().text());
        }
        return read;
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
