package io.homeostat.reconcile.agent.hooks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.homeostat.reconcile.agent.hooks.HookCall.Webhook;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Why a web server could not be told, in words that quote nothing of its URL but the place. */
class WebhookTest {
    private static final String SECRET = "/services/T0/q7Rk2Zp0LmX9?token=hunter2";

    @Test
    void whereNobodyListensItIsSaid() throws IOException {
        int port;
        try (ServerSocket closed = listen()) {
            port = closed.getLocalPort();
        }

        assertEquals(
                "http://127.0.0.1:" + port + " can't be reached: nobody listens there, or its name is not known",
                failure("http", port));
    }

    @Test
    void whoDoesNotAnswerInTimeIsLeft() throws IOException {
        try (ServerSocket mute = listen()) {
            assertEquals(
                    "http://127.0.0.1:" + mute.getLocalPort() + " can't be reached: it did not answer in time",
                    failure("http", mute.getLocalPort()));
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

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    }

    private static String failure(String scheme, int port) {
        try (Webhook webhook =
                Webhook.at(URI.create(scheme + "://127.0.0.1:" + port + SECRET), Duration.ofSeconds(2))) {
            return String.valueOf(
                    assertThrows(IOException.class, () -> webhook.tell(new HookMessage("CRASHED", "process/a", "{}")))
                            .getMessage());
        }
    }
}
