package io.homeostat.actuate.fetch;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.getRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlEqualTo;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.QuickDisk;
import io.homeostat.actuate.archive.ArchiveStore;
import io.homeostat.actuate.archive.ArrivingArchive;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class DownloaderTest extends DownloadTestBed {
    private final AtomicReference<@Nullable Exception> failed = new AtomicReference<>();

    @Test
    void aServerIsTheSameHoweverItIsWritten() {
        Optional<String> server = Downloader.server("http://example.com/a");

        assertEquals(Optional.of("example.com:80"), server);
        assertEquals(server, Downloader.server("http://user@EXAMPLE.com:80/b"));
        assertEquals(Optional.of("example.com:443"), Downloader.server("https://example.com/a"));
        assertEquals(Optional.empty(), Downloader.server("file:///a"));
    }

    @Test
    void anArchiveArrivesOnceForItsOwnerAlone() throws Exception {
        serve(ok());
        List<Long> progress = new ArrayList<>();

        downloader.download(key, source(), (done, total) -> {
            assertEquals(archive.length, total);
            progress.add(done);
        });
        downloader.download(key, source(), Progress.NONE);

        assertComplete();
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(
                        Files.getPosixFilePermissions(machine.layout().archive(key))));
        assertEquals(0L, progress.getFirst());
        assertEquals((long) archive.length, progress.getLast());
        bucket.verify(1, getRequestedFor(urlPathEqualTo(PATH)));
    }

    @Test
    void theSignatureReachesTheServer() throws Exception {
        bucket.stubFor(get(urlEqualTo(SIGNED)).willReturn(ok()));

        downloader.download(key, source(bucket.url(SIGNED) + "#fragment", key, 1), Progress.NONE);

        assertComplete();
    }

    @Test
    void userInformationIsSentAsCredentials() throws Exception {
        bucket.stubFor(get(urlEqualTo(PATH)).withBasicAuth("joe", "p:w").willReturn(ok()));

        downloader.download(
                key, source("http://joe:p%3Aw@localhost:" + bucket.getPort() + PATH, key, 1), Progress.NONE);

        assertComplete();
    }

    @Test
    void anUndeclaredChecksumIsNotedForTheInstallation() throws Exception {
        String unverified = "unverified-" + "a".repeat(64);
        serve(ok());

        downloader.download(unverified, source(bucket.url(SIGNED), null, 1), Progress.NONE);

        assertArrayEquals(archive, Files.readAllBytes(machine.layout().archive(unverified)));
        assertEquals(key, new ArchiveStore(machine.layout(), new LocalDisk()).sha256(unverified));
        Files.write(machine.layout().archive(unverified), new byte[0]);
        assertEquals(
                key,
                new ArchiveStore(machine.layout(), new LocalDisk()).sha256(unverified),
                "it was noted, not computed");
    }

    @Test
    void aDiskWithoutRoomIsNotFilledUp() {
        serve(ok());
        Disk small = new QuickDisk() {
            @Override
            public long usableBytes(Path path) {
                return 1000;
            }
        };
        try (Downloader bounded = downloader(new DownloadLimits(1 << 20, 1000), small)) {
            ActuationFailure failure = failure(key, source(), bounded);

            assertFalse(failure.fatal());
            assertMessage(
                    failure,
                    "it needs " + archive.length + " bytes below "
                            + machine.layout().downloads()
                            + ", where 1000 are free and 1000 have to stay free; free some space");
        }
    }

    @Test
    void whatIsNoUrlIsFinal() {
        for (String url : new String[] {
            "http://host/%zz?token=sesame",
            "gopher://host/x?token=sesame",
            "http:///x?token=sesame",
            "relative/path",
            "http://ho st/x?sesame"
        }) {
            ActuationFailure failure = failure(source(url, key, 1));

            assertTrue(failure.fatal(), url);
            assertMessage(failure, "correct source.url");
        }
    }

    @Test
    void theSameArchiveIsFetchedOnceForAllWhoAskAtTheSameTime() throws Exception {
        serve(ok().withFixedDelay(200));
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(CompletableFuture.runAsync(
                    () -> {
                        try {
                            downloader.download(key, source(), Progress.NONE);
                        } catch (ActuationFailure | InterruptedException e) {
                            throw new AssertionError(e);
                        }
                    },
                    Thread::startVirtualThread));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).join();

        assertComplete();
        bucket.verify(1, getRequestedFor(urlPathEqualTo(PATH)));
    }

    @Test
    void aUrlThatHangsDelaysNobodyWhoDeclaresAnotherOneForTheSameArchive() throws Exception {
        serve(ok());
        Thread stuck = fetchesFromWhatHangs();

        downloader.download(key, source(), Progress.NONE);

        assertTrue(stuck.isAlive(), "it was waited for");
        assertArrayEquals(archive, Files.readAllBytes(machine.layout().archive(key)));
        stuck.interrupt();
        stuck.join();
        downloader.download(key, source(), Progress.NONE);
        assertNothingLeft();
        bucket.verify(1, getRequestedFor(urlPathEqualTo(PATH)));
    }

    @Test
    void whatOneUrlDoesNotGiveIsTakenFromWhereItCameMeanwhile() throws Exception {
        serve(ok());
        CountDownLatch mayBreak = new CountDownLatch(1);
        try (RawServer breaking = new RawServer(out -> mayBreak.await())) {
            Thread stuck = fetches(source(breaking.url(), key, 1));
            await().until(() -> !breaking.requests().isEmpty());

            downloader.download(key, source(), Progress.NONE);
            mayBreak.countDown();
            stuck.join();
        }

        assertNull(failed.get());
        assertComplete();
    }

    @Test
    void aFileOfThisMachineIsCopied() throws Exception {
        Path file = Files.write(temp.resolve("ar chive.tar.gz"), archive);

        downloader.download(key, source(file.toUri().toString(), key, 1), Progress.NONE);

        assertComplete();
        Files.delete(machine.layout().archive(key));
        downloader.download(key, source(file.toString(), key, 1), Progress.NONE);
        assertComplete();
    }

    @Test
    void aFileThatIsNoneIsSaidToBeNone() throws Exception {
        Path fifo = temp.resolve("fifo");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());

        assertMessage(failure(source("file:///not/there.tar.gz", key, 3)), "/not/there.tar.gz: no such file");
        String noFile = "it is not a regular file";
        assertMessage(failure(source("file://" + temp, key, 3)), noFile);
        assertMessage(failure(source("file://" + fifo, key, 3)), noFile);
        assertMessage(failure(source("file://otherhost/x", key, 3)), "is not the path of a file");
        assertTrue(pauses.isEmpty(), "nothing is gained by trying that again");
    }

    @Test
    void aFileWithAnotherChecksumIsNotTaken() throws Exception {
        Path file = Files.write(temp.resolve("file"), new byte[1000]);

        assertMessage(failure(source("file://" + file, key, 1)), "declared is " + key);
        assertNothingLeft();
    }

    @Test
    void anInterruptEndsItAtOnceAlsoWhenTheServerIsSilent() throws Exception {
        serve(ok().withFixedDelay(60_000));
        Thread thread = Thread.currentThread();
        Thread.startVirtualThread(() -> {
            await().until(() ->
                    !bucket.findAll(getRequestedFor(urlPathEqualTo(PATH))).isEmpty());
            thread.interrupt();
        });

        assertThrows(InterruptedException.class, () -> downloader.download(key, source(), Progress.NONE));
    }

    @Test
    void closingBreaksOffWhatWaitsForAServer() throws Exception {
        Thread stuck = fetchesFromWhatHangs();

        downloader.close();
        stuck.join();

        assertMessage(assertInstanceOf(ActuationFailure.class, failed.get()), "the connection broke");
    }

    @Test
    void aPortThatNoneCanBeIsFinal() {
        ActuationFailure failure = failure(source("http://127.0.0.1:99999/x?token=sesame", key, 1));

        assertTrue(failure.fatal());
        assertMessage(failure, "correct source.url");
    }

    @Test
    void aKeyThatIsAPathIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> downloader.download("../../etc/x", source(), Progress.NONE));
    }

    /** Each holds memory for as long as its server likes. */
    @Test
    void onlySoManyAreUnderWayAtOnce() throws Exception {
        assertWaits(1, 9, bucket.url(SIGNED));
    }

    @Test
    void soFewOfOneServerThatItHoldsUpNoOthers() throws Exception {
        assertWaits(9, 1, null);
    }

    /** @param second what waits for one of a slow server; null for another one of that */
    private void assertWaits(int atOnce, int ofOneServer, @Nullable String second) throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch answered = new CountDownLatch(1);
        serve(ok());
        try (Downloader few = downloader(DownloadLimits.DEFAULT, new LocalDisk(), atOnce, ofOneServer);
                RawServer slow = new RawServer(out -> {
                    asked.countDown();
                    answered.await();
                })) {
            String other = Machine.sha256(new byte[] {1});
            Thread first = Thread.startVirtualThread(() -> failure(other, source(slow.url(), other, 1), few));
            asked.await();

            Thread waiting = Thread.startVirtualThread(() -> assertThrows(
                    InterruptedException.class,
                    () -> few.download(key, source(second == null ? slow.url() : second, key, 1), Progress.NONE)));
            await().atMost(Duration.ofMinutes(1)).until(() -> waiting.getState() == Thread.State.WAITING);
            if (second == null) {
                few.download(key, source(), Progress.NONE);
                assertTrue(Files.exists(machine.layout().archive(key)));
            } else {
                bucket.verify(0, getRequestedFor(urlPathEqualTo(PATH)));
            }
            assertEquals(1, slow.requests().size());
            waiting.interrupt();
            waiting.join();

            answered.countDown();
            first.join();
            few.download(key, source(), Progress.NONE);
            assertComplete();
        }
    }

    @Test
    void aDownloadTakesMoreMemoryOnlyAsItNeedsItAndGivesItBack() throws Exception {
        Semaphore spare = new Semaphore(2);
        Path file = Files.createDirectories(machine.layout().downloads()).resolve(key);
        try (PartialDownload partial =
                PartialDownload.open(new LocalDisk(), file, key, "url", ArrivingArchive::close, spare)) {
            assertEquals(0, partial.take().length);
            assertEquals(2, spare.availablePermits());

            assertEquals(0, partial.take().length);
            Chunk third = partial.take();
            assertEquals(0, spare.availablePermits());

            third.bytes[0] = 1;
            third.length = 1;
            partial.append(third);
            assertEquals(0, partial.take().length);
        }
        assertEquals(2, spare.availablePermits());
        PartialDownload.forget(new LocalDisk(), file);
    }

    private Thread fetchesFromWhatHangs() {
        bucket.stubFor(get(urlPathEqualTo("/hangs")).willReturn(ok().withFixedDelay(120_000)));
        Thread thread = fetches(new Source(bucket.url("/hangs"), key, Duration.ofMinutes(1), 1));
        await().until(() ->
                !bucket.findAll(getRequestedFor(urlPathEqualTo("/hangs"))).isEmpty());
        return thread;
    }

    private Thread fetches(Source source) {
        return Thread.startVirtualThread(() -> {
            try {
                downloader.download(key, source, Progress.NONE);
            } catch (ActuationFailure | InterruptedException e) {
                failed.set(e);
            }
        });
    }

    @Test
    void aLargeArchiveIsReadWhileItArrivesAndEndsOnlyWhenItIsTheDeclaredOne() throws Exception {
        byte[] large = PartialDownloadTestBed.random(1_000_000, 1);
        String sum = Machine.sha256(large);
        serve(aResponse().withBody(large));
        CompletableFuture<byte[]> read = new CompletableFuture<>();

        downloader.download(
                sum, source(bucket.url(SIGNED), sum, 3), Progress.NONE, arriving -> readAll(arriving, read));

        assertArrayEquals(large, read.get(1, TimeUnit.MINUTES));
    }

    @Test
    void whoReadsAnotherArchiveThanTheDeclaredOneMeetsNoEnd() {
        byte[] large = PartialDownloadTestBed.random(1_000_000, 1);
        serve(aResponse().withBody(large));
        CompletableFuture<byte[]> read = new CompletableFuture<>();

        assertThrows(
                ActuationFailure.class,
                () -> downloader.download(
                        key, source(bucket.url(SIGNED), key, 1), Progress.NONE, arriving -> readAll(arriving, read)));

        ExecutionException broken = assertThrows(ExecutionException.class, () -> read.get(1, TimeUnit.MINUTES));
        assertEquals("java.io.IOException: its download has broken off", broken.getMessage());
    }

    @Test
    void nobodyReadsWhatIsSmallOrMayBeAnything() throws Exception {
        byte[] large = PartialDownloadTestBed.random(1_000_000, 1);
        serveInTurn(ok(), aResponse().withBody(large));
        List<ArrivingArchive> read = new ArrayList<>();

        downloader.download(key, source(), Progress.NONE, read::add);
        String unverified = "unverified-" + "a".repeat(64);
        downloader.download(unverified, source(bucket.url(SIGNED), null, 3), Progress.NONE, read::add);

        assertEquals(List.of(), read);
    }

    private static void readAll(ArrivingArchive arriving, CompletableFuture<byte[]> read) {
        Thread _ = Thread.startVirtualThread(() -> {
            try (arriving) {
                read.complete(arriving.read().readAllBytes());
            } catch (IOException e) {
                read.completeExceptionally(e);
            }
        });
    }
}
