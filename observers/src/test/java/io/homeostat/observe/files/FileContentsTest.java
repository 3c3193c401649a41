package io.homeostat.observe.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real files, pipes and links. */
@Timeout(60)
class FileContentsTest {
    private static final int UID_OF_NOBODY = 65534;

    @TempDir
    Path root;

    private final AtomicInteger reads = new AtomicInteger();
    private final FileContents contents = new FileContents(InstantSource.system());

    /** To it, what was just written is old. */
    private final FileContents later =
            new FileContents(InstantSource.offset(InstantSource.system(), Duration.ofHours(1)), (pinned, name) -> {
                reads.incrementAndGet();
                return FileContents.read(pinned, name);
            });

    private FileContent look(FileContents by, Path path) {
        return look(by, path.toString());
    }

    private static FileContent look(FileContents by, String name) {
        return Objects.requireNonNull(by.look(null, ImmutableSet.of(name)).get(name));
    }

    private Optional<String> problem(Path path) {
        return look(contents, path).problem(FileContent.Use.VALUE);
    }

    @Test
    void sameContentIsTheSameWhoeverWroteIt() throws Exception {
        Path one = Files.writeString(root.resolve("one"), "secret");
        Path other = Files.writeString(root.resolve("other"), "secret");

        assertEquals(look(contents, one), look(contents, other));
        assertEquals(look(contents, one), FileContent.of("secret".getBytes(StandardCharsets.UTF_8)));
        assertEquals(Optional.empty(), problem(one));
    }

    @Test
    void noDigestIsPrinted() throws Exception {
        assertEquals(
                "Present",
                look(contents, Files.writeString(root.resolve("f"), "x")).toString());
    }

    @Test
    void aFileThatIsWrittenAgainAtOnceIsAnotherOne() throws Exception {
        Path file = Files.writeString(root.resolve("f"), "aaaa");
        for (int i = 0; i < 1000; i++) {
            FileContent before = look(contents, file);
            Files.writeString(file, i % 2 == 0 ? "bbbb" : "aaaa");

            assertNotEquals(before, look(contents, file));
        }
    }

    @Test
    void aFileThatIsAsItWasIsNotReadAgain() throws Exception {
        Path file = Files.writeString(root.resolve("f"), "aaaa");
        for (int i = 0; i < 100; i++) {
            look(later, file);
        }
        assertEquals(1, reads.get());
    }

    @Test
    void anotherTimeOfModificationOrAnotherFileIsRead() throws Exception {
        Path file = Files.writeString(root.resolve("f"), "aaaa");
        FileContent before = look(later, file);
        FileTime modified = Files.getLastModifiedTime(file);
        Path next = Files.writeString(root.resolve("next"), "bbbb");
        Files.setLastModifiedTime(next, modified);
        Files.move(next, file, StandardCopyOption.REPLACE_EXISTING);

        assertNotEquals(before, look(later, file));
    }

    @Test
    void whatIsNotThereIsAbsent() throws Exception {
        Files.createSymbolicLink(root.resolve("dangling"), root.resolve("nowhere"));

        assertEquals(new FileContent.Absent(), look(contents, root.resolve("gone")));
        assertEquals(Optional.of("it does not exist"), problem(root.resolve("dangling")));
    }

    @Test
    void aPipeDoesNotHang() throws Exception {
        Path pipe = root.resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());

