package io.homeostat.actuate.fetch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** An archive that arrives in more than one piece. */
abstract class PartialDownloadTestBed {
    static final String ETAG = "ETag: \"v1\"\r\n";
    static final int HALF = 300_000;

    @TempDir
    Path temp;

    final byte[] archive = random(1_000_000, 1);
    final String key = Machine.sha256(archive);

    Machine machine;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
    }

    static byte[] random(int length, long seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    String range(int from) {
        return "bytes " + from + "-" + (archive.length - 1) + "/" + archive.length;
    }

    static RawServer.Answer broken(String headers, byte[] body) {
        return RawServer.broken(headers, body, HALF);
    }

    /** Resets the connection when the client has the half: a reset takes with it what the client has not yet read. */
    RawServer.Answer reset(String headers, byte[] body) {
        return out -> {
            broken(headers, body).write(out);
            await().atMost(Duration.ofMinutes(1)).until(this::isHalfThere);
            throw new RawServer.Reset();
        };
    }

    boolean isHalfThere() throws IOException {
        try (Stream<Path> files = Files.list(machine.layout().downloads())) {
            return files.anyMatch(file -> file.toFile().length() == HALF);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    void assertBroken(RawServer server) {
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> download(server, key, 1, Progress.NONE));
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains("the connection broke"), message);
        assertFalse(message.contains("sesame"), message);
    }

    void download(RawServer server, String wanted, int attempts, Progress progress)
            throws ActuationFailure, InterruptedException {
        try (Downloader downloader = downloader(DownloadLimits.DEFAULT)) {
            downloader.download(wanted, source(server.url(), wanted.equals(key) ? key : null, attempts), progress);
        }
    }

    Downloader downloader(DownloadLimits limits) {
        Timing timing = new Timing(
                InstantSource.fixed(Instant.parse("2026-11-20T12:00:00Z")),
                System::nanoTime,
                pause -> {},
                new Random(1));
        return new Downloader(
                machine.layout(), () -> limits, new LocalDisk(), timing, Downloader.AT_ONCE, Downloader.OF_ONE_SERVER);
    }

    static Source source(String url, @Nullable String sha256, int attempts) {
        return new Source(url, sha256, Duration.ofSeconds(30), attempts);
    }

    Path partial() {
        return machine.layout().downloads().resolve(key);
    }

    void assertComplete() throws IOException {
        assertArrayEquals(archive, Files.readAllBytes(machine.layout().archive(key)));
        assertFalse(Files.exists(partial()));
        assertFalse(Files.exists(partial().resolveSibling(key + ".origin")));
    }

    static void assertRequest(String request, String expected) {
        for (String line : expected.split("\n", -1)) {
            assertTrue(request.contains(line + "\n"), request);
        }
    }
}
