package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

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
