package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class PinnedFileTest {
    /** Takes the lease as soon as it is granted: what another test starts has our descriptors until its exec. */
    private static final String LEASE = """
            use Errno; $SIG{IO} = 'IGNORE'; $| = 1;
            open(my $file, '<', $ARGV[0]) or die;
            for (my $tries = 0; !fcntl($file, 1024, $ARGV[1] + 0); $tries++) {
                $!{EAGAIN} && $tries < 3000 or die $!;
                select(undef, undef, undef, 0.01)
            }
            print 'held'; sleep 1000;
            """;

    private static final String READ = "0";
    private static final String WRITE = "1";

    @TempDir
    Path temp;

    @Test
    void whatItsOwnerHasALeaseOnIsNotWaitedFor() throws Exception {
        Path file = Files.writeString(temp.resolve("file"), "x");
        Process owner = lease(file, WRITE);
        try {
            FileSystemException e = assertThrows(FileSystemException.class, () -> PinnedFile.read(file));
            assertEquals(file + ": somebody holds a lease on it; lslocks shows who", e.getMessage());
            assertEquals(e.getMessage(), refusal(() -> change(file)));
            assertEquals(e.getMessage(), refusal(() -> SparseFile.open(file).close()));
        } finally {
            owner.destroyForcibly();
        }
    }

    @Test
    void aLeaseAgainstWritersKeepsNoReaderOut() throws Exception {
        Path file = Files.writeString(temp.resolve("file"), "x");
        Process owner = lease(file, READ);
        try {
            PinnedFile.read(file).close();
            assertThrows(FileSystemException.class, () -> change(file));
        } finally {
            owner.destroyForcibly();
        }
    }

    @Test
    void whatIsOpenedIsReadAndWritten() throws Exception {
        Path file = Files.writeString(temp.resolve("file"), "one");
        try (PinnedFile pinned = PinnedFile.of(file)) {
            Files.move(file, temp.resolve("moved"));
            Files.writeString(file, "another");
            try (FileChannel channel = pinned.change("file")) {
                assertEquals(3, channel.size());
                channel.write(ByteBuffer.wrap(new byte[] {'t', 'w'}));
                ByteBuffer rest = ByteBuffer.allocate(9);
                assertEquals(1, channel.read(rest));
            }
        }
        assertEquals("twe", Files.readString(temp.resolve("moved")));
    }

    private interface Following {
        PinnedFile open(Path file) throws IOException;
    }

    /** The one of younger kernels, and the one that does without their help. */
    static Stream<Following> ways() {
        return Stream.of(PinnedFile::following, PinnedFile::reachable);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void linksBetweenFilesAreFollowed(Following way) throws Exception {
        Path directory = Files.createDirectory(temp.resolve("directory"));
        Files.writeString(directory.resolve("file"), "x");
        Path link = Files.createSymbolicLink(temp.resolve("link"), Path.of("directory"));
        Path other = Files.createSymbolicLink(temp.resolve("other"), link.resolve("file"));

        try (PinnedFile pinned = way.open(other)) {
            assertEquals(1, pinned.facts().basic().size());
        }
        assertThrows(NoSuchFileException.class, () -> way.open(link.resolve("nothing")));
    }

    /** Of a file that has lost its name there is no other way to it, whoever asks. */
    @ParameterizedTest
    @MethodSource("ways")
    void whatOnlyALinkOfProcLeadsToIsRefused(Following way) throws Exception {
        Path file = Files.writeString(temp.resolve("file"), "x");
        try (PinnedFile open = PinnedFile.of(file)) {
            Files.delete(file);
            Path link = Files.createSymbolicLink(temp.resolve("link"), open.path());

            assertEquals(
                    link
                            + ": its links go round in a circle, or through one of /proc to what a process has open or where it"
                            + " is, as that of /dev/stdin does; name the file itself",
                    refusal(() -> way.open(link)));
            assertThrows(FileSystemException.class, () -> way.open(open.path()));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/proc/self/cwd/file",
                "/proc/self/root/file",
                "/proc/thread-self/root/file",
                "/proc/self/fd/0",
                "/proc/self/exe",
                "/dev/fd/0",
                "/dev/stdin"
            })
    void linksOfProcAreRefusedWhereverTheyLead(Path path) throws Exception {
        assumeTrue(
                Libc.openWithoutMagicLinks("/nowhere".getBytes(StandardCharsets.US_ASCII), 0) == -2,
                "this kernel has no openat2");
        Path link = Files.createSymbolicLink(temp.resolve("link"), path);

        for (Path way : List.of(path, link)) {
            FileSystemException e = assertThrows(FileSystemException.class, () -> PinnedFile.following(way));
            assertEquals(FileSystemException.class, e.getClass(), "refused, and not missing");
        }
    }

    private static void change(Path file) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(file)) {
            pinned.change(file.toString()).close();
        }
    }

    private interface Opening {
        void open() throws IOException;
    }

    private static String refusal(Opening opening) {
        return String.valueOf(
                assertThrows(FileSystemException.class, opening::open).getMessage());
    }

    private static Process lease(Path file, String kind) throws IOException {
        Process owner = new ProcessBuilder("perl", "-e", LEASE, file.toString(), kind)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        assumeTrue(owner.getInputStream().read() == 'h', "this file system grants no leases");
        return owner;
    }
}
