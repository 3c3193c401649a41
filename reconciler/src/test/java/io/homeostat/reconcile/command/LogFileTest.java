package io.homeostat.reconcile.command;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.reconcile.command.LogFile.Copied;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reading on in a log, whatever becomes of it. */
class LogFileTest {
    @TempDir
    Path directory;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private Path path;

    @BeforeEach
    void chooseFile() {
        path = directory.resolve("process.log");
    }

    @Test
    void whatWasReadIsNotReadAgain() throws IOException {
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one\n");
            assertTrue(log.copyTo(out));
            append("two\n");
            log.copyTo(out);
            log.copyTo(out);
        }
        assertEquals("one\ntwo\n", read());
    }

    @Test
    void whatWasWrittenJustBeforeARotationIsReadInItsCopy() throws Exception {
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one, as usual\n");
            log.copyTo(out);
            append("two, late\n");
            assertTrue(new LogRotation().rotate(path, 60, 2).isPresent());
            append("new\n");
            log.copyTo(out);
            log.copyTo(out);
        }
        assertEquals("one, as usual\ntwo, late\nnew\n", read());
    }

    /** It writes faster than its logs hold, so that the beginning of what is rotated is given up. */
    @Test
    void whatWasReadIsLeftOutOfACopyThatHasLostItsBeginning() throws Exception {
        StringBuilder written = new StringBuilder();
        try (LogFile log = new LogFile(path)) {
            for (int round = 0; round < 5; round++) {
                String seen = lines("seen " + round, 10_000);
                String late = lines("late " + round, 500);
                append(seen);
                log.copyTo(out);
                append(late);
                assertTrue(new LogRotation().rotate(path, 150_000, 4).getAsLong() > 0);
                log.copyTo(out);
                written.append(seen).append(late);
            }
        }
        assertEquals(written.toString(), read());
    }

    @Test
    void linesThatAreAllAlikeAreCountedRight() throws Exception {
        String line = "GET /health 200\n";
        try (LogFile log = new LogFile(path)) {
            append(line.repeat(12_000));
            log.copyTo(out);
            out.reset();
            String late = line.repeat(500) + "ERROR, the only one\n" + line.repeat(500);
            append(late);
            assertTrue(new LogRotation().rotate(path, 150_000, 4).getAsLong() > 0);
            log.copyTo(out);
            assertEquals(late, read());
        }
    }

    @Test
    void whatIsRotatedAgainAndAgainBeforeItIsReadIsReadInAllCopies() throws Exception {
        StringBuilder written = new StringBuilder();
        try (LogFile log = new LogFile(path)) {
            append("one\n");
            log.copyTo(out);
            written.append("one\n");
            for (int round = 0; round < 3; round++) {
                String lines = lines("round " + round, 10_000);
                append(lines);
                written.append(lines);
                assertEquals(0, new LogRotation().rotate(path, 600_000, 4).getAsLong());
                // Less than there is.
                assertEquals(Copied.ENOUGH, log.copyTo(out, 1000));
            }
            append("end\n");
            log.copyTo(out);
        }
        assertEquals(written + "end\n", read());
    }

    /** As on a file system without extended attributes. */
    @Test
    void withoutAMarkOnTheCopyItIsReadOnWhereTheLogWas() throws Exception {
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one, as usual\n");
            log.copyTo(out);
            append("two, late\n");
            Files.copy(path, directory.resolve("process.log.1"));
            Files.writeString(path, "new\n");
            // The mark may be made at any moment.
            log.copyTo(out);
            assertEquals("one, as usual\n", read());
            log.copyTo(out);
        }
        assertEquals("one, as usual\ntwo, late\nnew\n", read());
    }

    @Test
    void ofACopyThatHasLostAllThatWasReadEverythingIsRead() throws Exception {
        try (LogFile log = new LogFile(path)) {
            append("read\nhalf of");
            log.copyTo(out);
            append(lines(" late", 1000));
            long begin = new LogRotation().rotate(path, 1000, 4).getAsLong();
            String kept = Files.readString(directory.resolve("process.log.1"));
            log.copyTo(out);
            assertTrue(kept.endsWith("late 1000\n"));
            assertEquals("read\nhalf of\n" + kept, read());
            append("a line");
            log.copyTo(out);
            append(" in two pieces\n");
            log.copyTo(out);
            assertEquals("read\nhalf of\n" + kept + "a line in two pieces\n", read());
            assertEquals(begin - "read\nhalf of".length(), log.givenUp());
            assertEquals(0, log.givenUp());
        }
    }

    private static String lines(String words, int count) {
        return IntStream.rangeClosed(1, count)
                .mapToObj(number -> words + " " + number + "\n")
                .collect(Collectors.joining());
    }

    @Test
    void aCopyThatTakesTheInodeOfTheOneBeforeItIsAnotherOne() throws Exception {
        StringBuilder written = new StringBuilder();
        try (LogFile log = new LogFile(path)) {
            for (int round = 0; round < 6; round++) {
                String seen = ("seen " + round + "\n").repeat(20);
                String late = ("late " + round + "\n").repeat(20);
                append(seen);
                log.copyTo(out);
                append(late);
                // So long that the copies before it are dropped, and their inodes can be used again.
                assertTrue(new LogRotation().rotate(path, 500, 4).isPresent());
                log.copyTo(out);
                // Looks that are this close may fall into one tick of the file system's clock.
                Files.setLastModifiedTime(directory.resolve("process.log.1"), FileTime.fromMillis(round));
                log.copyTo(out);
                written.append(seen).append(late);
            }
        }
        assertEquals(written.toString(), read());
    }

    @Test
    void aRotationThatIsReadInItsMidstIsReadToItsEnd() throws Exception {
        Path copy = directory.resolve("process.log.1");
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one\n");
            log.copyTo(out);
            Files.copy(path, copy);
            log.copyTo(out);
            Files.writeString(copy, "two, late\n", StandardOpenOption.APPEND);
            Files.writeString(path, "");
            log.copyTo(out);
            log.copyTo(out);
        }
        assertEquals("one\ntwo, late\n", read());
    }

    @Test
    void aCopyThatChangesAfterItWasReadIsNotReadAgain() throws Exception {
        Path copy = directory.resolve("process.log.1");
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one\n");
            log.copyTo(out);
            append("two, late\n");
            assertTrue(new LogRotation().rotate(path, 40, 2).isPresent());
            append("new, and more\n");
            log.copyTo(out);
            Files.setLastModifiedTime(copy, FileTime.fromMillis(1));
            log.copyTo(out);
            append("end\n");
            Files.setLastModifiedTime(copy, FileTime.fromMillis(2));
            log.copyTo(out);
        }
        assertEquals("one\ntwo, late\nnew, and more\nend\n", read());
    }

    @Test
    void ofAFileThatSomebodyElseEmptiesNothingIsReadTwice() throws Exception {
        try (LogFile log = new LogFile(path)) {
            Files.writeString(directory.resolve("process.log.1"), "what was rotated long ago\n".repeat(3));
            Files.writeString(path, "one, as usual\n");
            log.copyTo(out);
            Files.writeString(path, "");
            append("new\n");
            log.copyTo(out);
        }
        assertEquals("one, as usual\nnew\n", read());
    }

    @Test
    void aFifoThatTakesItsPlaceIsNotWaitedFor() throws Exception {
        assertEquals(0, new ProcessBuilder("mkfifo", path.toString()).start().waitFor());

        assertThrows(IOException.class, () -> PinnedFile.read(path));
        try (LogFile log = new LogFile(path)) {
            assertThrows(CommandFailure.class, () -> log.copyTo(out));
        }
    }

    @Test
    void ofMuchOnlySoMuchIsCopiedAtATimeAlsoOfAFileThatWasReplaced() throws IOException {
        String block = "x".repeat(64 << 10);
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "");
            log.copyTo(out);
            append(block + block + "end\n");
            assertEquals(Copied.ENOUGH, log.copyTo(out, block.length()));
            assertEquals(block, read());
            Files.move(path, directory.resolve("process.log.1"));
            Files.writeString(path, "new\n");
            assertEquals(Copied.ENOUGH, log.copyTo(out, block.length()));
            assertEquals(block + block, read());
            assertEquals(Copied.ALL, log.copyTo(out, block.length()));
        }
        assertEquals(block + block + "end\nnew\n", read());
    }

    @Test
    void ofMuchThatWasRotatedAwayOnlySoMuchIsCopiedAtATime() throws Exception {
        String block = "x".repeat(64 << 10);
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one\n");
            log.copyTo(out);
            append(block + block + "end\n");
            assertTrue(new LogRotation().rotate(path, 300_000, 2).isPresent());
            // As long as what was read before: it does not look shorter.
            append("new\n");
            assertEquals(Copied.ENOUGH, log.copyTo(out, block.length()));
            assertEquals("one\n" + block, read());
            assertEquals(Copied.ENOUGH, log.copyTo(out, block.length()));
            assertEquals("one\n" + block + block, read());
            assertEquals(Copied.ALL, log.copyTo(out, block.length()));
        }
        assertEquals("one\n" + block + block + "end\nnew\n", read());
    }

    @Test
    void theLastLinesAreFoundWhereverTheyBegin() throws IOException {
        String line = "x".repeat(50_000) + "\n";
        for (String text : new String[] {"", "a", "a\n", "a\nb\nc\n", "a\nb\nc", "\n\n\n", line.repeat(5) + "end"}) {
            Files.writeString(path, text);
            List<String> lines = text.lines().toList();
            for (int wanted = 0; wanted <= lines.size() + 1; wanted++) {
                out.reset();
                try (LogFile log = new LogFile(path)) {
                    // The first line begins after no line end, so there may be more of it in an older file.
                    assertEquals(Math.max(0, wanted - Math.max(0, lines.size() - 1)), log.skipToLast(wanted, true));
                    log.copyTo(out);
                }
                assertEquals(
                        lines.subList(Math.max(0, lines.size() - wanted), lines.size()),
                        out.toString(UTF_8).lines().toList());
            }
        }
    }

    /** Others write and rotate at any moment: between two looks, and while what was read is handed on. */
    @Test
    void whateverIsRotatedMeanwhileIsReadOnceAndInOrder() throws Exception {
        StringBuilder written = new StringBuilder();
        Random random = new Random(42);
        int[] left = {60};
        Runnable others = () -> {
            if (left[0] > 0 && random.nextBoolean()) {
                left[0]--;
                String lines = lines(left[0] + " x".repeat(50), random.nextInt(600));
                written.append(lines);
                append(lines);
                if (random.nextBoolean()) {
                    rotateWithoutLoss();
                }
            }
        };
        OutputStream slow = new FilterOutputStream(out) {
            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                others.run();
                out.write(bytes, offset, length);
            }
        };
        try (LogFile log = new LogFile(path, others)) {
            append("");
            while (left[0] > 0 || out.size() < written.length()) {
                Copied _ = log.copyTo(slow, 400_000);
            }
            assertEquals(written.toString(), read());
            assertEquals(Copied.ALL, log.copyTo(out, 1));
            assertEquals(0, log.givenUp());
        }
        assertEquals(written.length(), out.size());
    }

    @Test
    void aLogThatWasRotatedAndHasGrownAgainWhileItWasHandedOnIsNotReadFromItsMiddle() throws Exception {
        StringBuilder written = new StringBuilder();
        Deque<Runnable> others = new ArrayDeque<>();
        OutputStream slow = new FilterOutputStream(out) {
            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                out.write(bytes, offset, length);
                Optional.ofNullable(others.poll()).ifPresent(Runnable::run);
            }
        };
        try (LogFile log = new LogFile(path)) {
            for (String words : List.of("one", "two", "three")) {
                written.append(lines(words, 20_000));
            }
            append(lines("one", 20_000));
            others.add(() -> {
                rotateWithoutLoss();
                append(lines("two", 20_000));
                append(lines("three", 20_000));
            });
            log.copyTo(slow);
            log.copyTo(slow);
        }
        assertEquals(written.toString(), read());
    }

    @Test
    void aRotationBetweenTwoLooksAtTheCopiesIsNotReadTwice() throws Exception {
        Deque<Runnable> others = new ArrayDeque<>();
        try (LogFile log =
                new LogFile(path, () -> Optional.ofNullable(others.poll()).ifPresent(Runnable::run))) {
            append("one\n");
            log.copyTo(out);
            append(lines("two", 10_000));
            rotateWithoutLoss();
            append(lines("three", 10_000));
            others.add(this::rotateWithoutLoss);
            log.copyTo(out);
            append("end\n");
            log.copyTo(out);
            log.copyTo(out);
        }
        assertEquals("one\n" + lines("two", 10_000) + lines("three", 10_000) + "end\n", read());
    }

    @Test
    void aLogThatIsRotatedDuringALookIsReadToItsEndInOneCall() throws Exception {
        Deque<Runnable> others = new ArrayDeque<>();
        try (LogFile log =
                new LogFile(path, () -> Optional.ofNullable(others.poll()).ifPresent(Runnable::run))) {
            append(lines("one", 10_000));
            others.add(() -> {});
            // While the first piece is read, then between the look that this causes and the opening of the copies.
            for (String next : List.of("two", "three")) {
                others.add(() -> {
                    rotateWithoutLoss();
                    append(lines(next, 10_000));
                });
            }
            log.copyTo(out);
        }
        assertEquals(lines("one", 10_000) + lines("two", 10_000) + lines("three", 10_000), read());
    }

    /** If it is long enough. */
    private void rotateWithoutLoss() {
        try {
            assertEquals(0, new LogRotation().rotate(path, 50_000 * 61, 60).orElse(0));
        } catch (ActuationFailure e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void itIsSaidWhetherAllThatThereIsHasBeenCopied() throws IOException {
        try (LogFile log = new LogFile(path)) {
            assertEquals(Copied.ALL, log.copyTo(out, 4));
            Files.writeString(path, "one\n");
            assertEquals(Copied.ENOUGH, log.copyTo(out, 4));
            assertEquals(Copied.ALL, log.copyTo(out, 4));

            // A rotation that has emptied the log, and is about to write down what it has moved.
            Files.copy(path, directory.resolve("process.log.1"));
            Files.writeString(path, "", StandardOpenOption.TRUNCATE_EXISTING);
            assertEquals(Copied.NOT_ALL, log.copyTo(out, 4));
        }
    }

    @Test
    void aLogThatIsRotatedAtEachLookIsNotSaidToBeCopied() throws IOException {
        Runnable another = () -> {
            append(lines("more", 10_000));
            rotateWithoutLoss();
        };
        append("one\n");
        try (LogFile log = new LogFile(path, another)) {
            assertEquals(Copied.NOT_ALL, log.copyTo(out, Long.MAX_VALUE));
        }
    }

    @Test
    void aFileThatComesLaterIsReadFromItsBeginning() throws IOException {
        try (LogFile log = new LogFile(path)) {
            assertFalse(log.copyTo(out));
            Files.writeString(path, "one\n");
            assertTrue(log.copyTo(out));
        }
        assertEquals("one\n", read());
    }

    @Test
    void aFileThatWasTruncatedBeginsAnew() throws IOException {
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "a long line\n");
            log.copyTo(out);
            Files.writeString(path, "new\n", StandardOpenOption.TRUNCATE_EXISTING);
            log.copyTo(out);
            append("newer\n");
            log.copyTo(out);
        }
        assertEquals("a long line\nnew\nnewer\n", read());
    }

    @Test
    void aFileThatWasReplacedIsReadToItsEndBeforeTheOther() throws IOException {
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one\n");
            log.copyTo(out);
            append("two\n");
            Files.move(path, directory.resolve("process.log.1"));
            Files.writeString(path, "three, which is longer than all before it\n");
            log.copyTo(out);
        }
        assertEquals("one\ntwo\nthree, which is longer than all before it\n", read());
    }

    @Test
    void aFileThatIsGoneIsReadToItsEndAndItsSuccessorAwaited() throws IOException {
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one\n");
            log.copyTo(out);
            append("two\n");
            Files.delete(path);
            assertFalse(log.copyTo(out));
            Files.writeString(path, "three\n");
            assertTrue(log.copyTo(out));
        }
        assertEquals("one\ntwo\nthree\n", read());
    }

    @Test
    void aLinkInItsPlaceIsNotFollowed() throws IOException {
        Path secret = Files.writeString(directory.resolve("secret"), "secret");
        try (LogFile log = new LogFile(path)) {
            Files.writeString(path, "one\n");
            log.copyTo(out);
            Files.delete(path);
            Files.createSymbolicLink(path, secret);
            CommandFailure e = assertThrows(CommandFailure.class, () -> log.copyTo(out));
            assertTrue(String.valueOf(e.getMessage()).contains("the workload replaced it"), e.getMessage());
        }
        assertEquals("one\n", read());
    }

    private void append(String text) {
        try {
            Files.writeString(path, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String read() {
        return out.toString(UTF_8);
    }
}
