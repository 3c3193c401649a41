package io.homeostat.desired.platform;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableMap;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MetadataClientTest {
    private static final InetSocketAddress LOOPBACK = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private HttpServer server;
    private MetadataClient client;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(LOOPBACK, 0);
        server.start();
        client = new MetadataClient("127.0.0.1:" + server.getAddress().getPort(), Duration.ofSeconds(30));
    }

    @AfterEach
    void stop() {
        client.close();
        server.stop(0);
    }

    @Test
    void aValueIsGivenAsItWasSent() throws InterruptedException {
        answers(200, "projects/17/zones/z-1\n", "Google");

        assertEquals(new Present("projects/17/zones/z-1\n"), client.get(MetadataServer.ZONE));
        assertEquals(List.of("Google /computeMetadata/v1/instance/zone"), asked);
    }

    @Test
    void theTokenIsForTheAudienceAndInTheFullFormat() throws InterruptedException {
        answers(200, "a.b.c", "Google");

        assertEquals(new Present("a.b.c"), client.identityToken("agents.example.com/a&b"));
        assertEquals(
                List.of("Google /computeMetadata/v1/instance/service-accounts/default/identity"
                        + "?audience=agents.example.com%2Fa%26b&format=full"),
                asked);
    }

    @Test
    void whatThePathConsistsOfIsNeitherAQueryNorAWayOut() throws InterruptedException {
        answers(200, "v", "Google");

        client.get("instance/attributes/a b?recursive=true#x");
        assertEquals(List.of("Google /computeMetadata/v1/instance/attributes/a%20b%3Frecursive=true%23x"), asked);
        assertEquals(new Absent(), client.get("instance/../../secret"));
        assertEquals(1, asked.size());
    }

    @Test
    void whatIsNotThereIsAbsentAndADirectoryIsNoValue() throws InterruptedException {
        answers(404, "<html>", "Google");
        assertEquals(new Absent(), client.get("instance/attributes/none"));

        server.removeContext("/");
        answers(301, "", "Google");
        assertEquals(new Absent(), client.get("instance/attributes"));
    }

    @Test
    void anAnswerOfAnythingElseIsNotBelieved() throws InterruptedException {
        answers(404, "not found", "");
        assertTrue(reason(client.get(MetadataServer.INSTANCE_ID)).contains("Metadata-Flavor"));

        server.removeContext("/");
        answers(200, "i-0123", "Other");
        assertTrue(reason(client.get(MetadataServer.INSTANCE_ID)).contains("Metadata-Flavor"));
    }

    @Test
    void aServerThatFailsIsUnreachableAndNotWithoutTheValue() throws InterruptedException {
        answers(503, "later", "Google");

        assertEquals(
                "could not ask the metadata server 127.0.0.1:"
                        + server.getAddress().getPort() + " for instance/id: the server answered with status 503",
                reason(client.get(MetadataServer.INSTANCE_ID)));
    }

    @Test
    void aRedirectionElsewhereIsNotFollowed() throws InterruptedException {
        server.createContext("/", counting(exchange -> {
            exchange.getResponseHeaders().add("Metadata-Flavor", "Google");
            exchange.getResponseHeaders().add("Location", "/elsewhere");
            exchange.sendResponseHeaders(302, -1);
        }));

        assertTrue(reason(client.get(MetadataServer.INSTANCE_ID)).contains("status 302"));
        assertEquals(1, asked.size());
    }

    @Test
    void nobodyThereIsUnreachable() throws InterruptedException {
        try (MetadataClient nobody = new MetadataClient("127.0.0.1:1")) {
            assertTrue(reason(nobody.get(MetadataServer.INSTANCE_ID)).contains("no connection"));
        }
    }

    @Test
    void aServerThatSaysNothingIsWaitedForOnlySoLong() throws IOException, InterruptedException {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                MetadataClient impatient =
                        new MetadataClient("127.0.0.1:" + silent.getLocalPort(), Duration.ofMillis(50))) {
            assertTrue(reason(impatient.get(MetadataServer.INSTANCE_ID)).contains("no answer within 50 ms"));
        }
    }

    @Test
    void aBodyWithoutBoundsIsNotRead() throws InterruptedException {
        answers(200, "x".repeat(600 * 1024), "Google");

        assertInstanceOf(Unreachable.class, client.get(MetadataServer.INSTANCE_ID));
    }

    @Test
    void aChunkOfNegativeLengthIsNoValue() throws Exception {
        String answer = "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nTransfer-Encoding: chunked\r\n\r\nfffffffe\r\nx";

        assertTrue(reasonAfterWhichItIsClosed(answer).contains("not valid HTTP"));
    }

    @Test
    void anAnswerThatIsNotHttpIsNoValue() throws Exception {
        assertTrue(reasonAfterWhichItIsClosed("SSH-2.0-OpenSSH_9.6\r\n\r\n").contains("Invalid status line"));
    }

    private static String reasonAfterWhichItIsClosed(String answer) throws Exception {
        try (ServerSocket odd = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                MetadataClient asking = new MetadataClient("127.0.0.1:" + odd.getLocalPort(), Duration.ofSeconds(60))) {
            FutureTask<Integer> untilClosed = new FutureTask<>(() -> {
                try (Socket socket = odd.accept()) {
                    int _ = socket.getInputStream().read(new byte[4096]);
                    socket.getOutputStream().write(answer.getBytes(UTF_8));
                    return socket.getInputStream().read();
                }
            });
            Thread.ofVirtual().start(untilClosed);

            String reason = reason(asking.get(MetadataServer.INSTANCE_ID));
            assertEquals(-1, untilClosed.get(1, TimeUnit.MINUTES));
            return reason;
        }
    }

    @Test
    void theHostIsTheVariablesElseTheDefault() throws InterruptedException {
        assertEquals("169.254.169.254", MetadataClient.host(ImmutableMap.of()));
        assertEquals("169.254.169.254", MetadataClient.host(ImmutableMap.of("GCE_METADATA_HOST", "")));
        assertEquals("127.0.0.1:99", MetadataClient.host(ImmutableMap.of("GCE_METADATA_HOST", "127.0.0.1:99")));

        try (MetadataClient wrong = new MetadataClient("not a host")) {
            assertTrue(reason(wrong.get(MetadataServer.INSTANCE_ID)).contains("HOST:PORT"));
        }
    }

    @Test
    void anAnswersTextDoesNotShowItsValue() {
        assertFalse(new Present("secret").toString().contains("secret"));
    }

    private void answers(int status, String body, String flavor) {
        server.createContext("/", counting(exchange -> {
            if (!flavor.isEmpty()) {
                exchange.getResponseHeaders().add("Metadata-Flavor", flavor);
            }
            byte[] bytes = body.getBytes(UTF_8);
            exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
        }));
    }

    private HttpHandler counting(HttpHandler handler) {
        return exchange -> {
            asked.add(flavor(exchange) + " " + exchange.getRequestURI());
            try (exchange) {
                handler.handle(exchange);
            }
        };
    }

    private static String flavor(HttpExchange exchange) {
        return exchange.getRequestHeaders().getFirst("Metadata-Flavor");
    }

    private static String reason(Answer answer) {
        return assertInstanceOf(Unreachable.class, answer).reason();
    }
}
