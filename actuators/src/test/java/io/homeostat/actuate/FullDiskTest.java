package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.fetch.Downloader;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.fetch.RawServer;
import io.homeostat.actuate.unpack.TarBuilder;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import io.homeostat.desired.model.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A disk that is really full: a small one of memory, where this user may mount one. */
final class FullDiskTest {
    private static final int DISK = 4 << 20;

    @TempDir
    private Path temp;

    private Path disk;
    private Machine machine;

    @BeforeEach
    void mount() throws Exception {
        disk = Files.createDirectory(temp.resolve("disk"));
        assumeTrue(run("mount", "-t", "tmpfs", "-o", "size=" + DISK, "tmpfs", disk.toString()) == 0, "may not mount");
        machine = Machine.in(disk);
    }

    @AfterEach
    void unmount() throws Exception {
        if (Files.getFileStore(disk).type().equals("tmpfs")) {
            // Lazily: what a test beside this one has just started may have our descriptors for a moment.
            assertEquals(0, run("umount", "-l", disk.toString()));
        }
    }

    private static int run(String... command) throws IOException, InterruptedException {
        try {
            return new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start()
                    .waitFor();
        } catch (IOException e) {
            // No such program: no mounting either.
            return -1;
        }
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(1).nextBytes(bytes);
        return bytes;
    }

    @Test
    void aDownloadThatFillsTheDiskSaysSoAndGivesItBack() throws Exception {
        byte[] archive = random(2 * DISK);
        String key = Machine.sha256(archive);
        try (RawServer server = new RawServer(RawServer.chunked(archive, 100_000, true));
                Downloader downloader = new Downloader(machine.layout(), () -> new DownloadLimits(1 << 30, 0))) {
            Source source = new Source(server.url(), key, Duration.ofSeconds(30), 3);

            ActuationFailure failure =
                    assertThrows(ActuationFailure.class, () -> downloader.download(key, source, Progress.NONE));

            assertFalse(failure.fatal());
            String message = String.valueOf(failure.getMessage());
            assertTrue(message.contains("the disk became full while "), message);
            assertTrue(message.contains("free some space"), message);
            assertEquals(1, server.requests().size());
        }
        try (Stream<Path> left = Files.list(machine.layout().downloads())) {
            assertEquals(ImmutableList.of(), left.toList());
        }
    }

    @Test
    void anUnpackingThatFillsTheDiskSaysSoAndGivesItBack() throws Exception {
        byte[] archive = new TarBuilder()
                .program("run")
                .file("noise", 0644, random(DISK / 4))
                .file("zeros", 0644, new byte[2 * DISK])
                .tarGz();
        String key = machine.cached(archive);
        Unpacker unpacker = new Unpacker(machine.layout(), () -> new UnpackLimits(1 << 30, 100, 0));

        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> unpacker.unpack(Machine.ID, key, "1", "greeter_1", "run"));

        assertFalse(failure.fatal());
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains("No space left on device") && message.contains("free some space"), message);
        assertTrue(Files.exists(machine.layout().archive(key)), "it is not the archive's fault");
        assertFalse(Files.exists(machine.layout().staging(Machine.ID)));
    }
}
