package io.homeostat.desired.source;

import static io.homeostat.desired.source.SourceFixture.NOW;
import static io.homeostat.desired.source.SourceFixture.messages;
import static io.homeostat.desired.source.SourceFixture.names;
import static io.homeostat.desired.source.SourceFixture.places;
import static io.homeostat.desired.source.SourceFixture.process;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.Choice;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What can't be read is unknown, never empty; and nothing on a disk stops the reader. */
@Timeout(60)
class UnreadableFilesTest {
    @TempDir
    Path temporary;

    private Path directory;
    private SourceFixture files;

    @BeforeEach
    void directory() throws IOException {
        directory = Files.createDirectory(temporary.resolve("desired.d"));
        files = new SourceFixture(directory);
    }

    @Test
    void aDirectoryWithoutPermissionKeepsAllThatWasBelowIt() throws IOException {
        Path deep = files.write("sub/deep/a.yaml", process("a"));
        files.write("b.yaml", process("b"));
        read();
        Path sub = files.path("sub");
        Files.setPosixFilePermissions(sub, PosixFilePermissions.fromString("---------"));
        try {
            assumeFalse(Files.isReadable(sub), "root reads everything");
            SourceSnapshot reading = files.store(source(directory).read(files.stored()));
            assertEquals(List.of("sub UNREADABLE 0:0"), places(reading));
            assertEquals(ImmutableSet.of(deep.toString()), reading.content().retainedOrigins());
            assertEquals(List.of("a", "b"), files.inForce());
        } finally {
            Files.setPosixFilePermissions(sub, PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void aDirectoryThatCanNotBeLookedAtKeepsAllThatWasBelowIt() throws IOException {
        Path target = Files.createDirectories(temporary.resolve("target"));
        Files.writeString(target.resolve("a.yaml"), process("a"));
        Path link = Files.createSymbolicLink(files.path("sub"), target);
        read();
        assertEquals(List.of("a"), files.inForce());
        Files.delete(link);
        Files.createSymbolicLink(link, link);
        SourceSnapshot reading = read();
        assertEquals(List.of("a"), files.inForce());
        assertTrue(messages(reading).getFirst().startsWith(link + ": can't be read: "), messages(reading)::toString);
    }

    @Test
    void aDirectoryWhoseLinkLeadsNowhereKeepsAllThatWasBelowIt() throws IOException {
        Path target = Files.createDirectories(temporary.resolve("target"));
        Files.writeString(target.resolve("a.yaml"), process("a"));
        Path link = Files.createSymbolicLink(files.path("sub"), target);
        read();
        Files.move(target, temporary.resolve("elsewhere"));
        assertEquals(
                ImmutableList.of(
                        link + ": a symbolic link to nothing; restore it, or remove it to withdraw what it declared"),
                messages(read()));
        assertEquals(List.of("a"), files.inForce());
        Files.delete(link);
        assertEquals(ImmutableList.of(), messages(read()));
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void aFileWhoseLinkLeadsNowhereIsKept() throws IOException {
        Path target = Files.writeString(temporary.resolve("target"), process("a"));
        Path link = Files.createSymbolicLink(files.path("a.yaml"), target);
        read();
        Files.delete(target);
        assertEquals(List.of(link.getFileName() + " LINK 0:0"), places(read()));
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void aConfiguredDirectoryThatWasNeverThereDeclaresNothing() throws IOException {
        SourceSnapshot reading = source(files.path("missing")).read(files.stored());
        assertEquals(ImmutableList.of(), messages(reading));
        assertEquals(List.of(), names(reading));
    }

    @Test
    void aConfiguredDirectoryThatIsGoneKeepsWhatItDeclaredUntilItIsThereAndEmpty() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        Files.delete(file);
        Files.delete(directory);
        SourceSnapshot reading = files.store(source(directory).read(files.stored()));
        assertEquals(
                ImmutableList.of(directory
                        + ": no such directory. Create it, empty, to withdraw what was declared there, or restore it"),
                messages(reading));
        assertEquals(List.of("a"), files.inForce());
        Files.createDirectory(directory);
        assertEquals(ImmutableList.of(), messages(read()));
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void aConfiguredFileIsWithdrawnWhenItIsDeletedButNotWhenItsDirectoryIsGone() throws IOException {
        Path file = files.write("sub/a.conf", process("a"));
        read(file);
        assertEquals(List.of("a"), files.inForce());
        Files.move(file.getParent(), files.path("away"));
        assertTrue(messages(read(file)).getFirst().startsWith(file.getParent() + ": no such directory"));
        assertEquals(List.of("a"), files.inForce());
        Files.createDirectory(file.getParent());
        assertEquals(ImmutableList.of(), messages(read(file)));
        assertEquals(List.of(), files.inForce());
    }

    @Test
    void whatIsConfiguredNoLongerIsWithdrawnAtOnce() throws IOException {
        files.write("one/a.yaml", process("a"));
        files.write("two/b.yaml", process("b"));
        read();
        files.store(source(files.path("one")).read(files.stored()));
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void fifosAndDevicesAreProblemsAndNeverOpened() throws Exception {
        Path fifo = files.path("fifo.yaml");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());
        Path device = Files.createSymbolicLink(files.path("zero.yaml"), Path.of("/dev/zero"));
        Files.createSymbolicLink(files.path("other"), Path.of("/dev/zero"));
        files.write("good.yaml", process("good"));
        String advice = ": neither a file nor a directory; remove it or give it another name";
        SourceSnapshot reading = source(directory).read(files.stored());
        assertEquals(ImmutableList.of(fifo + advice, device + advice), messages(reading));
        assertEquals(List.of("good"), names(reading));
        assertEquals(
                ImmutableList.of(fifo + ": neither a file nor a directory; name another path"),
                messages(source(fifo).read(files.stored())));
    }

    @Test
    void aHugeFileIsAProblemAndNotRead() throws IOException {
        Path file = files.write("huge.yaml", process("a"));
        read();
        try (RandomAccessFile huge = new RandomAccessFile(file.toFile(), "rw")) {
            huge.setLength(1L << 30);
        }
        assertEquals(ImmutableList.of(file + ": is longer than 16 MiB; split it"), messages(read()));
        assertEquals(List.of("a"), files.inForce());
    }

    @Test
    void directoriesThatAreLinkedAgainAndAgainAreReadOnce() throws IOException {
        for (int i = 0; i < 40; i++) {
            Path next = Files.createDirectory(temporary.resolve("d" + i));
            for (int link = 0; i > 0 && link < 8; link++) {
                Files.createSymbolicLink(next.resolve("l" + link), temporary.resolve("d" + (i - 1)));
            }
        }
        Files.writeString(temporary.resolve("d0/a.yaml"), process("a"));
        SourceSnapshot reading = source(temporary.resolve("d39")).read(files.stored());
        assertEquals(List.of("a"), names(reading));
        assertEquals(ImmutableList.of(), messages(reading));
    }

    @Test
    void directoriesWithoutEndAreAProblem() throws IOException {
        Path deep = directory;
        for (int i = 0; i < 500; i++) {
            deep = deep.resolve("d");
        }
        Files.createDirectories(deep);
        Files.writeString(deep.resolve("a.yaml"), process("a"));
        files.write("b.yaml", process("b"));
        SourceSnapshot reading = source(directory).read(files.stored());
        assertEquals(List.of("b"), names(reading));
        assertTrue(messages(reading).getFirst().endsWith(": more than 64 directories deep; move it up"));
    }

    @Test
    void whateverBytesAreInAFileNothingIsThrownAndItsContentIsKept() throws IOException {
        Path file = files.write("a.yaml", process("a"));
        read();
        Random random = new Random(7);
        byte[] good = process("a").getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 500; i++) {
            byte[] bytes = good.clone();
            for (int flips = 1 + random.nextInt(8); flips > 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
            }
            Files.write(file, bytes);
            SourceSnapshot reading = source(directory).read(files.stored());
            assertTrue(
                    reading.content().problems().isEmpty()
                            || reading.content().retainedOrigins().equals(ImmutableSet.of(file.toString())),
                    () -> reading.toString());
        }
    }

    private static FilesSource source(Path path) {
        return new FilesSource(ImmutableList.of(path), TrustedPath.ANY, Choice.ALL, InstantSource.fixed(NOW));
    }

    private SourceSnapshot read() throws IOException {
        return read(directory);
    }

    /** With everything an hour old. */
    private SourceSnapshot read(Path path) throws IOException {
        files.age(Duration.ofHours(1));
        return files.store(source(path).read(files.stored()));
    }
}
