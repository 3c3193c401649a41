package io.homeostat.desired.platform;

import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Closes a connection of gRPC whose peer makes this process keep more than a limit: answers that the peer does not read (acknowledgements of
 * PING and SETTINGS, resets, refusals), or messages in so many pieces that these take far more memory than the messages. Calls that are under
 * way fail with UNAVAILABLE and the reason.
 *
 * <p>HTTP/2 has no flow control for any of this. gRPC's server bounds its answers to control frames and nothing else; its client bounds
 * nothing. The content of our own messages does not count: Netty writes no more of it than there is room for, but for TLS.
 */
public final class FloodGuard extends ChannelDuplexHandler {
    /** For connections without TLS: some 9,000 answers that were not read. */
    static final long PLAIN = 1 << 20;

    /** For connections with TLS, where all that the peer gives us room for is encrypted at once. */
    static final long ENCRYPTED = 16 << 20;

    /** What a buffer costs beside its content, about. */
    private static final int OVERHEAD = 128;

    private final long most;
    private long unread;
    private boolean counting;
    private boolean closed;

    private FloodGuard(long most) {
        this.most = most;
    }

    /**
     * Guards a connection without TLS that was not used yet.
     *
     * @return the connection
     */
    static <C extends Channel> C plain(C connection) {
        return guarded(connection, PLAIN);
    }

    /** Guards a connection with TLS that was not used yet. */
    static <C extends Channel> C encrypted(C connection) {
        return guarded(connection, ENCRYPTED);
    }

    private static <C extends Channel> C guarded(C connection, long most) {
        connection.pipeline().addFirst(new FloodGuard(most));
        return connection;
    }

    /** Guards the connections that a listening socket accepts, for the pipeline of that socket. */
    public static ChannelHandler accepted() {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object accepted) {
                context.fireChannelRead(plain((Channel) accepted));
            }
        };
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        // By capacity: what is encrypted is a few bytes in a buffer of 16 KiB.
        long size = OVERHEAD + (message instanceof ByteBuf buffer ? (long) buffer.capacity() : 0);
        unread += size;
        ChannelFuture _ = context.write(message, promise.unvoid().addListener(done -> unread -= size));
        if (unread > most) {
            close(context, "more than " + (most >> 10) + " KiB of answers to HTTP/2 frames were not read");
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (closed) {
            ReferenceCountUtil.release(message);
            return;
        }
        if (!counting) {
            // There only after the handshake of TLS, if there is one.
            Http2ConnectionHandler http2 = context.pipeline().get(Http2ConnectionHandler.class);
            if (http2 != null) {
                counting = true;
                http2.decoder()
                        .frameListener(new PieceCounter(http2.decoder().frameListener(), http2.connection(), context));
            }
        }
        context.fireChannelRead(message);
    }

    private void close(ChannelHandlerContext context, String reason) {
        if (!closed) {
            closed = true;
            String why = "closed on this side: " + reason;
            // With a cause, as all that fails here; what the peer says of itself has none.
            Status status = Status.UNAVAILABLE.withDescription(why).withCause(new IOException(why));
            // For gRPC, which tells it to whoever waits for an answer.
            context.fireExceptionCaught(Http2Exception.connectionError(
                    Http2Error.ENHANCE_YOUR_CALM, status.asRuntimeException(), "%s", why));
            ChannelFuture _ = context.close();
        }
    }

    /** Counts the frames that gRPC keeps: of a message until it is complete, and of complete ones until somebody wants them. */
    private final class PieceCounter extends Http2FrameListenerDecorator {
        private final Http2Connection connection;
        private final Http2Connection.PropertyKey key;
        private final ChannelHandlerContext guard;

        PieceCounter(Http2FrameListener listener, Http2Connection connection, ChannelHandlerContext guard) {
            super(listener);
            this.connection = connection;
            this.key = connection.newKey();
            this.guard = guard;
        }

        @Override
        public int onDataRead(ChannelHandlerContext context, int streamId, ByteBuf data, int padding, boolean last)
                throws Http2Exception {
            Http2Stream stream = connection.stream(streamId);
            if (stream != null
                    && !pieces(stream)
                            .add(data, connection.local().flowController().unconsumedBytes(stream))) {
                close(guard, "messages came in too many pieces");
                return data.readableBytes() + padding;
            }
            if (!data.isReadable() && !last) {
                // It says nothing, and gRPC would keep it.
                return padding;
            }
            return super.onDataRead(context, streamId, data, padding, last);
        }

        private Pieces pieces(Http2Stream stream) {
            Pieces known = stream.getProperty(key);
            if (known == null) {
                known = new Pieces();
                stream.setProperty(key, known);
            }
            return known;
        }
    }

    /** Frames of a stream that are kept. */
    static final class Pieces {
        /** A byte that tells whether it is compressed, and the length. */
        private static final int PREFIX = 5;

        private static final int LENGTH = 4;

        /** Bytes that the pieces may cost beside their content. Small messages, one in a frame, fill their window before. */
        private static final long MOST = 4 << 20;

        /** Sizes of those that nobody has wanted yet, the oldest first. */
        private final Queue<Integer> waiting = new ArrayDeque<>();

        private long waitingBytes;

        /** Frames without any bytes. They cost the sender nothing of its flow control window, and nobody has a reason to send many. */
        private int empty;

        /** Of the message that has begun. */
        private int frames;

        private long bytes;
        private int prefix;
        private long length;

        /**
         * Counts a frame.
         *
         * @param unconsumed bytes of this and earlier frames that nobody has wanted yet
         * @return false when there are too many
         */
        boolean add(ByteBuf data, long unconsumed) {
            if (!data.isReadable()) {
                empty++;
                return (long) empty * OVERHEAD <= MOST;
            }
            waiting.add(data.readableBytes());
            waitingBytes += data.readableBytes();
            while (waitingBytes - waiting.element() >= unconsumed && waiting.size() > 1) {
                waitingBytes -= waiting.remove();
            }
            frames++;
            int at = data.readerIndex();
            while (at < data.writerIndex()) {
                if (prefix < PREFIX) {
                    length = prefix < PREFIX - LENGTH ? 0 : length << 8 | data.getUnsignedByte(at);
                    prefix++;
                    at++;
                    bytes++;
                } else {
                    long part = Math.min(length + PREFIX - bytes, data.writerIndex() - at);
                    bytes += part;
                    at += (int) part;
                }
                if (prefix == PREFIX && bytes == length + PREFIX) {
                    // The rest of the frame is of the next one.
                    frames = 1;
                    bytes = 0;
                    prefix = 0;
                }
            }
            return (long) (frames + waiting.size()) * OVERHEAD <= MOST + bytes + waitingBytes;
        }
    }
}
