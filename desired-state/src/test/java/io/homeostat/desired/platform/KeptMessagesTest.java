package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Frames over connections of HTTP/2 without sockets, kept by the receiver as gRPC keeps them. */
class KeptMessagesTest {
    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final int END_OF_HEADERS = 4;
    private static final int LONGEST_FRAME = 16 << 10;

    /** As much as a socket is read at once. */
    private static final int READ = 128 << 10;

    private final KeptMessages kept = new KeptMessages();
    private final List<Connection> connections = new ArrayList<>();

    @AfterEach
    void tearDown() {
        connections.forEach(Connection::close);
        assertEquals(0, kept.bytes(), "what was released is not counted");
    }

    @Test
    void aFrameThatIsKeptDoesNotKeepTheBufferThatItWasReadInto() {
        Connection connection = new Connection();
        ByteBuf read = Unpooled.directBuffer(READ);
        read.writeBytes(RawPeer.frame(RawPeer.DATA, 0, 1, new byte[] {1, 2, 3}));

        connection.receive(read);

        assertEquals(0, read.refCnt());
        ByteBuf piece = connection.pieces.getFirst();
        assertArrayEquals(new byte[] {1, 2, 3}, ByteBufUtil.getBytes(piece));
        assertEquals(3, piece.capacity());
        assertFalse(piece.isDirect());
        assertEquals(3 + KeptMessages.PIECE, kept.bytes());
    }

    @Test
    void thePiecesOfAllStreamsOfAConnectionTogetherAreBounded() {
        Connection connection = new Connection();
        int frames = 0;
        while (connection.isOpen() && frames < 1 << 20) {
            connection.receive(1 + 2 * (frames % 8), 9, 500);
            frames += 500;
        }

        assertFalse(connection.isOpen());
        assertTrue(kept.bytes() <= KeptMessages.MOST_OF_ONE + LONGEST_FRAME, kept.bytes() + " bytes are kept");
    }

    @Test
    void aLongMessagePasses() {
        Connection connection = new Connection();
        for (int i = 0; i < 1024; i++) {
            connection.receive(1, LONGEST_FRAME, 1);
        }
        assertTrue(connection.isOpen());
    }

    @Test
    void smallMessagesThatFillTheWindowPass() {
        Connection connection = new Connection();
        // In a window of 1 MiB.
        connection.receive(1, 32, 1 << 15);
        assertTrue(connection.isOpen());
    }

    @Test
    void whatIsReadMayGoOnForEver() {
        Connection connection = new Connection();
        for (int i = 0; i < 100; i++) {
            connection.receive(1, LONGEST_FRAME, 100);
            connection.read();
        }
        assertTrue(connection.isOpen());
    }

    @Test
    void whenAllConnectionsKeepTooMuchTheOneThatKeepsMostIsClosed() {
        Connection innocent = new Connection();
        innocent.receive(1, LONGEST_FRAME, 10);
        Connection most = new Connection();
        most.receive(1, LONGEST_FRAME, 1400);
        Connection second = new Connection();
        second.receive(1, LONGEST_FRAME, 1300);

        innocent.receive(1, LONGEST_FRAME, 40);
        Connection third = new Connection();
        third.receive(1, LONGEST_FRAME, 400);

        assertFalse(most.isOpen());
        assertTrue(second.isOpen() && third.isOpen() && innocent.isOpen());
    }

    @Test
    void whoKeepsLittleIsNotClosedForOthersThatKeepMuchAfterTheirEnd() {
        for (int i = 0; i < 3; i++) {
            Connection over = new Connection();
            over.receive(1, LONGEST_FRAME, 1100);
            over.disconnect();
        }
        assertTrue(kept.bytes() > KeptMessages.MOST);

        Connection innocent = new Connection();
        innocent.receive(1, LONGEST_FRAME, 50);
        assertTrue(innocent.isOpen());
    }

    /** A connection whose peer has begun some calls. */
    private final class Connection implements AutoCloseable {
        final List<ByteBuf> pieces = new ArrayList<>();
        final EmbeddedChannel channel = FloodGuard.plain(
                new EmbeddedChannel(new Http2ConnectionHandlerBuilder()
                        .server(true)
                        .frameListener(new Http2FrameAdapter() {
                            @Override
                            public int onDataRead(
                                    ChannelHandlerContext context,
                                    int stream,
                                    ByteBuf data,
                                    int padding,
                                    boolean last) {
                                pieces.add(data.retain());
                                return data.readableBytes() + padding;
                            }
                        })
                        .build()),
                kept,
                null);

        Connection() {
            connections.add(this);
            receive(Unpooled.wrappedBuffer(PREFACE, RawPeer.frame(RawPeer.SETTINGS, 0, 0)));
            for (int stream = 1; stream < 16; stream += 2) {
                // RFC 7541: the method GET, the path / and the scheme http.
                byte[] fields = {(byte) 0x82, (byte) 0x84, (byte) 0x86};
                receive(Unpooled.wrappedBuffer(RawPeer.frame(RawPeer.HEADERS, END_OF_HEADERS, stream, fields)));
            }
        }

        void receive(int stream, int size, int frames) {
            byte[] frame = RawPeer.frame(RawPeer.DATA, 0, stream, new byte[size]);
            for (int i = 0; i < frames; i++) {
                receive(Unpooled.wrappedBuffer(frame));
            }
        }

        void receive(ByteBuf read) {
            channel.pipeline().fireChannelRead(read).fireChannelReadComplete();
            channel.runPendingTasks();
            channel.releaseOutbound();
        }

        boolean isOpen() {
            connections.forEach(each -> each.channel.runPendingTasks());
            return channel.isOpen();
        }

        void read() {
            pieces.forEach(ByteBuf::release);
            pieces.clear();
        }

        /** Without the end of HTTP/2, which would wait for the calls. */
        void disconnect() {
            if (channel.isOpen()) {
                var _ = channel.pipeline().firstContext().close();
                channel.runPendingTasks();
            }
        }

        @Override
        public void close() {
            read();
            disconnect();
        }
    }
}
