package io.homeostat.actuate;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.absent;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.getRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlEqualTo;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.core.Options;
import com.github.tomakehurst.wiremock.http.Fault;
import com.github.tomakehurst.wiremock.junit5.WireMockExtension;
import com.github.tomakehurst.wiremock.stubbing.Scenario;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Source;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

final class DownloaderTest {
    private static final String PATH = "/bucket/greeter.tar.gz";
    private static final String SIGNED = PATH + "?X-Signature=sesame&X-Expires=1";
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");

    @RegisterExtension
    private final WireMockExtension bucket = WireMockExtension.newInstance()
            .options(wireMockConfig().dynamicPort().useChunkedTransferEncoding(Options.ChunkedEncodingPolicy.NEVER))
            .build();

    @TempDir
    private Path temp;

    private final byte[] archive = new TarBuilder().program("run").tarGz();
    private final String key = Machine.sha256(archive);
    private final List<Duration> pauses = new ArrayList<>();
    private final AtomicReference<@Nullable Exception> failed = new AtomicReference<>();

    private Machine machine;
    private Downloader downloader;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
        downloader = downloader(DownloadLimits.DEFAULT, new LocalDisk());
    }

    @AfterEach
    void tearDown() {
        downloader.close();
    }

    private Downloader downloader(DownloadLimits limits, Disk disk) {
        Timing timing = new Timing(InstantSource.fixed(NOW), System::nanoTime, pauses::add, new Random(1));
        return new Downloader(machine.layout(), limits, disk, timing);
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
    void aServerThatFailsIsAskedAgainAfterAPause() throws Exception {
        serveInTurn(aResponse().withStatus(503), aResponse().withStatus(500), ok());

        downloader.download(key, source(), Progress.NONE);

        assertComplete();
        assertEquals(2, pauses.size());
        assertTrue(pauses.get(0).toMillis() <= 200 && pauses.get(1).toMillis() <= 400, pauses.toString());
    }

    @Test
    void thePauseAServerAsksForIsKeptWithinReason() throws Exception {
        serveInTurn(
                aResponse().withStatus(429).withHeader("Retry-After", "7"),
                aResponse().withStatus(503).withHeader("Retry-After", "Fri, 20 Nov 2026 12:00:09 GMT"),
                aResponse().withStatus(503).withHeader("Retry-After", "86400"),
                aResponse().withStatus(408).withHeader("Retry-After", "soon"),
                ok());

        downloader.download(key, source(bucket.url(SIGNED), key, 5), Progress.NONE);

        ImmutableList<Integer> asked = ImmutableList.of(7, 9, 30, 0);
        assertEquals(asked.size(), pauses.size());
        for (int i = 0; i < asked.size(); i++) {
            Duration extra = pauses.get(i).minusSeconds(asked.get(i));
            assertTrue(!extra.isNegative() && extra.toSeconds() < 2, pauses.toString());
        }
    }

    @Test
    void attemptsAreBoundedAndCounted() {
        serve(aResponse().withStatus(503));

        ActuationFailure failure = failure(source());

        assertFalse(failure.fatal());
        assertMessage(failure, "the server failed with 503 (attempt 3 of 3)");
        bucket.verify(3, getRequestedFor(urlPathEqualTo(PATH)));
    }

    @Test
    void anExpiredSignatureIsFinalAndSaysSo() {
        for (int status : new int[] {401, 403, 410}) {
            bucket.resetAll();
            serve(aResponse().withStatus(status));

            ActuationFailure failure = failure(source());

            assertTrue(failure.fatal());
            assertMessage(
                    failure,
                    "the server refused with " + status
                            + ": the signed URL has expired or is not valid; declare the workload again with a new URL");
            bucket.verify(1, getRequestedFor(urlPathEqualTo(PATH)));
        }
    }

    @Test
    void anArchiveThatIsNotThereMayComeLater() {
        serve(aResponse().withStatus(404));

        ActuationFailure failure = failure(source());

        assertFalse(failure.fatal());
        assertMessage(failure, "the server has no such archive (404)");
        bucket.verify(1, getRequestedFor(urlPathEqualTo(PATH)));
    }

    @Test
    void otherRefusalsAreFinal() {
        serve(aResponse().withStatus(400));

        ActuationFailure failure = failure(source());

        assertTrue(failure.fatal());
        assertMessage(failure, "the server refused with 400");
    }

    @Test
    void aWrongChecksumCostsAnAttemptAndNamesBoth() {
        byte[] other = new TarBuilder().program("other").tarGz();
        serve(aResponse().withBody(other));

        ActuationFailure failure = failure(source(bucket.url(SIGNED), key, 2));

        assertFalse(failure.fatal());
        assertMessage(failure, "have the SHA-256 " + Machine.sha256(other) + ", declared is " + key);
        bucket.verify(2, getRequestedFor(urlPathEqualTo(PATH)).withHeader("Range", absent()));
        assertNothingLeft();
    }

    @Test
    void aWebPageIsNotTakenForAnArchive() {
        serve(aResponse().withHeader("Content-Type", "text/html; charset=utf-8").withBody("<p>Please log in</p>"));

        assertMessage(failure(source()), "the server answered with an HTML page, not an archive");
        assertMessage(
                failure("unverified-" + "a".repeat(64), source(bucket.url(SIGNED), null, 1), downloader),
                "the server answered with an HTML page, not an archive");
        assertNothingLeft();
    }

    @Test
    void anArchiveThatTheServerCallsAWebPageIsStillAnArchive() throws Exception {
        serve(ok().withHeader("Content-Type", "text/html"));

        downloader.download(key, source(), Progress.NONE);

        assertComplete();
    }

    @Test
    void redirectsAreFollowed() throws Exception {
        bucket.stubFor(get(urlPathEqualTo("/start")).willReturn(redirect("/relative?token=sesame")));
        bucket.stubFor(get(urlPathEqualTo("/relative"))
                .willReturn(redirect(bucket.url(SIGNED)).withStatus(307)));
        serve(ok());

        downloader.download(
                key, source("http://joe:pw@localhost:" + bucket.getPort() + "/start", key, 1), Progress.NONE);

        assertComplete();
        bucket.verify(getRequestedFor(urlPathEqualTo(PATH)).withHeader("Authorization", absent()));
    }

    @Test
    void redirectsHaveAnEnd() {
        serve(redirect(SIGNED));

        assertMessage(failure(source()), "the server redirects more than 5 times");
        bucket.verify(6, getRequestedFor(urlPathEqualTo(PATH)));
    }

    @Test
    void redirectsDoNotLeadToFilesOfThisMachine() {
        for (String target : new String[] {"file:///etc/passwd?sesame", "ftp://host/x", "", "http:///nohost", "::"}) {
            serve(redirect(target));

            ActuationFailure failure = failure(source());

            assertFalse(failure.fatal());
            assertMessage(failure, "the server redirects to ");
            assertNothingLeft();
        }
    }

    @Test
    void redirectsDoNotLeadFromHttpsToHttp() {
        FailedAttempt failure = assertThrows(
                FailedAttempt.class,
                () -> HttpFetch.redirected(
                        URI.create("https://bucket/x?sesame"),
                        HttpHeaders.of(Map.of("Location", List.of("http://bucket/y?sesame")), (a, b) -> true)));

        assertTrue(
                failure.problem().contains("redirects from https to plain http (http://bucket/y?...)"),
                failure.problem());
    }

    @Test
    void anArchiveThatIsAnnouncedLargerThanAllowedIsRefused() {
        DownloadLimits limits = new DownloadLimits(archive.length - 1, 0);
        try (Downloader bounded = downloader(limits, new LocalDisk())) {
            serve(ok());

            ActuationFailure failure = failure(key, source(), bounded);

            assertTrue(failure.fatal());
            assertMessage(failure, "larger than the " + limits.maxBytes() + " bytes that limits.downloadBytes allows");
        }
        assertNothingLeft();
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
    void brokenConnectionsAreTriedAgain() throws Exception {
        serveInTurn(
                aResponse().withFault(Fault.CONNECTION_RESET_BY_PEER),
                aResponse().withFault(Fault.EMPTY_RESPONSE),
                aResponse().withFault(Fault.RANDOM_DATA_THEN_CLOSE),
                ok());

        downloader.download(key, source(bucket.url(SIGNED), key, 4), Progress.NONE);

        assertComplete();
    }

    @Test
    void anAttemptEndsWhenItsTimeIsOver() {
        serve(ok().withFixedDelay(20_000));
        Source impatient = new Source(bucket.url(SIGNED), key, Duration.ofMillis(200), 2);

        ActuationFailure failure = failure(impatient);

        assertFalse(failure.fatal());
        assertMessage(failure, "it took longer than the 0.2 s allowed for one attempt (source.timeout)");
        bucket.verify(2, getRequestedFor(urlPathEqualTo(PATH)));
    }

    @Test
    void aSlowBodyEndsTheAttemptToo() {
        serve(ok().withChunkedDribbleDelay(10, 20_000));
        Source impatient = new Source(bucket.url(SIGNED), key, Duration.ofMillis(300), 1);

        assertMessage(failure(impatient), "it took longer than the 0.3 s allowed");
    }

    @Test
    void aHostOrPortWhereNobodyIsIsNamed() {
        assertMessage(
                failure(source("http://no-such-host.invalid/x?token=sesame", key, 1)),
                "the host no-such-host.invalid can't be found");
        assertMessage(failure(source("http://127.0.0.1:1/x?token=sesame", key, 1)), "no connection to 127.0.0.1:1");
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
        Thread stuck = fetchesFromWhatHangs(Duration.ofMinutes(1));

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
        Thread stuck = fetchesFromWhatHangs(Duration.ofSeconds(3));

        downloader.download(key, source(), Progress.NONE);
        stuck.join();

        assertNull(failed.get());
        assertComplete();
    }

    private Thread fetchesFromWhatHangs(Duration patience) {
        bucket.stubFor(get(urlPathEqualTo("/hangs")).willReturn(ok().withFixedDelay(120_000)));
        Source hanging = new Source(bucket.url("/hangs"), key, patience, 1);
        Thread thread = Thread.startVirtualThread(() -> {
            try {
                downloader.download(key, hanging, Progress.NONE);
            } catch (ActuationFailure | InterruptedException e) {
                failed.set(e);
            }
        });
        await().until(() ->
                !bucket.findAll(getRequestedFor(urlPathEqualTo("/hangs"))).isEmpty());
        return thread;
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

        assertMessage(
                failure(source("file:///not/there.tar.gz", key, 3)), "/not/there.tar.gz: no such file or directory");
        assertMessage(failure(source("file://" + temp, key, 3)), "it is not a regular file");
        assertMessage(failure(source("file://" + fifo, key, 3)), "it is not a regular file");
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
    void aKeyThatIsAPathIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> downloader.download("../../etc/x", source(), Progress.NONE));
    }

    private ResponseDefinitionBuilder ok() {
        return aResponse().withHeader("Content-Type", "application/gzip").withBody(archive);
    }

    private static ResponseDefinitionBuilder redirect(String location) {
        return aResponse().withStatus(302).withHeader("Location", location);
    }

    private void serve(ResponseDefinitionBuilder response) {
        bucket.stubFor(get(urlPathEqualTo(PATH)).willReturn(response));
    }

    private void serveInTurn(ResponseDefinitionBuilder... responses) {
        for (int i = 0; i < responses.length; i++) {
            bucket.stubFor(get(urlPathEqualTo(PATH))
                    .withQueryParam("X-Signature", equalTo("sesame"))
                    .inScenario("in turn")
                    .whenScenarioStateIs(i == 0 ? Scenario.STARTED : "turn " + i)
                    .willSetStateTo("turn " + (i + 1))
                    .willReturn(responses[i]));
        }
    }

    private Source source() {
        return source(bucket.url(SIGNED), key, 3);
    }

    private static Source source(String url, @Nullable String sha256, int attempts) {
        return new Source(url, sha256, Duration.ofSeconds(30), attempts);
    }

    private ActuationFailure failure(Source source) {
        return failure(key, source, downloader);
    }

    private static ActuationFailure failure(String key, Source source, Downloader downloader) {
        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> downloader.download(key, source, Progress.NONE));
        StringWriter everything = new StringWriter();
        failure.printStackTrace(new PrintWriter(everything));
        assertFalse(everything.toString().contains("sesame"), () -> "a secret is shown: " + everything);
        return failure;
    }

    private static void assertMessage(ActuationFailure failure, String expected) {
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains(expected), message);
        assertTrue(message.startsWith("downloading "), message);
    }

    private void assertComplete() throws IOException {
        assertArrayEquals(archive, Files.readAllBytes(machine.layout().archive(key)));
        assertNothingLeft();
    }

    private void assertNothingLeft() {
        try (Stream<Path> left = Files.list(machine.layout().downloads())) {
            assertEquals(ImmutableList.of(), left.collect(ImmutableList.toImmutableList()));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
