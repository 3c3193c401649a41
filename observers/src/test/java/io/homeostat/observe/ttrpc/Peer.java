package io.homeostat.observe.ttrpc;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.homeostat.proto.ttrpc.Request;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.HexFormat;

/** The other end of a connection, which says what a test wants it to, byte by byte. */
final class Peer implements AutoCloseable {
    final SocketChannel channel;

    private Peer(SocketChannel channel) {
        this.channel = channel;
    }

    /** Of whoever listens there. */
    static Peer to(Path socket) throws IOException {
        return new Peer(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
    }

    /** Both ends of a connection: ours, and that of the code under test. */
    record Pair(Peer peer, Wire tested) {}

    static Pair pair(Path socket) throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));
            SocketChannel tested = SocketChannel.open(UnixDomainSocketAddress.of(socket));
            return new Pair(new Peer(server.accept()), new SocketWire(tested));
        }
    }

    void send(byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        while (buffer.hasRemaining()) {
            int _ = channel.write(buffer);
        }
    }

    /** Hexadecimal digits; blanks are for people. */
    void send(String hex) throws IOException {
        send(HexFormat.of().parseHex(hex.replace(" ", "")));
    }

    void send(Frame frame) throws IOException {
        send(bytes(frame));
    }

    static byte[] bytes(Frame frame) {
        ByteBuffer buffer = ByteBuffer.allocate(Frame.HEADER + frame.payload().size());
        buffer.putInt(frame.payload().size())
                .putInt(frame.stream())
                .put(frame.type())
                .put(frame.flags());
        frame.payload().copyTo(buffer);
        return buffer.array();
    }

    void answer(int stream, ByteString message) throws IOException {
        send(Frame.response(stream, Envelopes.success(message)));
    }

    void refuse(int stream, Status status) throws IOException {
        send(Frame.response(stream, Envelopes.failure(status)));
    }

    /** The next frame; an error when the connection ends instead. */
    Frame receive() throws IOException {
        ByteBuffer header = read(Frame.HEADER);
        int length = header.getInt();
        int stream = header.getInt();
        byte type = header.get();
        byte flags = header.get();
        return new Frame(stream, type, flags, ByteString.copyFrom(read(length)));
    }

    Request request() throws IOException {
        return Request.parseFrom(receive().payload());
    }

    private ByteBuffer read(int length) throws IOException {
        ByteBuffer result = ByteBuffer.allocate(length);
        while (result.hasRemaining()) {
            if (channel.read(result) < 0) {
                throw new IOException("the connection has ended");
            }
        }
        return result.flip();
    }

    /** Whether the other side has closed, which is waited for. */
    boolean isClosed() {
        try {
            return channel.read(ByteBuffer.allocate(1)) < 0;
        } catch (IOException e) {
            // It is closed in the middle of what was sent to it.
            return true;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
