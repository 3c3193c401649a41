package io.homeostat.desired.remote;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.absent;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.getRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlPathEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.junit5.WireMockExtension;
import com.google.protobuf.ByteString;
import com.sun.net.httpserver.HttpsServer;
import io.homeostat.controlplane.TestAuthority;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What a web server may answer, and what comes of it. */
final class HttpsFetcherTest {
    private static final String SETTING = "sources.https";
    private static final String PATH = "/set.json";
    private static final ByteString CONTENT = ByteString.copyFromUtf8("apiVersion: homeostat/v1\n");

    @RegisterExtension
    final WireMockExtension server = WireMockExtension.newInstance()
            .options(wireMockConfig().dynamicPort().bindAddress("127.0.0.1").gzipDisabled(true))
            .build();

    @RegisterExtension
    final WireMockExtension other = WireMockExtension.newInstance()
            .options(wireMockConfig().dynamicPort().bindAddress("127.0.0.1").gzipDisabled(true))
            .build();

    @TempDir
    private Path directory;

    @Test
    void theVersionIsTheEtagAndIsAskedFor() throws Exception {
        serve(content(CONTENT).withHeader("ETag", "\"v1\""));
        server.stubFor(get(PATH)
                .withHeader("If-None-Match", equalTo("\"v1\""))
                .willReturn(aResponse().withStatus(304)));

        assertEquals(new Fetched.File("\"v1\"", CONTENT), fetch(Optional.empty()));
        assertEquals(new Fetched.NotModified(), fetch(Optional.of("\"v1\"")));
        assertEquals(new Fetched.File("\"v1\"", CONTENT), fetch(Optional.of("\"v0\"")));
    }

    @Test
    void withoutAnEtagTheContentTells() throws Exception {
        serve(content(CONTENT));

        Fetched.File first = assertInstanceOf(Fetched.File.class, fetch(Optional.empty()));
        assertEquals(new Fetched.NotModified(), fetch(Optional.of(first.version())));
        server.verify(2, getRequestedFor(urlPathEqualTo(PATH)).withHeader("If-None-Match", absent()));

        serve(content(CONTENT.concat(CONTENT)));
        assertInstanceOf(Fetched.File.class, fetch(Optional.of(first.version())));
    }

    /** Servers refuse requests with headers of several kilobytes. */
    @Test
    void aLongEtagIsNone() throws Exception {
        serve(content(CONTENT).withHeader("ETag", '"' + "v".repeat(8_000) + '"'));

        Fetched.File first = assertInstanceOf(Fetched.File.class, fetch(Optional.empty()));
        assertTrue(first.version().startsWith("sha256:"), first.version());
        assertEquals(new Fetched.NotModified(), fetch(Optional.of(first.version())));
        server.verify(2, getRequestedFor(urlPathEqualTo(PATH)).withHeader("If-None-Match", absent()));
    }

    @Test
    void whatIsPackedOnItsWayIsUnpacked() throws Exception {
        serve(content(packed(CONTENT)).withHeader("ETag", "\"v1\"").withHeader("Content-Encoding", "gzip"));
        assertEquals(new Fetched.File("\"v1\"", CONTENT), fetch(Optional.empty()));

        serve(content(CONTENT).withHeader("Content-Encoding", "gzip"));
        assertTrue(failure().matches("the answer of 127.0.0.1:\\d+ is damaged: Not in GZIP format"), failure());
    }

    @Test
    void anAnswerWithoutContentMaySayThatItIsPacked() throws Exception {
        serve(aResponse().withStatus(304).withHeader("Content-Encoding", "gzip"));
        assertEquals(new Fetched.NotModified(), fetch(Optional.of("\"v1\"")));

        serve(aResponse().withStatus(404).withHeader("Content-Encoding", "gzip").withHeader("Content-Length", "0"));
        assertTrue(failure().startsWith("the server answers 404: "), failure());

        serve(content(packed(CONTENT)).withHeader("ETag", "\"v1\"").withHeader("Content-Encoding", "GZIP"));
        assertEquals(new Fetched.File("\"v1\"", CONTENT), fetch(Optional.empty()));
    }

    @Test
    void whatIsTooLongIsNotTaken() throws Exception {
        ByteString most = ByteString.copyFrom(new byte[SetFetcher.MAX_BYTES]);
        serve(content(most));
        assertInstanceOf(Fetched.File.class, fetch(Optional.empty()));

        ByteString tooLong = most.concat(CONTENT);
        serve(content(tooLong));
        assertTrue(failure().contains("more than 16 MiB"), failure());

        serve(content(packed(tooLong)).withHeader("Content-Encoding", "gzip"));
        assertTrue(failure().contains("more than 16 MiB"), failure());
    }

    @Test
    void anAnswerThatIsNoSetSaysWhatToDo() throws Exception {
        serve(aResponse().withStatus(404));
        assertEquals(
                "the server answers 404: there is no such file; publish a set there, or correct sources.https.url",
                failure());
        serve(aResponse().withStatus(403));
        assertEquals(
                "the server answers 403: it does not let this machine read it; look at sources.https.tokenFile and tls",
                failure());
        serve(aResponse().withStatus(500).withBody("<b>out\nof https://u:secret@host/?k=v</b>"));
        assertEquals(
                "the server answers 500: <b>out of https://host/?...", failure().replace("</b>", ""));
    }

