package io.homeostat.actuate;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Downloads that break: servers that stop, lie about ranges, exchange the archive meanwhile; and programs that are killed. */
final class ResumedDownloadTest {
    private static final String ETAG = "ETag: \"v1\"\r\n";
    private static final int HALF = 300_000;

    @TempDir
    private Path temp;

    private final byte[] archive = random(1_000_000, 1);
    private final String key = Machine.sha256(archive);

    private Machine machine;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
    }

    private static byte[] random(int length, long seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private String range(int from) {
        return "bytes " + from + "-" + (archive.length - 1) + "/" + archive.length;
    }

    @Test
    void aBrokenConnectionIsResumedWhereItStopped() throws Exception {
        try (RawServer server =
                new RawServer(broken(ETAG, archive), RawServer.rest(ETAG, archive, HALF, range(HALF)))) {
            List<Long> progress = new ArrayList<>();
            download(server, key, 2, (done, total) -> progress.add(done));

            assertComplete();
            assertRequest(server.requests().get(1), "Range: bytes=300000-\nIf-Range: \"v1\"");
            assertEquals(progress.stream().sorted().toList(), progress, "it never goes back");
        }
    }

    @Test
    void aResetConnectionIsResumedWhereItStopped() throws Exception {
        try (RawServer server = new RawServer(RawServer.broken(ETAG, archive, HALF, true), out -> {
            int from = (int) Files.size(partial());
            RawServer.rest(ETAG, archive, from, range(from)).write(out);
        })) {
            download(server, key, 2, Progress.NONE);

            assertComplete();
        }
    }

    @Test
    void anotherProgramResumesWhatTheFirstHasLeft() throws Exception {
        try (RawServer server = new RawServer(broken(ETAG, archive))) {
            assertBroken(server);
        }
        try (RawServer server = new RawServer(RawServer.rest(ETAG, archive, HALF, range(HALF)))) {
            // The port is another, so this is another URL: not what was begun.
            assertThrows(ActuationFailure.class, () -> download(server, key, 1, Progress.NONE));
            assertFalse(
                    server.requests().getFirst().contains("Range"),
                    server.requests().getFirst());
        }
        try (RawServer server =
                new RawServer(broken(ETAG, archive), RawServer.rest(ETAG, archive, HALF, range(HALF)))) {
            assertBroken(server);
            Source renewed = source(server.url().replace("sesame", "renewed"), key, 1);
            try (Downloader other = downloader(DownloadLimits.DEFAULT)) {
                other.download(key, renewed, Progress.NONE);
            }
            assertComplete();
            assertRequest(server.requests().get(1), "If-Range: \"v1\"");
        }
    }

    @Test
    void aDateOfLastChangeServesWhenThereIsNoTag() throws Exception {
        String dates = "Last-Modified: Fri, 20 Nov 2026 12:00:00 GMT\r\nDate: Fri, 20 Nov 2026 13:00:00 GMT\r\n";
        try (RawServer server =
                new RawServer(broken(dates, archive), RawServer.rest(dates, archive, HALF, range(HALF)))) {
            download(server, key, 2, Progress.NONE);

            assertComplete();
            assertRequest(server.requests().get(1), "If-Range: Fri, 20 Nov 2026 12:00:00 GMT");
        }
    }

    @Test
    void withoutAnythingThatNamesTheVersionItStartsAgain() throws Exception {
        ImmutableList<String> headers = ImmutableList.of(
                "",
                "ETag: W/\"weak\"\r\n",
                "Last-Modified: Fri, 20 Nov 2026 12:00:00 GMT\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\n",
                "Last-Modified: yesterday\r\nDate: today\r\n");
        for (String each : headers) {
            try (RawServer server = new RawServer(broken(each, archive), RawServer.whole(each, archive))) {
                download(server, key, 2, Progress.NONE);

                assertComplete();
                assertFalse(
                        server.requests().get(1).contains("Range"),
                        server.requests().get(1));
            }
            Files.delete(machine.layout().archive(key));
        }
    }

    @Test
    void aServerThatHasAnotherVersionByNowSendsItWhole() throws Exception {
        byte[] old = random(archive.length, 2);
        try (RawServer server = new RawServer(broken(ETAG, old), RawServer.whole("ETag: \"v2\"\r\n", archive))) {
            download(server, key, 2, Progress.NONE);

            assertComplete();
        }
    }

    @Test
    void aRangeThatWasNotAskedForIsNotTaken() throws Exception {
        for (String wrong : ImmutableList.of(
                "bytes 299999-999999/1000000",
                "bytes 0-999999/1000000",
                "bytes */1000000",
                "nonsense",
                "bytes 300000-999999/999")) {
            try (RawServer server = new RawServer(
                    broken(ETAG, archive),
                    RawServer.rest(ETAG, archive, HALF, wrong),
                    RawServer.whole(ETAG, archive))) {
                // The leftovers are to blame and not the attempt: two attempts are enough for three requests.
                download(server, key, 2, Progress.NONE);

                assertComplete();
                assertFalse(server.requests().get(2).contains("Range"), wrong);
            }
            Files.delete(machine.layout().archive(key));
        }
    }

    @Test
    void aServerThatHasNothingMoreIsAskedForAll() throws Exception {
        try (RawServer server = new RawServer(
                broken(ETAG, archive), RawServer.status("416 Range Not Satisfiable"), RawServer.whole(ETAG, archive))) {
            download(server, key, 2, Progress.NONE);

            assertComplete();
        }
    }

    @Test
    void halvesThatDoNotFitAreFoundOutAndFetchedAgainOnce() throws Exception {
        byte[] other = random(archive.length, 3);
        try (RawServer server = new RawServer(
                broken(ETAG, other),
                RawServer.rest(ETAG, archive, HALF, range(HALF)),
                RawServer.whole(ETAG, archive))) {
            download(server, key, 2, Progress.NONE);

            assertComplete();
            assertEquals(3, server.requests().size());
        }
    }

    @Test
    void aServerThatNeverFitsIsNotAskedForEver() throws Exception {
        byte[] other = random(archive.length, 3);
        try (RawServer server = new RawServer(
                broken(ETAG, other), RawServer.rest(ETAG, archive, HALF, range(HALF)), RawServer.whole(ETAG, other))) {
            ActuationFailure failure =
                    assertThrows(ActuationFailure.class, () -> download(server, key, 3, Progress.NONE));

            assertTrue(String.valueOf(failure.getMessage()).contains("declared is " + key), failure.getMessage());
            assertEquals(4, server.requests().size());
        }
    }

    @Test
    void aPartThatChangedOnDiskIsFoundOut() throws Exception {
        try (RawServer server = new RawServer(
                broken(ETAG, archive),
                RawServer.rest(ETAG, archive, HALF, range(HALF)),
                RawServer.whole(ETAG, archive))) {
            assertBroken(server);
            Files.write(partial(), new byte[] {1, 2, 3}, StandardOpenOption.WRITE);

            download(server, key, 1, Progress.NONE);

            assertComplete();
        }
    }

    @Test
    void aPartWithoutItsNoteIsNotUsed() throws Exception {
        for (String note : new String[] {"", "total=x", "total=1000000\nkey=other\nurl=u\nvalidator=\"v1\""}) {
            try (RawServer server = new RawServer(broken(ETAG, archive), RawServer.whole(ETAG, archive))) {
                assertBroken(server);
                Files.writeString(partial().resolveSibling(key + ".origin"), note);

                download(server, key, 1, Progress.NONE);

                assertComplete();
                assertFalse(server.requests().get(1).contains("Range"), note);
            }
            Files.delete(machine.layout().archive(key));
        }
    }

    @Test
    void withoutAChecksumAPartFromBeforeTheLastBootIsNotTrusted() throws Exception {
        String unverified = "unverified-" + "b".repeat(64);
        try (RawServer server = new RawServer(
                broken(ETAG, archive), broken(ETAG, archive), RawServer.rest(ETAG, archive, HALF, range(HALF)))) {
            assertThrows(ActuationFailure.class, () -> download(server, unverified, 1, Progress.NONE));
            Path note = machine.layout().downloads().resolve(unverified + ".origin");
            Files.writeString(note, Files.readString(note).replaceAll("boot=.*", "boot=another"));
            // Another length, so that the server can see when the second half has replaced it.
            Files.write(machine.layout().downloads().resolve(unverified), new byte[1], StandardOpenOption.APPEND);
            assertThrows(ActuationFailure.class, () -> download(server, unverified, 1, Progress.NONE));
            download(server, unverified, 1, Progress.NONE);

            assertFalse(server.requests().get(1).contains("Range"));
            assertTrue(server.requests().get(2).contains("Range"));
            assertArrayEquals(archive, Files.readAllBytes(machine.layout().archive(unverified)));
        }
    }

    @Test
    void aDownloadThatWasKilledAfterItsLastByteNeedsNoServer() throws Exception {
        String url;
        try (RawServer server = new RawServer(broken(ETAG, archive))) {
            assertBroken(server);
            url = server.url();
        }
        Files.write(partial(), archive);

        try (Downloader downloader = downloader(DownloadLimits.DEFAULT)) {
            downloader.download(key, source(url, key, 1), Progress.NONE);
        }
        assertComplete();
    }

    @Test
    void aNoteHasNoSecretInIt() throws Exception {
        try (RawServer server = new RawServer(broken(ETAG, archive))) {
            assertBroken(server);
        }

        assertFalse(Files.readString(partial().resolveSibling(key + ".origin")).contains("sesame"));
    }

    @Test
    void anArchiveOfUnknownLengthArrives() throws Exception {
        try (RawServer server = new RawServer(RawServer.chunked(archive, 10_000, true))) {
            List<Long> totals = new ArrayList<>();
            download(server, key, 1, (done, total) -> totals.add(total));

            assertComplete();
            assertEquals(ImmutableList.of(-1L), totals.stream().distinct().toList());
        }
    }

    @Test
    void anArchiveOfUnknownLengthThatStopsIsABrokenConnection() throws Exception {
        try (RawServer server = new RawServer(RawServer.chunked(archive, 10_000, false))) {
            ActuationFailure failure = assertThrows(
                    ActuationFailure.class, () -> download(server, "unverified-" + "a".repeat(64), 1, Progress.NONE));

            assertTrue(String.valueOf(failure.getMessage()).contains("the connection broke"), failure.getMessage());
        }
    }

    @Test
    void anArchiveOfUnknownLengthIsBoundedToo() throws Exception {
        try (RawServer server = new RawServer(RawServer.chunked(archive, 10_000, true));
                Downloader bounded = downloader(new DownloadLimits(archive.length - 1, 0))) {
            ActuationFailure failure = assertThrows(
                    ActuationFailure.class, () -> bounded.download(key, source(server.url(), key, 3), Progress.NONE));

            assertTrue(failure.fatal());
            assertTrue(String.valueOf(failure.getMessage()).contains("limits.downloadBytes"), failure.getMessage());
            assertFalse(Files.exists(partial()));
        }
    }

    @Test
    void anInterruptLeavesWhatHasArrived() throws Exception {
        try (RawServer server = new RawServer(
                out -> {
                    RawServer.broken(ETAG, archive, HALF, false).write(out);
                    Thread.sleep(Duration.ofMinutes(5));
                },
                RawServer.rest(ETAG, archive, HALF, range(HALF)))) {
            Thread thread = Thread.currentThread();
            Thread.startVirtualThread(() -> {
                await().until(() -> Files.exists(partial()) && Files.size(partial()) == HALF);
                thread.interrupt();
            });

            assertThrows(InterruptedException.class, () -> download(server, key, 1, Progress.NONE));

            assertEquals(HALF, Files.size(partial()));
            assertEquals(1, server.requests().size());
        }
    }

    /** Ends when the client has the half: one that ends at once can take with it what the client has not yet read. */
    private RawServer.Answer broken(String headers, byte[] body) {
        return out -> {
            RawServer.broken(headers, body, HALF, false).write(out);
            await().atMost(Duration.ofMinutes(1)).until(this::isHalfThere);
        };
    }

    private boolean isHalfThere() throws IOException {
        try (Stream<Path> files = Files.list(machine.layout().downloads())) {
            return files.anyMatch(file -> file.toFile().length() == HALF);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private void assertBroken(RawServer server) {
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> download(server, key, 1, Progress.NONE));
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains("the connection broke"), message);
        assertFalse(message.contains("sesame"), message);
    }

    private void download(RawServer server, String wanted, int attempts, Progress progress)
            throws ActuationFailure, InterruptedException {
        try (Downloader downloader = downloader(DownloadLimits.DEFAULT)) {
            downloader.download(wanted, source(server.url(), wanted.equals(key) ? key : null, attempts), progress);
        }
    }

    private Downloader downloader(DownloadLimits limits) {
        Timing timing = new Timing(
                InstantSource.fixed(Instant.parse("2026-11-20T12:00:00Z")),
                System::nanoTime,
                pause -> {},
                new Random(1));
        return new Downloader(machine.layout(), limits, new LocalDisk(), timing);
    }

    private static Source source(String url, @Nullable String sha256, int attempts) {
        return new Source(url, sha256, Duration.ofSeconds(30), attempts);
    }

    private Path partial() {
        return machine.layout().downloads().resolve(key);
    }

    private void assertComplete() throws IOException {
        assertArrayEquals(archive, Files.readAllBytes(machine.layout().archive(key)));
        assertFalse(Files.exists(partial()));
        assertFalse(Files.exists(partial().resolveSibling(key + ".origin")));
    }

    private static void assertRequest(String request, String expected) {
        for (String line : expected.split("\n", -1)) {
            assertTrue(request.contains(line + "\n"), request);
        }
    }
}
