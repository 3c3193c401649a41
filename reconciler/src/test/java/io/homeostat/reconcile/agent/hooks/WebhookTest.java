package io.homeostat.reconcile.agent.hooks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.homeostat.reconcile.agent.hooks.HookCall.Webhook;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Why a web server could not be told, in words that quote nothing of its URL but the place. */
class WebhookTest {
    private static final String SECRET = "/services/T0/q7Rk2Zp0LmX9?token=hunter2";

    @Test
    void whereNobodyListensItIsSaid() {
        assertEquals(
                "http://127.0.0.1:1 can't be reached: nobody listens there, or its name is not known",
                failure("http", 1));
    }

    @Test
    void whoDoesNotAnswerInTimeIsLeft() throws IOException {
        try (ServerSocket mute = listen()) {
            assertEquals(
                    "http://127.0.0.1:" + mute.getLocalPort() + " can't be reached: it did not answer in time",
                    failure("http", mute.getLocalPort(), Duration.ofMillis(500)));
        }
    }

    @Test
    void whoTurnsTlsDownIsToldSo() throws Exception {
        // A fatal alert, handshake_failure (RFC 8446, 6.2).
        byte[] alert = {21, 3, 3, 0, 2, 2, 40};
        try (ServerSocket server = listen()) {
            Thread answering = Thread.ofVirtual().start(() -> {
                try (var socket = server.accept()) {
                    socket.getOutputStream().write(alert);
                    socket.getInputStream().readAllBytes();
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });

            assertEquals(
                    "https://127.0.0.1:" + server.getLocalPort() + " can't be reached: no TLS connection could be made",
                    failure("https", server.getLocalPort()));
            answering.join();
        }
    }

    @Test
    void whoAnswersSomethingElseThanHttpIsLeft() throws Exception {
        try (ServerSocket server = listen()) {
            FutureTask<Integer> untilClosed = new FutureTask<>(() -> {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write("SSH-2.0-OpenSSH_9.6\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                    return socket.getInputStream().readAllBytes().length;
                }
            });
            Thread.ofVirtual().start(untilClosed);

            assertEquals(
                    "http://127.0.0.1:" + server.getLocalPort()
                            + " can't be reached: the connection broke off (ProtocolException)",
                    failure("http", server.getLocalPort()));
            assertTrue(untilClosed.get(1, TimeUnit.MINUTES) > 0);
        }
    }

    @Test
    void theUserOfTheUrlIsSentAsOneAndNamedNowhere() throws Exception {
        List<String> authorizations = new CopyOnWriteArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            authorizations.add(exchange.getRequestHeaders().getFirst("Authorization"));
            exchange.sendResponseHeaders(500, -1);
            exchange.close();
        });
        server.start();
        String place = "127.0.0.1:" + server.getAddress().getPort();
        Webhook webhook = new Webhook(URI.create("http://usr:p%40w@" + place + "/x"), Duration.ofSeconds(20));
        try {
            IOException refused =
                    assertThrows(IOException.class, () -> webhook.tell(new HookMessage("CRASHED", "process/a", "{}")));

            assertEquals("http://" + place + " answered 500", refused.getMessage());
        } finally {
            server.stop(0);
        }
        String basic = Base64.getEncoder().encodeToString("usr:p@w".getBytes(StandardCharsets.UTF_8));
        assertEquals(List.of("Basic " + basic), authorizations);
    }

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    }

    private static String failure(String scheme, int port) {
        return failure(scheme, port, Duration.ofMinutes(1));
    }

    private static String failure(String scheme, int port, Duration limit) {
        Webhook webhook = new Webhook(URI.create(scheme + "://127.0.0.1:" + port + SECRET), limit);
        return String.valueOf(
                assertThrows(IOException.class, () -> webhook.tell(new HookMessage("CRASHED", "process/a", "{}")))
                        .getMessage());
    }
}