    @Test
    void aServerThatQuotesTheRequestGivesNothingAway() throws IOException {
        Path token = Files.writeString(directory.resolve("token"), "s3cr3t/tok+n\n");
        serve(aResponse()
                .withStatus(500)
                .withBody("you sent: GET " + PATH + "?sig=s3same\r\nAuthorization: Bearer s3cr3t/tok+n\r\n"));

        assertEquals(
                "the server answers 500: you sent: GET " + PATH + "?(masked) Authorization: Bearer (masked)",
                failure(fetcher(server.url(PATH) + "?sig=s3same", token.toString())));
    }

    @Test
    void nobodyThereIsSaidWithoutTheSecretsOfTheUrl() {
        // Nobody listens there, which can't be said of a port that was free a moment ago.
        String failure = assertThrows(
                        FetchFailure.class,
                        () -> fetcher("http://me:secret@127.0.0.1:1" + PATH + "?sig=secret", null)
                                .fetch(Optional.empty()))
                .words();

        assertTrue(failure.startsWith("no connection to 127.0.0.1:1"), failure);
        assertFalse(failure.contains("secret"), failure);
        assertEquals(
                "http://127.0.0.1/set.json?...",
                fetcher("http://me:secret@127.0.0.1/set.json?sig=x", null).name());
    }

    @Test
    void aServerThatBreaksOffIsNoSet() {
        serve(aResponse().withFault(com.github.tomakehurst.wiremock.http.Fault.RANDOM_DATA_THEN_CLOSE));

        assertTrue(failure().startsWith("no answer of 127.0.0.1:" + server.getPort() + ": "), failure());
    }

    @Test
    void anAnswerThatTheClientCanNotReadIsNoSet() throws Exception {
        String ok = "HTTP/1.1 200 OK\r\n";
        assertTrue(closedWithout(ok + "Content-Length: abc\r\n\r\nx").contains(" is not valid HTTP"));
        String chunked = ok + "Transfer-Encoding: chunked\r\n";
        assertTrue(closedWithout(chunked + "\r\nfffffffe\r\nx").startsWith("no answer of "));
        String packed = chunked + "Content-Encoding: gzip\r\n\r\n10\r\n0123456789abcdef\r\n";
        assertTrue(closedWithout(packed).contains(" is damaged"));
        assertTrue(closedWithout(chunked + "\r\n" + "1\r\nx\r\n".repeat(150_000))
                .endsWith(" is not taken: it comes in chunks of less than 16 bytes"));
    }

    /** The failure that comes of an answer that is begun, after which the connection is closed. */
    private static String closedWithout(String answer) throws Exception {
        try (ServerSocket odd = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            FutureTask<Integer> untilClosed = new FutureTask<>(() -> {
                try (Socket socket = odd.accept()) {
                    int _ = socket.getInputStream().read(new byte[4096]);
                    socket.getOutputStream().write(answer.getBytes(UTF_8));
                    return socket.getInputStream().read();
                } catch (SocketException e) {
                    // Closed before all of it was sent.
                    return -1;
                }
            });
            Thread.ofVirtual().start(untilClosed);

            String failure = failure(fetcher("http://127.0.0.1:" + odd.getLocalPort() + PATH, null));

            assertEquals(-1, untilClosed.get(1, TimeUnit.MINUTES));
            return failure;
        }
    }

    @Test
    void aRedirectIsFollowedAndGetsNoSecret() throws Exception {
        Path token = Files.writeString(directory.resolve("token"), "sesame\n");
        serve(aResponse().withStatus(302).withHeader("Location", other.url("/there")));
        other.stubFor(get("/there").willReturn(content(CONTENT).withHeader("ETag", "\"v1\"")));

        assertEquals(
                new Fetched.File("\"v1\"", CONTENT),
                fetcher(server.url(PATH), token.toString()).fetch(Optional.empty()));

        server.verify(getRequestedFor(urlPathEqualTo(PATH)).withHeader("Authorization", equalTo("Bearer sesame")));
        other.verify(getRequestedFor(urlPathEqualTo("/there")).withHeader("Authorization", absent()));
    }

    @Test
    void aRedirectMayHaveWhatAUrlMayNot() throws Exception {
        serve(aResponse().withStatus(302).withHeader("Location", "/t|re?sig={a b}"));
        server.stubFor(
                get("/t%7Cre?sig=%7Ba%20b%7D").willReturn(content(CONTENT).withHeader("ETag", "\"v1\"")));

        assertEquals(new Fetched.File("\"v1\"", CONTENT), fetch(Optional.empty()));
    }

