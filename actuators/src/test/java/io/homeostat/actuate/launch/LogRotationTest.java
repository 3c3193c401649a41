package io.homeostat.actuate.launch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.actuate.ActuationFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogRotationTest {
    private static final int NOBODY = 65534;
    private static final int KEEP = 3;
    private static final long TOTAL = 1 << 20;
    private static final long PART = TOTAL / (KEEP + 1);

    @TempDir
    Path temp;

    private final LogRotation rotation = new LogRotation();
    private Path directory;
    private Path log;

    @BeforeEach
    void makeDirectory() throws IOException {
        directory = Files.createDirectory(temp.resolve("state"));
        log = directory.resolve("process.log");
    }

    @Test
    void aWriterAtFullSpeedStaysBoundedAndItsLinesInOrder() throws Exception {
        Process writer = new ProcessBuilder("sh", "-c", "i=0; while :; do i=$((i+1)); echo \"line $i\"; done")
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        int[] rotations = {0};
        try {
            await().atMost(Duration.ofMinutes(2))
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> {
                        rotations[0] += rotate() ? 1 : 0;
                        assertTrue(copiesSize() <= TOTAL - PART, copiesSize() + " bytes of copies");
                        // How far the log itself grows until somebody looks is the scheduler's affair.
                        assertTrue(totalSize() <= 4 * TOTAL, totalSize() + " bytes");
                        return rotations[0] >= 30;
                    });
        } finally {
            writer.destroyForcibly().waitFor();
        }
        rotate();
        assertTrue(totalSize() <= TOTAL, totalSize() + " bytes");

        long last = 0;
        long lost = 0;
        for (Path file : oldestFirst()) {
            List<Long> lines = numbers(file);
            assertTrue(lines.getFirst() > last, file + " begins with " + lines.getFirst() + " after " + last);
            lost += last == 0 ? 0 : lines.getFirst() - last - 1;
            for (int i = 1; i < lines.size(); i++) {
                assertEquals(lines.get(i - 1) + 1, lines.get(i), file + " has a gap inside");
            }
            last = lines.getLast();
        }
        assertTrue(lost * 10 < last, lost + " lines lost of " + last);
    }

    @Test
    void aLogWithinItsPartIsLeftAlone() throws Exception {
        write(log, "a".repeat((int) PART));
        assertFalse(rotate());
        assertEquals(List.of(log), files());
    }

    @Test
    void noLogIsFine() throws Exception {
        assertFalse(rotate());
        assertEquals(List.of(), files());
    }

    @Test
    void copiesGrowOlderAndTheOldestGoes() throws Exception {
        for (String content : List.of("a", "b", "c", "d", "e")) {
            write(log, content.repeat((int) PART + 1));
            assertTrue(rotate());
            assertEquals(0, Files.size(log));
        }
        // Three of these are a little more than the copies may take.
        assertEquals(List.of(log, copy(1), copy(2)), files());
        assertEquals('e', Files.readString(copy(1)).charAt(0));
        assertEquals('d', Files.readString(copy(2)).charAt(0));
    }

    @Test
    void theFileIsEmptiedNotReplaced() throws Exception {
        write(log, "a".repeat((int) PART + 1));
        Object before = Files.getAttribute(log, "unix:ino");
        assertTrue(rotate());
        assertEquals(before, Files.getAttribute(log, "unix:ino"));
    }

    @Test
    void ofALogThatIsFarTooLargeTheNewestLinesAreKept() throws Exception {
        StringBuilder lines = new StringBuilder();
        long number = 0;
        while (lines.length() < 5 * TOTAL) {
            number++;
            lines.append("line ").append(number).append('\n');
        }
        write(copy(1), "line 0\n");
        write(log, lines.toString());

        assertTrue(rotate());

        assertEquals(List.of(log, copy(1)), files());
        List<Long> kept = numbers(copy(1));
        assertEquals(number, kept.getLast());
        assertEquals(number - kept.size() + 1, kept.getFirst());
        assertTrue(Files.size(copy(1)) <= TOTAL - PART && Files.size(copy(1)) > (TOTAL - PART) / 2);
    }

    @Test
    void anInterruptedRotationIsBegunAgain() throws Exception {
        write(directory.resolve("process.log.rotating"), "half of it");
        write(copy(2), "older");
        write(log, "a".repeat((int) PART + 1));

        assertTrue(rotate());

        assertEquals(List.of(log, copy(1), copy(2)), files());
        assertEquals(PART + 1, Files.size(copy(1)));
        assertEquals("older", Files.readString(copy(2)));
    }

    @Test
    void aSymbolicLinkIsNotFollowed() throws Exception {
        Path other = write(temp.resolve("other"), "a".repeat((int) PART + 1));
        Files.createSymbolicLink(log, other);
        assertRefused("symbolic link");
        assertEquals(PART + 1, Files.size(other));
    }

    @Test
    void aFileWithAnotherNameIsLeftAlone() throws Exception {
        Path other = write(temp.resolve("other"), "a".repeat((int) PART + 1));
        Files.createLink(log, other);
        assertRefused("2 names");
        assertEquals(PART + 1, Files.size(other));
    }

    @Test
    void aFifoKeepsNobodyWaiting() throws Exception {
        assertEquals(0, new ProcessBuilder("mkfifo", log.toString()).start().waitFor());
        assertTimeoutPreemptively(Duration.ofSeconds(30), () -> assertRefused("no file"));
    }

    @Test
    void whoHasALeaseOnTheLogOrItsCopyKeepsNobodyWaiting() throws Exception {
        write(log, "a".repeat((int) PART + 1));
        rotate();
        write(log, "a".repeat((int) PART + 1));
        Process owner = new ProcessBuilder(
                        "perl",
                        "-e",
                        "use Errno; $SIG{IO} = 'IGNORE'; $| = 1; for (@ARGV) { open(my $f, '<', $_) or die; push @all, $f;"
                                + " until (fcntl($f, 1024, 1)) { $!{EAGAIN} or die $!; select(undef, undef, undef, 0.01) } }"
                                + " print 'held'; sleep 1000",
                        log.toString(),
                        copy(1).toString())
                .start();
        try {
            assumeTrue(owner.getInputStream().read() == 'h', "this file system grants no leases");

            assertRefused("lease");
            assertEquals(Optional.empty(), LogRotation.extent(copy(1)));
            assertTrue(owner.isAlive());
        } finally {
            owner.destroyForcibly();
        }
    }

    @Test
    void anotherUsersFileIsLeftAlone() throws Exception {
        write(log, "a".repeat((int) PART + 1));
        asRoot(directory);
        assertRefused("belongs to user 0");
        assertEquals(PART + 1, Files.size(log));
    }

    @Test
    void aCopyIsItsOwnersAndNobodyElses() throws Exception {
        write(log, "a".repeat((int) PART + 1));
        asRoot(directory);
        asRoot(log);
        assertTrue(rotate());
        assertEquals(NOBODY, Files.getAttribute(copy(1), "unix:uid"));
        assertEquals(NOBODY, Files.getAttribute(copy(1), "unix:gid"));
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(copy(1))));
    }

    @Test
    void whatIsPutInTheCopiesPlacesIsNotWrittenTo() throws Exception {
        Path victim = write(temp.resolve("victim"), "precious");
        Files.createSymbolicLink(directory.resolve("process.log.rotating"), victim);
        Files.createSymbolicLink(copy(1), victim);
        Files.createLink(copy(2), victim);
        write(log, "a".repeat((int) PART + 1));

        assertTrue(rotate());

        assertEquals("precious", Files.readString(victim));
        assertTrue(Files.isSymbolicLink(copy(2)));
        assertArrayEquals("a".repeat((int) PART + 1).getBytes(StandardCharsets.US_ASCII), Files.readAllBytes(copy(1)));
    }

    @Test
    void aDirectoryInTheWayIsAFailureAndLosesNothing() throws Exception {
        for (int number = 1; number <= KEEP; number++) {
            write(Files.createDirectories(copy(number)).resolve("something"), "in it");
        }
        write(log, "a".repeat((int) PART + 1));

        ActuationFailure failure = assertThrows(ActuationFailure.class, this::rotate);

        assertTrue(String.valueOf(failure.getMessage()).contains(log.toString()), failure.getMessage());
        assertEquals(PART + 1, Files.size(log));
    }

    @Test
    void aBoundWithoutRoomIsAMistakeOfTheCaller() {
        assertThrows(IllegalArgumentException.class, () -> rotation.rotate(log, TOTAL, 0));
        assertThrows(IllegalArgumentException.class, () -> rotation.rotate(log, 3, 3));
    }

    private boolean rotate() throws ActuationFailure {
        return rotation.rotate(log, TOTAL, KEEP).isPresent();
    }

    private void assertRefused(String why) {
        ActuationFailure failure = assertThrows(ActuationFailure.class, this::rotate);
        assertTrue(String.valueOf(failure.getMessage()).contains(why), failure.getMessage());
    }

    private Path copy(int number) {
        return directory.resolve("process.log." + number);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.sorted().toList();
        }
    }

    private List<Path> oldestFirst() {
        return Stream.of(copy(3), copy(2), copy(1), log)
                .filter(file -> file.toFile().length() > 0)
                .toList();
    }

    private long copiesSize() {
        return copy(1).toFile().length()
                + copy(2).toFile().length()
                + copy(3).toFile().length();
    }

    private long totalSize() {
        return copiesSize() + log.toFile().length();
    }

    /** The numbers of a file's lines; the last may be cut short, since the file was taken away under the writer. */
    private static List<Long> numbers(Path file) throws IOException {
        String text = Files.readString(file);
        return text.substring(0, text.lastIndexOf('\n'))
                .lines()
                .map(line -> Long.valueOf(line.substring("line ".length())))
                .toList();
    }

    private static Path write(Path file, String text) throws IOException {
        return Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Gives a file away, as only root can. */
    private static void asRoot(Path file) throws IOException {
        assumeTrue(Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0), "only root gives files away");
        Files.setAttribute(file, "unix:gid", NOBODY);
        Files.setAttribute(file, "unix:uid", NOBODY);
    }
}
