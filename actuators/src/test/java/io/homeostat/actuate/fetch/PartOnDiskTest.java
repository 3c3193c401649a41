package io.homeostat.actuate.fetch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.Source;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What is left of a download, and whether it is used. */
final class PartOnDiskTest extends PartialDownloadTestBed {
    @Test
    void anotherProgramResumesWhatTheFirstHasLeft() throws Exception {
        try (RawServer first = new RawServer(broken(ETAG, archive));
                RawServer server = new RawServer(RawServer.rest(ETAG, archive, HALF, range(HALF)))) {
            assertBroken(first);
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
    void aPartWhoseValidatorIsLongIsNotUsed() throws Exception {
        try (RawServer server = new RawServer(broken(ETAG, archive), RawServer.whole(ETAG, archive))) {
            assertBroken(server);
            Path note = partial().resolveSibling(key + ".origin");
            Files.writeString(note, Files.readString(note).replace("v1", "v".repeat(8_000)));

            download(server, key, 1, Progress.NONE);

            assertComplete();
            assertFalse(
                    server.requests().get(1).contains("Range"),
                    server.requests().get(1));
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
    void anInterruptLeavesWhatHasArrived() throws Exception {
        try (RawServer server = new RawServer(
                out -> {
                    RawServer.broken(ETAG, archive, HALF).write(out);
                    new CountDownLatch(1).await();
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
}