    @Test
    void aRedirectAwayFromHttpsOrInACircleIsNot() {
        serve(aResponse().withStatus(302).withHeader("Location", "http://example.com/?sig=secret"));
        assertEquals(
                "the server redirects to 'http://example.com/?...', which is not https; name a URL that stays on https",
                failure());
        serve(aResponse().withStatus(302).withHeader("Location", "http://[/"));
        assertEquals("the server redirects to something that is not a URL", failure());
        serve(aResponse().withStatus(302).withHeader("Location", "https://my_host/set.json?sig=secret"));
        assertEquals(
                "the server redirects to a host that can't be fetched from, as its name 'my_host' has '_';"
                        + " use its address or another name",
                failure());
        serve(aResponse().withStatus(302).withHeader("Location", "ftp://my_host/set.json"));
        assertTrue(failure().contains("which is not https"), failure());
        serve(aResponse().withStatus(302));
        assertEquals("the server redirects without saying where: its answer has no Location", failure());
        serve(aResponse().withStatus(302).withHeader("Location", "https://[fe80::1]/set.json"));
        assertTrue(failure().contains("redirects to [fe80::1], which is the link-local address "), failure());
        serve(aResponse().withStatus(307).withHeader("Location", PATH));
        assertEquals("the server redirects more than 5 times", failure());
    }

    @Test
    void aTokenThatIsNotThereIsNamed() throws IOException {
        Path missing = directory.resolve("missing");
        String unread = failure(fetcher(server.url(PATH), missing.toString()));
        assertTrue(unread.startsWith("could not read " + missing + " (sources.https.tokenFile)"), unread);
        Path empty = Files.writeString(directory.resolve("empty"), "\n");
        assertEquals(
                empty + " (sources.https.tokenFile) is empty; write the secret into it",
                failure(fetcher(server.url(PATH), empty.toString())));
        Path odd = Files.writeString(directory.resolve("odd"), "se\nsame");
        assertEquals(
                "nothing can be sent to this URL or with this token; correct sources.https.url and tokenFile",
                failure(fetcher(server.url(PATH), odd.toString())));
    }

    @Test
    void aServerAndItsClientMayKnowEachOtherByCertificates() throws Exception {
        TestAuthority authority = new TestAuthority("authority");
        TestAuthority clients = new TestAuthority("clients");
        String ca = authority.writeCertificate(directory.resolve("ca.pem")).toString();
        TestAuthority.Issued issued = clients.issue("client");
        String certificate =
                issued.writeCertificate(directory.resolve("cert.pem")).toString();
        String key = issued.writeKey(directory.resolve("key.pem")).toString();
        HttpsServer secure = mutual(authority, clients);
        try {
            URI url = URI.create("https://localhost:" + secure.getAddress().getPort() + PATH);

            assertEquals(
                    new Fetched.File("\"v1\"", CONTENT),
                    new HttpsFetcher(url, null, new Tls(ca, certificate, key), SETTING, new LargeSetLock())
                            .fetch(Optional.empty()));

            String unknown =
                    failure(new HttpsFetcher(url, null, new Tls(null, certificate, key), SETTING, new LargeSetLock()));
            assertTrue(unknown.startsWith("no secure connection to localhost:"), unknown);
            String nobody = failure(new HttpsFetcher(url, null, new Tls(ca, null, null), SETTING, new LargeSetLock()));
            assertTrue(nobody.contains("localhost:"), nobody);
            String missing = failure(
                    new HttpsFetcher(url, null, new Tls("/nowhere/ca.pem", null, null), SETTING, new LargeSetLock()));
            assertTrue(missing.startsWith("could not read /nowhere/ca.pem (sources.https.tls)"), missing);
        } finally {
            secure.stop(0);
        }
    }

    private static HttpsServer mutual(TestAuthority authority, TestAuthority clients) throws IOException {
        return MutualTlsServer.start(authority, clients, PATH, exchange -> {
            exchange.getResponseHeaders().add("ETag", "\"v1\"");
            exchange.sendResponseHeaders(200, CONTENT.size());
            try (OutputStream body = exchange.getResponseBody()) {
                CONTENT.writeTo(body);
            }
        });
    }

    private void serve(ResponseDefinitionBuilder answer) {
        server.stubFor(get(urlPathEqualTo(PATH)).willReturn(answer));
    }

    private static ResponseDefinitionBuilder content(ByteString bytes) {
        return aResponse().withBody(bytes.toByteArray());
    }

    private static ByteString packed(ByteString content) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
            content.writeTo(out);
        }
        return ByteString.copyFrom(bytes.toByteArray());
    }

    private Fetched fetch(Optional<String> known) throws Exception {
        return fetcher(server.url(PATH), null).fetch(known);
    }

    private String failure() {
        return failure(fetcher(server.url(PATH), null));
    }

    private static String failure(HttpsFetcher fetcher) {
        return assertThrows(FetchFailure.class, () -> fetcher.fetch(Optional.empty()))
                .words();
    }

    private static HttpsFetcher fetcher(String url, @Nullable String tokenFile) {
        return new HttpsFetcher(
                URI.create(url.replace("localhost", "127.0.0.1")), tokenFile, null, SETTING, new LargeSetLock());
    }
}