        assertEquals(Optional.of("it is no regular file"), problem(pipe));
        assertEquals(problem(pipe), problem(root));
        assertEquals(problem(pipe), problem(Path.of("/dev/zero")));
    }

    @Test
    void aFileThatHangsKeepsNoOtherOneWaiting() throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        FileContents hanging = new FileContents(InstantSource.system(), (pinned, name) -> {
            both.countDown();
            Uninterruptibles.awaitUninterruptibly(both);
            return FileContents.read(pinned, name);
        });
        String one = Files.writeString(root.resolve("one"), "x").toString();
        String other = Files.writeString(root.resolve("other"), "y").toString();

        assertEquals(contents.look(null, ImmutableSet.of(one, other)), hanging.look(null, ImmutableSet.of(one, other)));
    }

    @Test
    void aNameThatNoFileCanHaveIsNoFile() {
        assertTrue(look(contents, "/a\0b")
                .problem(FileContent.Use.VALUE)
                .orElseThrow()
                .startsWith("its name"));
    }

    @Test
    void whatIsTooLargeIsSaidToBe() throws Exception {
        Path file = root.resolve("f");
        try (RandomAccessFile large = new RandomAccessFile(file.toFile(), "rw")) {
            large.setLength(FileContents.LARGEST);
            assertInstanceOf(FileContent.Present.class, look(contents, file));
            large.setLength(FileContents.LARGEST + 1);
        }
        assertEquals(Optional.of("it is larger than 1 MiB"), problem(file));
    }

    @Test
    void whatMayNotBeReadIsSaidToBe() throws Exception {
        Path file = Files.writeString(root.resolve("f"), "x");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
        Assumptions.assumeFalse(Files.isReadable(file), "root may read everything");

        assertEquals(Optional.of("permission denied"), problem(file));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/proc/version", "/proc/kmsg", "/sys/kernel/uevent_seqnum"})
    void filesOfTheKernelAreNotRead(Path file) {
        Assumptions.assumeTrue(Files.exists(file));

        assertEquals(
                Optional.of("it is no file on a disk, the kernel makes what is in it; copy it into one"),
                problem(file));
    }

    @Test
    void whatItsUserCanNotReadIsNotRead() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path theirs = Files.writeString(root.resolve("theirs"), "x");
        Files.setAttribute(theirs, "unix:uid", UID_OF_NOBODY);
        Files.setPosixFilePermissions(theirs, PosixFilePermissions.fromString("r--------"));
        Path secret = Files.writeString(root.resolve("secret"), "root's");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-r-----"));
        Path link = Files.createSymbolicLink(root.resolve("link"), secret);

        assertInstanceOf(FileContent.Present.class, asNobody(theirs));
        assertInstanceOf(FileContent.Unusable.class, asNobody(secret));
        assertInstanceOf(FileContent.Unusable.class, asNobody(link));
        assertInstanceOf(FileContent.Present.class, look(contents, link));
    }

    @Test
    void noWayLeadsItsUserThroughTheProcessesOfOthers() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path file = Files.writeString(root.resolve("f"), "x");

        Process other = new ProcessBuilder("sleep", "1000").start();
        try {
            assertInstanceOf(FileContent.Present.class, asNobody(file));
            assertInstanceOf(FileContent.Unusable.class, asNobody(Path.of("/proc/" + other.pid() + "/root" + file)));
        } finally {
            other.destroyForcibly();
        }
    }

    /** What this process has open in a directory that is closed to the user has a name in /proc, which passes by that directory. */
    @Test
    void noWayLeadsItsUserThroughWhatWeHaveOpen() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path closed = Files.createDirectory(root.resolve("closed"));
        Path file = Files.writeString(closed.resolve("f"), "x");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));

        try (PinnedFile open = PinnedFile.of(file);
                PinnedFile directory = PinnedFile.of(closed)) {
            Path link = Files.createSymbolicLink(root.resolve("link"), open.path());
            assertInstanceOf(FileContent.Unusable.class, asNobody(file));
            assertInstanceOf(FileContent.Unusable.class, asNobody(open.path()));
            assertInstanceOf(FileContent.Unusable.class, asNobody(link));
            assertInstanceOf(
                    FileContent.Unusable.class, asNobody(directory.path().resolve("f")));
        }
    }

    @Test
    void aUserThatIsNotThereReadsNothing() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        String file = Files.writeString(root.resolve("f"), "x").toString();

        assertEquals(
                new FileContent.Unusable("there is no user nowhere-to-be-found"), look("nowhere-to-be-found", file));
    }

    private FileContent asNobody(Path file) {
        return look(Integer.toString(UID_OF_NOBODY), file.toString());
    }

    private FileContent look(String user, String file) {
        return Objects.requireNonNull(
                contents.look(new ProgramUser(user, null, ImmutableList.of()), ImmutableSet.of(file))
                        .get(file));
    }

    @Test
    void linksLeadToWhatTheyPointToNow() throws Exception {
        Path link = Files.createSymbolicLink(root.resolve("link"), Files.writeString(root.resolve("a"), "aaaa"));
        FileContent before = look(later, link);
        Files.delete(link);
        Files.createSymbolicLink(link, Files.writeString(root.resolve("b"), "bbbb"));

        assertNotEquals(before, look(later, link));
    }
}
