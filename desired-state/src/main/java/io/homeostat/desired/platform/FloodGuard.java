package io.homeostat.desired.platform;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Ticker;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection of gRPC whose peer makes this process keep more than a limit: answers that the peer does not read (acknowledgements of
 * PING and SETTINGS, resets, refusals), or messages that are incomplete or not read ({@link KeptMessages}); or whose peer sends far more than
 * calls and their messages need ({@link Overhead}). Calls that are under way fail with UNAVAILABLE and the reason. A client
 * connects to such a peer again after a pause ({@link FloodedPeers}).
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
    private final KeptMessages.OfConnection kept;
    private final @Nullable FloodedPeers peers;
    private final Ticker ticker;
    private final Overhead overhead;
    private FloodedPeers.@Nullable Peer peer;
    private @Nullable ChannelHandlerContext self;
    private long unread;
    private boolean counting;
    private boolean closed;

    private FloodGuard(long most, KeptMessages kept, @Nullable FloodedPeers peers, Ticker ticker) {
        this.most = most;
        this.kept = kept.ofConnection();
        this.peers = peers;
        this.ticker = ticker;
        this.overhead = new Overhead(ticker.nanoTime());
    }

    /**
     * Guards a connection without TLS that was not used yet.
     *
     * @param kept counts what is kept of the messages of this and other connections
     * @param peers whom this is not to connect to; null for a server, or where the address may be another's by then
     * @return the connection
     */
    static <C extends Channel> C plain(C connection, KeptMessages kept, @Nullable FloodedPeers peers) {
        return guarded(connection, PLAIN, kept, peers);
    }

    /** Guards a connection without TLS, see {@link #plain}, to a peer that is not known by the address that is connected to. */
    static FloodGuard plainTo(FloodedPeers.Peer peer, Channel connection, KeptMessages kept) {
        FloodGuard guard = new FloodGuard(PLAIN, kept, null, Ticker.systemTicker());
        guard.peer = peer;
        connection.pipeline().addFirst(guard);
        return guard;
    }

    /** Guards a connection with TLS that was not used yet, see {@link #plain}. */
    static <C extends Channel> C encrypted(C connection, KeptMessages kept, FloodedPeers peers) {
        return guarded(connection, ENCRYPTED, kept, peers);
    }

    private static <C extends Channel> C guarded(
            C connection, long most, KeptMessages kept, @Nullable FloodedPeers peers) {
        connection.pipeline().addFirst(new FloodGuard(most, kept, peers, Ticker.systemTicker()));
        return connection;
    }

    /** Guards the connections that a listening socket accepts, for the pipeline of that socket. */
    public static ChannelHandler accepted() {
        KeptMessages kept = new KeptMessages();
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object accepted) {
                context.fireChannelRead(plain((Channel) accepted, kept, null));
            }
        };
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        self = context;
        kept.open(() -> context.executor().execute(() -> close(context, KeptMessages.TOO_MUCH)));
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
        kept.closed();
    }

    @Override
    public void connect(
            ChannelHandlerContext context, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
        // First in the pipeline, so the last that hears of it: this is the address that is really connected to.
        if (peers != null) {
            peer = peers.at(remote);
        }
        String flood = peer == null ? null : peer.flood(ticker.nanoTime());
        if (flood == null) {
            ChannelFuture _ = context.connect(remote, local, promise);
        } else {
            promise.setFailure(unavailable("not connected to again yet: a connection was " + flood));
            // Nobody else does it, and it has a descriptor already.
            ChannelFuture _ = context.close();
        }
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
                http2.connection().addListener(new CallCounter(http2.connection()));
                http2.decoder().frameListener(new MessageCounter(http2.decoder().frameListener(), context));
            }
        }
        int size = message instanceof ByteBuf buffer ? buffer.readableBytes() : 0;
        context.fireChannelRead(message);
        // What calls and messages of it may cost is known now.
        if (!overhead.read(size, ticker.nanoTime())) {
            close(context, "frames of HTTP/2 without messages came without end");
        }
    }

    /** Closes the connection, whose peer is noted at once, after the read that is under way. */
    void hasKeptWaiting() {
        String why = "it sent descriptors that take long to close (SCM_RIGHTS)";
        note(why);
        ChannelHandlerContext context = self;
        if (context != null) {
            context.executor().execute(() -> close(context, why));
        }
    }

    private String note(String reason) {
        String why = "closed on this side: " + reason;
        if (peer != null) {
            peer.flooded(why, ticker.nanoTime());
        }
        return why;
    }

    private static StatusRuntimeException unavailable(String why) {
        // With a cause, as all that fails here; what the peer says of itself has none.
        return Status.UNAVAILABLE
                .withDescription(why)
                .withCause(new IOException(why))
                .asRuntimeException();
    }

    private void close(ChannelHandlerContext context, String reason) {
        if (!closed) {
            closed = true;
            kept.closed();
            String why = note(reason);
            // For gRPC, which tells it to whoever waits for an answer.
            context.fireExceptionCaught(
                    Http2Exception.connectionError(Http2Error.ENHANCE_YOUR_CALM, unavailable(why), "%s", why));
            ChannelFuture _ = context.close();
        }
    }

    /** Adds what each call may cost. */
    private final class CallCounter extends Http2ConnectionAdapter {
        private final Http2Connection connection;

        CallCounter(Http2Connection connection) {
            this.connection = connection;
        }

        @Override
        public void onStreamAdded(Http2Stream stream) {
            overhead.call();
        }

        @Override
        public void onStreamClosed(Http2Stream stream) {
            if (stream.isResetSent()) {
                // The peer may have sent so much before it hears of that.
                overhead.late(connection.local().flowController().initialWindowSize());
            }
        }
    }

    /**
     * The bytes of a connection that are no content of messages: frames and fields of HTTP/2, and what TLS adds. Counting bytes bounds all
     * kinds of frames, also those that nothing hears of. Calls and messages allow for some, which is more than they need; all else, such as
     * PING, has an allowance that is refilled as time passes. Not thread-safe.
     */
    static final class Overhead {
        /** Bytes for which a connection needs no reason: some 20,000 frames. */
        private static final int CAPACITY = 256 << 10;

        /** By the second: 7,000 of the smallest frames, which take less than a hundredth of a processor. */
        private static final double BYTES_PER_SECOND = 64 << 10;

        /** For a call: the fields before and after its messages, and the windows of what is sent. */
        private static final int CALL = 1 << 10;

        /** For a frame of messages, and not more than these themselves: its header, that of TLS, and a change of windows. */
        private static final int FRAME = 64;

        private final TokenBucket spare;
        private long allowed;

        Overhead(long now) {
            spare = new TokenBucket(CAPACITY, TimeUnit.SECONDS.toNanos(1) / BYTES_PER_SECOND, now);
        }

        /** Allows for a call. */
        void call() {
            allowed += CALL;
        }

        /** Allows for a frame with content of messages. */
        void message(int bytes) {
            allowed += bytes + Math.min(bytes, FRAME);
        }

        /** Allows for what may still come of a call that was given up. */
        void late(int bytes) {
            allowed += bytes;
        }

        /**
         * Counts bytes that came, after what they allow for was counted.
         *
         * @return false when there are too many
         */
        boolean read(int bytes, long now) {
            allowed -= bytes;
            if (allowed < 0) {
                // Before they are taken: a refill does not go beyond the capacity.
                long left = spare.available(now) + allowed;
                spare.take(-allowed);
                allowed = 0;
                return left >= 0;
            }
            return true;
        }
    }

    /** Hands gRPC copies of the content of messages, which are counted. */
    private final class MessageCounter extends Http2FrameListenerDecorator {
        private final ChannelHandlerContext guard;

        MessageCounter(Http2FrameListener listener, ChannelHandlerContext guard) {
            super(listener);
            this.guard = guard;
        }

        @Override
        public int onDataRead(ChannelHandlerContext context, int streamId, ByteBuf data, int padding, boolean last)
                throws Http2Exception {
            if (!data.isReadable() && !last) {
                // It says nothing, and gRPC would keep it.
                return padding;
            }
            overhead.message(data.readableBytes());
            ByteBuf copy = kept.copy(data);
            try {
                if (kept.isTooMuch()) {
                    close(guard, KeptMessages.TOO_MUCH);
                    return data.readableBytes() + padding;
                }
                return super.onDataRead(context, streamId, copy, padding, last);
            } finally {
                copy.release();
            }
        }
    }
}
