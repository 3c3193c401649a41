package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.controlplane.TestAuthority;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client and a server in one thread. */
@Timeout(60)
class BoundedTlsTest {
    private static final int ROOM = 64 << 10;

    @TempDir
    Path directory;

    private TestAuthority.Issued issued;
    private SSLContext trusting;
    private SSLEngine client;
    private SSLEngine server;
    private final ByteBuffer toClient = ByteBuffer.allocate(ROOM);
    private final ByteBuffer toServer = ByteBuffer.allocate(ROOM);
    private final ByteBuffer read = ByteBuffer.allocate(ROOM);

    @BeforeEach
    void connect() throws Exception {
        TestAuthority authority = new TestAuthority("authority");
        issued = authority.issue("localhost");
        trusting = ClientTls.context(
                new Tls(authority.writeCertificate(directory.resolve("ca.pem")).toString(), null, null), "tls");
        client = trusting.createSSLEngine("localhost", 443);
        client.setUseClientMode(true);
        server = SslContextBuilder.forServer(issued.key(), issued.certificate())
                .build()
                .newEngine(UnpooledByteBufAllocator.DEFAULT);
        client.beginHandshake();
        server.beginHandshake();
        while (isShaking(client) || isShaking(server)) {
            pass(client, toServer, toClient);
            pass(server, toClient, toServer);
        }
    }

    private static boolean isShaking(SSLEngine engine) {
        return engine.getHandshakeStatus() != HandshakeStatus.NOT_HANDSHAKING;
    }

    /** Lets one take what has come for it, and say what it has to. */
    private void pass(SSLEngine engine, ByteBuffer out, ByteBuffer in) throws SSLException {
        in.flip();
        boolean goesOn = true;
        while (goesOn) {
            work(engine);
            SSLEngineResult result = engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP
                    ? engine.wrap(ByteBuffer.allocate(0), out)
                    : engine.unwrap(in, read);
            goesOn = result.bytesConsumed() + result.bytesProduced() > 0
                    || result.getHandshakeStatus() == HandshakeStatus.NEED_TASK;
        }
        in.compact();
    }

    private static void work(SSLEngine engine) {
        for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    private void say(String content) throws SSLException {
        server.wrap(ByteBuffer.wrap(content.getBytes(StandardCharsets.UTF_8)), toClient);
        pass(client, toServer, toClient);
    }

    @Test
    void contentHasNoBound() throws Exception {
        for (int i = 0; i < 5_000; i++) {
            read.clear();
            say("x".repeat(100));
            assertEquals(100, read.position());
        }
    }

    /** The JDK's client makes a buffer for each result. */
    @Test
    void shortRecordsShareABuffer() throws Exception {
        pass(client, toServer, toClient);
        for (int i = 0; i < 500; i++) {
            server.wrap(ByteBuffer.wrap(new byte[] {'x'}), toClient);
        }
        server.closeOutbound();
        server.wrap(ByteBuffer.allocate(0), toClient);
        int all = toClient.flip().remaining();
        ByteBuffer[] buffers = {ByteBuffer.allocate(300), ByteBuffer.allocate(300)};

        SSLEngineResult first = client.unwrap(toClient, buffers[0]);
        SSLEngineResult second = client.unwrap(toClient, buffers[1]);
        SSLEngineResult third = client.unwrap(toClient, buffers[1]);

        assertEquals(Status.OK, first.getStatus());
        assertTrue(first.bytesProduced() > 200, first::toString);
        assertEquals(Status.OK, second.getStatus());
        assertEquals(500, first.bytesProduced() + second.bytesProduced());
        assertEquals(Status.CLOSED, third.getStatus());
        assertEquals(0, toClient.remaining());
        assertEquals(all, first.bytesConsumed() + second.bytesConsumed() + third.bytesConsumed());
    }

    /** Without a length, so that what ends the connection ends it. */
    @Test
    void anAnswerInShortRecordsIsReadToItsEnd() throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        keys.load(null, null);
        keys.setKeyEntry("server", issued.key(), new char[0], new Certificate[] {issued.certificate()});
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        String body = "0123456789".repeat(1000);
        try (ServerSocket listening =
                        context.getServerSocketFactory().createServerSocket(0, 1, InetAddress.getLoopbackAddress());
                HttpClient asking = HttpRequests.client().sslContext(trusting).build()) {
            Thread.ofVirtual().start(() -> answer(listening, "HTTP/1.1 200 OK\r\n\r\n" + body));

            assertEquals(
                    body,
                    asking.send(
                                    HttpRequest.newBuilder(
                                                    URI.create("https://localhost:" + listening.getLocalPort() + "/"))
                                            .build(),
                                    BodyHandlers.ofString())
                            .body());
        }
    }

    private static void answer(ServerSocket listening, String answer) {
        try (Socket connection = listening.accept()) {
            assertTrue(connection.getInputStream().read() > 0);
            for (byte one : answer.getBytes(StandardCharsets.UTF_8)) {
                connection.getOutputStream().write(one);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void whatComesBesideContentHas() throws Exception {
        int[] changes = new int[1];
        SSLException refused = assertThrows(SSLException.class, () -> {
            for (; changes[0] < 2_000; changes[0]++) {
                // A change of keys, to which the client has to say the same.
                server.beginHandshake();
                pass(server, toClient, toServer);
                pass(client, toServer, toClient);
                pass(server, toClient, toServer);
            }
        });

        assertTrue(String.valueOf(refused.getMessage()).startsWith("the server sends more than 262144 bytes, or 1000"));
        assertTrue(changes[0] > 900, () -> changes[0] + " changes");
    }
}
