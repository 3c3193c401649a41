package io.homeostat.actuate.fetch;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.absent;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.getRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.http.Fault;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Machine;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.unpack.TarBuilder;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.desired.state.history.FailureCause;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What a server can answer instead of an archive, and where it can send whoever asks. */
final class ServerFaultsTest extends DownloadTestBed {
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
                            + ": the URL is not signed, or its signature has expired or is not valid;"
                            + " declare the workload again with a new URL");
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
        assertMessage(failure, " refused with 400");
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

        String words = "the server answered with an HTML page, not an archive";
        assertMessage(failure(source()), words);
        assertMessage(failure("unverified-" + "a".repeat(64), source(bucket.url(SIGNED), null, 1), downloader), words);
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
        for (String target : new String[] {"file:///etc/passwd?sesame", "ftp://host/x", "http:///nohost", "::"}) {
            serve(redirect(target));

            ActuationFailure failure = failure(source());

            assertFalse(failure.fatal());
            assertMessage(failure, "the server redirects to ");
            assertNothingLeft();
        }
    }

    @Test
    void redirectsDoNotLeadToMetadataServers() {
        // The address of metadata servers in other words, too: whatever the name, its address counts.
        for (String host : List.of(
                "169.254.169.254",
                "[fe80::1]",
                "[::ffff:169.254.169.254]",
                "2852039166",
                "[fd00:ec2::254]",
                "100.100.100.200")) {
            serve(redirect("http://" + host + "/computeMetadata/v1/?sesame"));

            ActuationFailure failure = failure(source());

            assertFalse(failure.fatal());
            assertEquals(FailureCause.of(FailureCause.Kind.REDIRECT), failure.failureCause());
            assertMessage(failure, "no redirect to it is followed");
            assertNothingLeft();
        }
    }

    @Test
    void aDeclaredLinkLocalAddressIsMeant() {
        assertEquals(Optional.empty(), HttpRequests.refusedRedirect("169.254.1.1", "169.254.1.1"));
        assertEquals(Optional.empty(), HttpRequests.refusedRedirect("169.254.1.1", "127.0.0.1"));
        for (String translated :
                List.of("64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::a9fe:a9fe", "::ffff:169.254.169.254")) {
            assertTrue(HttpRequests.refusedRedirect("example.com", translated).isPresent(), translated);
        }
        assertEquals(Optional.empty(), HttpRequests.refusedRedirect("example.com", "64:ff9b::7f00:1"));
    }

    @Test
    void aRedirectNowhereOrToWhereNothingCanBeFetchedIsNamed() {
        serve(aResponse().withStatus(302));
        assertMessage(failure(source()), "the server redirects without saying where");
        serve(redirect(""));
        assertMessage(failure(source()), "the server redirects without saying where");
        serve(redirect("http://host:99999/"));
        ActuationFailure failure = failure(source());
        assertMessage(failure, "the server redirects to a URL that can't be fetched");
        assertFalse(failure.fatal());
    }

    @Test
    void anAnswerThatCanNotBeUnderstoodCostsAnAttemptAndIsCalledInvalid() throws Exception {
        for (String answer : new String[] {
            "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx",
            "HTTP/1.1 abc OK\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\nfffffffe\r\nx",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n",
            "SSH-2.0-OpenSSH_9.6\r\n\r\n"
        }) {
            try (RawServer server = new RawServer(out -> out.write(answer.getBytes(US_ASCII)))) {
                ActuationFailure failure = failure(source(server.url(), key, 2));

                assertFalse(failure.fatal(), answer);
                assertMessage(failure, "the server's answer is invalid");
                assertMessage(failure, "(attempt 2 of 2)");
                assertEquals(FailureCause.of(FailureCause.Kind.CONTENT), failure.failureCause(), answer);
                assertNothingLeft();
            }
        }
    }

    @Test
    void aRedirectToAHostThatCanNotBeFetchedFromSaysSo() {
        FailedAttempt failure = assertThrows(
                FailedAttempt.class,
                () -> HttpFetch.redirected(
                        HttpRequests.anonymous(URI.create("http://bucket/x")).build(),
                        HttpHeaders.of(Map.of("Location", List.of("http://my_host:18001/y")), (a, b) -> true)));

        assertEquals(
                "the server redirects to a host that can't be fetched from, as its name 'my_host' has '_';"
                        + " use its address or another name",
                failure.problem());
    }

    @Test
    void redirectsDoNotLeadFromHttpsToHttp() {
        FailedAttempt failure = assertThrows(
                FailedAttempt.class,
                () -> HttpFetch.redirected(
                        HttpRequests.anonymous(URI.create("https://bucket/x?sesame"))
                                .build(),
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
        Source impatient = new Source(bucket.url(SIGNED), key, Duration.ofMillis(2500), 2);

        ActuationFailure failure = failure(impatient);

        assertFalse(failure.fatal());
        assertMessage(
                failure, "it took longer than the 2.5 s allowed for one attempt (source.timeout) (attempt 2 of 2)");
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

    private static ResponseDefinitionBuilder redirect(String location) {
        return aResponse().withStatus(302).withHeader("Location", location);
    }
}
