package io.homeostat.actuate.task;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.HostileTree;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.actuate.launch.LogTurns;
import io.homeostat.actuate.task.FailingSteps.Killed;
import io.homeostat.actuate.task.FailingSteps.When;
import io.homeostat.actuate.task.OutputCopy.Places;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.SparseFile;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class OutputCopyTest {
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    @TempDir
    Path temp;

    private final AtomicLong now = new AtomicLong();
    private final LogTurns turns = new LogTurns();
    private Places places = new Places(Path.of(""), Path.of(""), Path.of(""), Path.of(""));
    private OutputCopy output = new OutputCopy(places, turns);

    @BeforeEach
    void setUp() {
        places = new Places(
                temp.resolve("stdout"), temp.resolve("stderr"), temp.resolve("state"), temp.resolve("workload/log"));
        output = output(OutputSteps.ofTheKernel());
    }

    @Test
    void whatIsWrittenToBothIsCopiedOnce() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
            task.err("two\n");
            assertFalse(output.copy());
            assertFalse(output.copy());
            assertEquals("one\ntwo\n", log());
            task.out("three\n");
            assertFalse(output.copy());
            assertEquals("one\ntwo\nthree\n", log());
        }
        output.finish();
        assertEquals("one\ntwo\nthree\n", log());
        for (Path gone : List.of(places.out(), places.err(), places.state())) {
            assertFalse(Files.exists(gone), gone.toString());
        }
        output.finish();
        assertFalse(output.copy());
    }

    @Test
    void whoeverHasPrintedNothingNewIsNotWaitedFor() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
            output.copy();
            output.copy();
            try (LogTurns.Turn _ = turns.take(places.log());
                    ExecutorService another = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<Boolean> copied = another.submit(output::copy);
                assertFalse(copied.get(DEADLINE.toSeconds(), TimeUnit.SECONDS));
            }
            task.out("two\n");
            output.copy();
            assertEquals("one\ntwo\n", log());
        }
    }

    @Test
    void whatHasNotBeenWrittenToForLongRestsUntilItIs() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
            output.copy();
            assertFalse(output.isResting());
            for (int i = 0; i < 100; i++) {
                output.copy();
            }
            assertTrue(output.isResting());
            task.out("two\n");
            output.copy();
            assertFalse(output.isResting());
            assertEquals("one\ntwo\n", log());
        }
    }

    @Test
    void aLineIsCopiedWhenItHasEndedOrWaitedOrItsTaskHasEnded() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("whole\nhal");
            output.copy();
            assertEquals("whole\n", log());
            task.err("of another\n");
            task.out("f\n");
            output.copy();
            assertEquals("whole\nhalf\nof another\n", log());

            task.out("name: ");
            output.copy();
            now.addAndGet(Duration.ofSeconds(1).toNanos());
            task.out("(you) ");
            output.copy();
            assertEquals("whole\nhalf\nof another\n", log());
            now.addAndGet(Duration.ofSeconds(1).toNanos());
            output.copy();
            assertEquals("whole\nhalf\nof another\nname: (you) ", log());

            task.out("the end");
            output.copy();
        }
        output.finish();
        assertEquals("whole\nhalf\nof another\nname: (you) the end", log());
    }

    @Test
    void aLineThatIsTooLongDoesNotWait() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("x".repeat((64 << 10) - 1));
            output.copy();
            assertEquals("", log());
            task.out("x");
            output.copy();
            assertEquals("x".repeat(64 << 10), log());
        }
    }

    @Test
    void whatNoLogWouldKeepIsGivenUpUntilItIsCopiedAgain() throws Exception {
        output.begin();
        String line = "x".repeat((1 << 20) - 1) + "\n";
        try (Task task = new Task()) {
            for (long written = 0; written <= OutputCopy.BACKLOG; written += line.length()) {
                task.out(line);
            }
            task.out(line);
            task.out("the last\n");
        }
        output.finish();

        long kept = Files.size(places.log());
        assertTrue(kept <= OutputCopy.BACKLOG, () -> "kept " + kept);
        assertTrue(kept > OutputCopy.BACKLOG - line.length(), () -> "kept " + kept);
        try (FileChannel log = FileChannel.open(places.log())) {
            ByteBuffer end = ByteBuffer.allocate("the last\n".length());
            int _ = log.read(end, kept - end.capacity());
            assertEquals("the last\n", new String(end.array(), StandardCharsets.UTF_8));
        }
    }

    @Test
    void fortyMegabytesPassThroughOne() throws Exception {
        output.begin();
        StringBuilder line = new StringBuilder();
        long number = 0;
        long most = 0;
        try (Task task = new Task()) {
            for (int step = 0; step < 80; step++) {
                line.setLength(0);
                while (line.length() < 512 << 10) {
                    line.append("line ").append(number++).append(" of the output\n");
                }
                task.out(line.toString());
                task.err("step " + step + "\n");
                if (step % 8 == 0) {
                    most = Math.max(most, onDisk(places.out()) + onDisk(places.err()));
                }
                while (output.copy()) {
                    // Until it has caught up.
                }
            }
            assertTrue(Files.size(places.out()) >= 40 << 20);
            assertTrue(onDisk(places.out()) <= 128 << 10, onDisk(places.out()) + " bytes are kept");
        }
        assertTrue(most <= 1 << 20, most + " bytes were on the disk");
        output.finish();

        long next = 0;
        int steps = 0;
        for (String each : log().split("\n", -1)) {
            if (each.startsWith("step ")) {
                assertEquals("step " + steps++, each);
            } else if (!each.isEmpty()) {
                assertEquals("line " + next++ + " of the output", each);
            }
        }
        assertEquals(number, next);
        assertEquals(80, steps);
    }

    @Test
    void onePassIsBounded() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            for (int i = 0; i < 10; i++) {
                task.out("0123456789abcde\n".repeat(64 << 10));
            }
            assertTrue(output.copy(), "there is more");
            assertTrue(
                    Files.size(places.log()) <= (4 << 20) + (256 << 10), "one pass copied " + Files.size(places.log()));
            while (output.copy()) {
                // Until it has caught up.
            }
            assertEquals(10 << 20, Files.size(places.log()));
        }
    }

    /** All that happens to an output, in which anything may be the last thing that this process does. */
    @ParameterizedTest
    @EnumSource(When.class)
    void killedAnywhereNothingIsLostOrDoubled(When when) throws Exception {
        for (boolean rotateFirst : new boolean[] {false, true}) {
            boolean failed = true;
            for (int step = 1; failed; step++) {
                String where = when + " step " + step + (rotateFirst ? ", rotated at once" : "");
                FailingSteps failing = new FailingSteps(step, when);
                live(failing, rotateFirst);
                failed = failing.hasFailed();

                String all = everything();
                assertEquals(lines("o", 40), linesOf(all, "o"), where);
                assertEquals(lines("e", 20), linesOf(all, "e"), where);
                assertFalse(all.contains("\0"), where);
                clean();
            }
        }
    }

    private void live(FailingSteps failing, boolean rotateFirst) throws Exception {
        OutputCopy[] copy = {output(failing)};
        List<String> out = lines("o", 40);
        List<String> err = lines("e", 20);
        Restart surviving = verb -> {
            try {
                verb.run(copy[0]);
            } catch (Killed e) {
                copy[0] = output(OutputSteps.ofTheKernel());
                if (rotateFirst) {
                    rotate();
                }
                verb.run(copy[0]);
            }
        };
        surviving.run(OutputCopy::begin);
        try (Task task = new Task()) {
            for (int turn = 0; turn < 4; turn++) {
                task.out(String.join("\n", out.subList(turn * 10, turn * 10 + 10)) + "\n");
                task.err(String.join("\n", err.subList(turn * 5, turn * 5 + 5)) + "\n");
                if (turn % 2 == 0) {
                    surviving.run(OutputCopy::copy);
                    rotate();
                }
            }
        }
        surviving.run(OutputCopy::finish);
    }

    private interface Verb {
        void run(OutputCopy output) throws ActuationFailure;
    }

    private interface Restart {
        void run(Verb verb) throws ActuationFailure;
    }

    @Test
    void aLaterStartBeginsWithWhatAFormerOneHasLeft() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("first, not ended");
        }
        output(OutputSteps.ofTheKernel()).begin();
        assertEquals("first, not ended", log());
        assertEquals(0, Files.size(places.out()));
        try (Task task = new Task()) {
            task.out("\nsecond\n");
        }
        output.finish();
        assertEquals("first, not ended\nsecond\n", log());
    }

    @Test
    void whoGoesOnWritingKeepsItFromNoEnd() throws Exception {
        output.begin();
        byte[] more = "x".repeat(511).concat("\n").repeat(1 << 10).getBytes(StandardCharsets.UTF_8);
        Files.write(places.out(), more);
        OutputSteps kernel = OutputSteps.ofTheKernel();
        OutputCopy outrun = output((OutputSteps) Proxy.newProxyInstance(
                OutputSteps.class.getClassLoader(), new Class<?>[] {OutputSteps.class}, (_, step, arguments) -> {
                    if (step.getName().equals("write")) {
                        Files.write(places.out(), more, StandardOpenOption.APPEND);
                    }
                    return step.invoke(kernel, arguments);
                }));

        assertTimeoutPreemptively(DEADLINE, outrun::finish);

        assertFalse(Files.exists(places.out()));
    }

    @Test
    void whatWasNeverWrittenIsNotCopied() throws Exception {
        output.begin();
        try (FileChannel out = FileChannel.open(places.out(), StandardOpenOption.WRITE)) {
            out.write(bytes("first\n"), 0);
            output.copy();
            // Far away, in the middle of a block.
            out.write(bytes("second\n"), (1 << 20) + 1234);
            output.copy();
            assertEquals("first\nsecond\n", log());
            // Grown without a word, which may come yet.
            int size = (int) out.size();
            out.write(bytes("x"), size + (2 << 20));
            out.truncate(size + (2 << 20));
            output.copy();
            out.write(bytes("third\n"), size);
            output.copy();
            assertEquals("first\nsecond\nthird\n", log());
        }
        output.finish();
        assertEquals("first\nsecond\nthird\n", log());
    }

    @Test
    void aTaskMayTruncateItsOutput() throws Exception {
        output.begin();
        try (FileChannel out = FileChannel.open(places.out(), StandardOpenOption.WRITE)) {
            out.write(bytes("first, a long line\n"), 0);
            output.copy();
            out.truncate(0);
            out.write(bytes("again\n"), 0);
            output.copy();
            assertEquals("first, a long line\nagain\n", log());
            // One that goes on where it was.
            out.truncate(0);
            output.copy();
            out.write(bytes("further\n"), 100_000);
            output.copy();
            assertEquals("first, a long line\nagain\nfurther\n", log());
        }
    }

    @Test
    void whatHasTakenThePlaceOfAnOutputIsNotTouched() throws Exception {
        Path victim = Files.writeString(temp.resolve("victim"), "precious\n");
        List<Verb> swaps = List.of(
                any -> swap(() -> Files.createSymbolicLink(places.out(), victim)),
                any -> swap(() -> Files.createLink(places.out(), victim)),
                any -> swap(() -> Files.createDirectory(places.out())),
                any -> swap(() -> new ProcessBuilder("mkfifo", places.out().toString())
                        .start()
                        .onExit()
                        .join()));
        for (Verb swap : swaps) {
            output.begin();
            try (Task task = new Task()) {
                task.out("before\n");
            }
            output.copy();
            swap.run(output);

            ActuationFailure failure = assertThrows(ActuationFailure.class, () -> output.copy());
            assertTrue(
                    String.valueOf(failure.getMessage()).contains(places.out().toString()), failure.getMessage());
            assertThrows(ActuationFailure.class, () -> output.finish());
            assertEquals("precious\n", Files.readString(victim));
            assertFalse(log().contains("precious"));
            clean();
        }
    }

    private interface Swap {
        Object run() throws IOException;
    }

    private void swap(Swap swap) {
        try {
            Files.delete(places.out());
            swap.run();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aLogThatIsNoneIsNotWrittenTo() throws Exception {
        Path victim = Files.writeString(temp.resolve("victim"), "precious\n");
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
        }
        Files.createDirectories(places.log().getParent());
        Files.createSymbolicLink(places.log(), victim);
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> output.copy());
        assertTrue(String.valueOf(failure.getMessage()).contains("no file"), failure.getMessage());

        Files.delete(places.log());
        Files.createLink(places.log(), victim);
        failure = assertThrows(ActuationFailure.class, () -> output.copy());
        assertTrue(String.valueOf(failure.getMessage()).contains("several names"), failure.getMessage());
        assertEquals("precious\n", Files.readString(victim));

        Files.delete(places.log());
        output.copy();
        assertEquals("one\n", log());
    }

    @Test
    void aFullDiskDelaysAndLosesNothing() throws Exception {
        FullDisk disk = new FullDisk(places.log());
        output = output(disk);
        output.begin();
        try (Task task = new Task()) {
            task.out("first\n");
            output.copy();
            disk.full = true;
            task.out("second, of which half finds room\n");
            assertFalse(output.copy());
            assertFalse(output.copy());
            assertEquals("first\n", log(), "no half line is left");
            ActuationFailure failure = assertThrows(ActuationFailure.class, () -> output.finish());
            assertEquals(FailureCause.Kind.DISK_FULL, failure.failureCause().kind());

            // Even when it is rotated meanwhile, and we are killed.
            rotate();
            disk.full = false;
            task.out("third\n");
        }
        output(OutputSteps.ofTheKernel()).finish();
        assertEquals("first\nsecond, of which half finds room\nthird\n", everything());
    }

    @Test
    void whereNothingCanBeGivenBackItIsCopiedAllTheSame() throws Exception {
        output = output(new Wrapped() {
            @Override
            public void punch(SparseFile source, long from, long to) throws IOException {
                throw new IOException("the file system can't");
            }
        });
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
            output.copy();
            task.out("two\n");
            output.copy();
        }
        assertEquals("one\ntwo\n", log());
    }

    @Test
    void anotherErrorThanAFullDiskIsTold() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
        }
        OutputCopy broken = output(new Wrapped() {
            @Override
            public void write(FileChannel file, ByteBuffer bytes, long position) throws IOException {
                throw new IOException("Input/output error");
            }
        });
        ActuationFailure failure = assertThrows(ActuationFailure.class, broken::copy);
        assertTrue(String.valueOf(failure.getMessage()).contains(places.log().toString()), failure.getMessage());
        assertThrows(
                ActuationFailure.class,
                () -> output(new Wrapped() {
                            @Override
                            public void create(Path file) throws IOException {
                                throw new IOException("Input/output error");
                            }
                        })
                        .begin());
    }

    @Test
    void aDamagedStateLosesNothing() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("0123456789abcde\n".repeat(64 << 10));
            while (output.copy()) {
                // Until it has caught up.
            }
            byte[] zeros = new byte[(int) Files.size(places.state())];
            Files.write(places.state(), zeros);
            task.out("more\n");
        }
        output(OutputSteps.ofTheKernel()).finish();
        assertEquals("0123456789abcde\n".repeat(64 << 10) + "more\n", log());
    }

    @Test
    void aHalfWrittenStateIsNotUsed() throws Exception {
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
            output.copy();
            byte[] state = Files.readAllBytes(places.state());
            state[40] ^= 1;
            Files.write(places.state(), state);
            task.out("two\n");
        }
        output(OutputSteps.ofTheKernel()).finish();
        assertTrue(log().endsWith("one\ntwo\n"), log());
    }

    @ParameterizedTest
    @EnumSource(When.class)
    void aLogThatIsTakenAwayWhileWeAreDeadGetsTheRest(When when) throws Exception {
        // Two writes make the state; the third one says what is appended by the fourth.
        output.begin();
        try (Task task = new Task()) {
            task.out("one\n");
            output.copy();
            task.out("two\n");
        }
        assertThrows(Killed.class, () -> output(new FailingSteps(2, when)).copy());
        Files.delete(places.log());
        output(OutputSteps.ofTheKernel()).finish();
        assertEquals("two\n", log());
    }

    @Test
    void rotationWaitsForItsTurn() throws Exception {
        Files.createDirectories(places.log().getParent());
        Files.writeString(places.log(), "x".repeat(1000));
        Thread rotating;
        try (LogTurns.Turn _ = turns.take(places.log())) {
            rotating = Thread.ofPlatform().daemon().start(() -> {
                try {
                    rotate();
                } catch (ActuationFailure e) {
                    throw new AssertionError(e);
                }
            });
            await().atMost(DEADLINE).until(() -> rotating.getState() == Thread.State.WAITING);
            assertEquals(List.of(), LogRotation.copies(places.log()));
        }
        rotating.join();
        assertEquals(1, LogRotation.copies(places.log()).size());
    }

    private OutputCopy output(OutputSteps steps) {
        Ticker ticker = now::get;
        return new OutputCopy(places, turns, steps, ticker);
    }

    private void rotate() throws ActuationFailure {
        new LogRotation(turns).rotate(places.log(), 10_000, 99);
    }

    private String log() throws IOException {
        return Files.exists(places.log()) ? Files.readString(places.log()) : "";
    }

    /** The log with all that was rotated. */
    private String everything() throws IOException {
        StringBuilder all = new StringBuilder();
        for (Path copy : LogRotation.copies(places.log())) {
            all.append(Files.readString(copy));
        }
        return all.append(log()).toString();
    }

    private void clean() throws IOException {
        HostileTree.delete(temp.resolve("workload"));
        for (Path each : List.of(places.out(), places.err(), places.state())) {
            Files.deleteIfExists(each);
        }
    }

    private static List<String> lines(String prefix, int count) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            lines.add(prefix + " " + i + " " + "abcdefgh".repeat(i % 5));
        }
        return lines;
    }

    private static List<String> linesOf(String text, String prefix) {
        return Arrays.stream(text.split("\n", -1))
                .filter(line -> line.startsWith(prefix + " "))
                .collect(Collectors.toList());
    }

    private static long onDisk(Path file) throws Exception {
        Process stat = new ProcessBuilder("stat", "-c", "%b", file.toString()).start();
        String blocks = new String(stat.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        assertEquals(0, stat.waitFor());
        return Long.parseLong(blocks.strip()) * 512;
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Has its outputs open as a driver opens them: for writing, from the beginning, not appending. */
    private final class Task implements AutoCloseable {
        private final FileChannel out = FileChannel.open(places.out(), StandardOpenOption.WRITE);
        private final FileChannel err = FileChannel.open(places.err(), StandardOpenOption.WRITE);

        Task() throws IOException {}

        void out(String text) throws IOException {
            write(out, text);
        }

        void err(String text) throws IOException {
            write(err, text);
        }

        private static void write(FileChannel channel, String text) throws IOException {
            ByteBuffer bytes = bytes(text);
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
        }

        @Override
        public void close() throws IOException {
            out.close();
            err.close();
        }
    }

    private static class Wrapped implements OutputSteps {
        private final OutputSteps steps = OutputSteps.ofTheKernel();

        @Override
        public void create(Path file) throws IOException {
            steps.create(file);
        }

        @Override
        public void write(FileChannel file, ByteBuffer bytes, long position) throws IOException {
            steps.write(file, bytes, position);
        }

        @Override
        public void truncate(FileChannel file, long size) throws IOException {
            steps.truncate(file, size);
        }

        @Override
        public void punch(SparseFile source, long from, long to) throws IOException {
            steps.punch(source, from, to);
        }

        @Override
        public void delete(Path file) throws IOException {
            steps.delete(file);
        }
    }

    /** Half of what is appended finds room. What has its place on the disk can be written over. */
    private static final class FullDisk extends Wrapped {
        private final Path log;
        private boolean full;

        FullDisk(Path log) {
            this.log = log;
        }

        @Override
        public void write(FileChannel file, ByteBuffer bytes, long position) throws IOException {
            if (full && Files.exists(log) && position == Files.size(log) && file.size() == position) {
                super.write(file, bytes.slice(0, bytes.remaining() / 2), position);
                throw new IOException("No space left on device");
            }
            super.write(file, bytes, position);
        }
    }
}
