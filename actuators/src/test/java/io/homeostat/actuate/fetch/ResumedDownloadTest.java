package io.homeostat.actuate.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.Source;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Downloads that are broken off go on where they stopped, whatever the server makes of it. */
final class ResumedDownloadTest extends PartialDownloadTestBed {
    /** Repeated, because a client that asked for the body too early lost it in one of ten on a busy machine. */
    @RepeatedTest(20)
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
        try (RawServer server = new RawServer(reset(ETAG, archive), RawServer.rest(ETAG, archive, HALF, range(HALF)))) {
            download(server, key, 2, Progress.NONE);

            assertComplete();
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
                // Servers refuse requests with headers of several kilobytes.
                "ETag: \"" + "v".repeat(8_000) + "\"\r\n",
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
    void aRangeThatQuotesTheRequestGivesNothingAway() throws Exception {
        String range = "GET /archive?signature=sesame Authorization: Basic am9lOnBhc3N3b3Jk " + "p".repeat(50_000);
        try (RawServer server = new RawServer(broken(ETAG, archive), RawServer.rest(ETAG, archive, HALF, range));
                Downloader downloader = downloader(DownloadLimits.DEFAULT)) {
            Source source = source(server.url().replace("//", "//joe:password@"), key, 1);
            assertThrows(ActuationFailure.class, () -> downloader.download(key, source, Progress.NONE));
            assertRequest(server.requests().getFirst(), "Authorization: Basic am9lOnBhc3N3b3Jk");

            String message = String.valueOf(
                    assertThrows(ActuationFailure.class, () -> downloader.download(key, source, Progress.NONE))
                            .getMessage());

            assertTrue(
                    message.contains("sent the range 'GET /archive?(masked) Authorization: Basic (masked) p"), message);
            assertTrue(message.length() < 1_000, message);
        }
    }

    @Test
    void aServerThatRefusesARequestForTheRestIsAskedForAll() throws Exception {
        for (String refusal : ImmutableList.of("400 Bad Request", "412 Precondition Failed", "431 Too Large")) {
            try (RawServer server =
                    new RawServer(broken(ETAG, archive), RawServer.status(refusal), RawServer.whole(ETAG, archive))) {
                download(server, key, 2, Progress.NONE);

                assertComplete();
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
}
