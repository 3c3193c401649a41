package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.controlplane.TestAuthority;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.SslContextBuilder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
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

    private SSLEngine client;
    private SSLEngine server;
    private final ByteBuffer toClient = ByteBuffer.allocate(ROOM);
    private final ByteBuffer toServer = ByteBuffer.allocate(ROOM);
    private final ByteBuffer read = ByteBuffer.allocate(ROOM);

    @BeforeEach
    void connect() throws Exception {
        TestAuthority authority = new TestAuthority("authority");
        TestAuthority.Issued issued = authority.issue("localhost");
        client = ClientTls.context(
                        new Tls(
                                authority
                                        .writeCertificate(directory.resolve("ca.pem"))
                                        .toString(),
                                null,
                                null),
                        "tls")
                .createSSLEngine("localhost", 443);
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

    @Test
    void shortRecordsAreReadTogether() throws Exception {
        say("after what comes with the handshake");
        for (int i = 0; i < 500; i++) {
            server.wrap(ByteBuffer.wrap(new byte[] {(byte) i}), toClient);
        }
        toClient.flip();
        read.clear();

        SSLEngineResult result = client.unwrap(toClient, read);

        assertEquals(SSLEngineResult.Status.OK, result.getStatus());
        assertEquals(500, result.bytesProduced());
        assertEquals(500, read.position());
        assertEquals((byte) 499, read.get(499));
        assertEquals(0, toClient.remaining());
    }

    @Test
    void aBufferThatIsFullAndARecordThatIsNotWholeAreLeft() throws Exception {
        say("after what comes with the handshake");
        for (int i = 0; i < 3; i++) {
            server.wrap(ByteBuffer.wrap(new byte[1000]), toClient);
        }
        toClient.flip();
        int all = toClient.limit();

        assertEquals(2000, client.unwrap(toClient, ByteBuffer.allocate(2500)).bytesProduced());
        toClient.limit(all - 1);
        assertEquals(
                SSLEngineResult.Status.BUFFER_UNDERFLOW,
                client.unwrap(toClient, ByteBuffer.allocate(2500)).getStatus());
        toClient.limit(all);
        assertEquals(1000, client.unwrap(toClient, ByteBuffer.allocate(2500)).bytesProduced());
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
