package io.homeostat.desired.platform;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLSocket;

/** A server that speaks frames of HTTP/2, and reads nothing once it has begun to flood its client. */
public final class RawPeer implements AutoCloseable {
    public static final int DATA = 0;
    static final int HEADERS = 1;
    public static final int SETTINGS = 4;
    public static final int PING = 6;

    /** The stream of the first call of gRPC's client. */
    static final int STREAM = 3;

    private static final int END_OF_HEADERS = 4;
    private static final int HEADER = 9;
    private static final int AT_ONCE = 500;

    private static final int MOST = 2_000_000;

    private final AutoCloseable listening;
    private final CompletableFuture<Void> disconnected = new CompletableFuture<>();

    private interface Accepting {
        Conversation accept() throws IOException;
    }

    private record Conversation(InputStream in, OutputStream out, AutoCloseable connection) {}

    private RawPeer(AutoCloseable listening, Accepting accepting, byte[] frame) {
        this.listening = listening;
        Thread.startVirtualThread(() -> {
            try {
                Conversation conversation = accepting.accept();
                try (AutoCloseable _ = conversation.connection()) {
                    flood(conversation, frame);
                }
                disconnected.complete(null);
            } catch (Exception e) {
                disconnected.completeExceptionally(e);
            }
        });
    }

    /** Listens at a unix socket; what it sends over and over is this frame. */
    static RawPeer unix(Path socket, byte[] frame) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(socket));
        return new RawPeer(
                server,
                () -> {
                    SocketChannel connection = server.accept();
                    return new Conversation(
                            Channels.newInputStream(connection), Channels.newOutputStream(connection), connection);
                },
                frame);
    }

    public static RawPeer tcp(ServerSocket server, byte[] frame) {
        return new RawPeer(
                server,
                () -> {
                    Socket connection = server.accept();
                    if (connection instanceof SSLSocket tls) {
                        tls.setHandshakeApplicationProtocolSelector((socket, offered) -> "h2");
                    }
                    return new Conversation(connection.getInputStream(), connection.getOutputStream(), connection);
                },
                frame);
    }

    /** Completed when its client has closed the connection. */
    public CompletableFuture<Void> disconnected() {
        return disconnected;
    }

    private static void flood(Conversation with, byte[] frame) throws IOException {
        with.out().write(frame(SETTINGS, 0, 0));
        if (frame[3] == DATA) {
            awaitHeaders(new DataInputStream(with.in()));
            with.out().write(frame(HEADERS, END_OF_HEADERS, STREAM, responseHeaders()));
            // The beginning of a message of 16 MiB.
            with.out().write(frame(DATA, 0, STREAM, new byte[] {0, 1, 0, 0, 0}));
        }
        ByteBuffer many = ByteBuffer.allocate(AT_ONCE * frame.length);
        while (many.hasRemaining()) {
            many.put(frame);
        }
        try {
            for (int sent = 0; sent < MOST; sent += AT_ONCE) {
                with.out().write(many.array());
                with.out().flush();
            }
            // There may have been room for all of it in the kernel.
            with.in().transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            // Closed, as it should be.
        }
    }

    private static void awaitHeaders(DataInputStream in) throws IOException {
        in.skipNBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length());
        int type;
        do {
            byte[] header = in.readNBytes(HEADER);
            type = header[3];
            in.skipNBytes((header[0] & 0xff) << 16 | (header[1] & 0xff) << 8 | header[2] & 0xff);
        } while (type != HEADERS);
    }

    private static byte[] responseHeaders() {
        byte[] value = "application/grpc".getBytes(StandardCharsets.US_ASCII);
        // RFC 7541: ":status: 200" by its number, "content-type" by its number with a value.
        return ByteBuffer.allocate(3 + value.length)
                .put((byte) 0x88)
                .put((byte) 0x5f)
                .put((byte) value.length)
                .put(value)
                .array();
    }

    /** A frame as RFC 9113 has it. */
    public static byte[] frame(int type, int flags, int stream, byte... payload) {
        return ByteBuffer.allocate(HEADER + payload.length)
                .put((byte) 0)
                .putShort((short) payload.length)
                .put((byte) type)
                .put((byte) flags)
                .putInt(stream)
                .put(payload)
                .array();
    }

    @Override
    public void close() throws Exception {
        listening.close();
    }
}
