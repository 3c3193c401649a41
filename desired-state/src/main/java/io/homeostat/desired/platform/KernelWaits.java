package io.homeostat.desired.platform;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.RecvByteBufAllocator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the thread of all connections to unix sockets from waiting in the kernel for one of them. Whoever has the other end can pass
 * descriptors, unix(7). Nobody here takes them, so the kernel closes them in our thread, and to close that of a TCP connection takes as long as
 * its user likes (SO_LINGER, socket(7)). A call that takes too long is interrupted, and the connection is closed by {@link FloodGuard}.
 */
final class KernelWaits {
    /** What is told to the handlers of a connection that has kept the thread waiting. */
    record Notice() {}

    /** So long a call is waited for at least, and twice as long at most: one that was only held up with the whole machine is over by then. */
    private static final long PATIENCE = 500;

    private final Supplier<Runnable> wakers;
    private final Executor later;
    private @Nullable Runnable waker;
    private boolean inside;
    private boolean woken;
    private boolean watched;
    private long calls;
    private long seen;

    /** @param wakers called by the thread; returns what interrupts a system call of it */
    KernelWaits(Supplier<Runnable> wakers) {
        this(wakers, CompletableFuture.delayedExecutor(PATIENCE, TimeUnit.MILLISECONDS, Runnable::run));
    }

    /** @param later runs what it is given after a while */
    KernelWaits(Supplier<Runnable> wakers, Executor later) {
        this.wakers = wakers;
        this.later = later;
    }

    /** Begins a call of the kernel. */
    synchronized void begin() {
        if (waker == null) {
            waker = wakers.get();
        }
        inside = true;
        woken = false;
        calls++;
        if (!watched) {
            watched = true;
            later.execute(this::look);
        }
    }

    /** Ends the call, and returns whether it had to be interrupted. */
    synchronized boolean end() {
        boolean wasWoken = inside && woken;
        inside = false;
        return wasWoken;
    }

    private synchronized void look() {
        if (calls == seen) {
            if (!inside) {
                watched = false;
                return;
            }
            if (waker != null) {
                waker.run();
            }
            woken = true;
        }
        seen = calls;
        later.execute(this::look);
    }

    /** Watches a connection that was not used yet. */
    void watch(Channel connection) {
        connection.config().setRecvByteBufAllocator(new Reads(connection));
        connection.pipeline().addFirst(new Ends());
    }

    /** Netty asks it right before and after each read(2). */
    private final class Reads extends AdaptiveRecvByteBufAllocator {
        private final Channel connection;

        Reads(Channel connection) {
            this.connection = connection;
        }

        @Override
        @SuppressWarnings("deprecation") // The handle is Netty's own, which is of this type.
        public RecvByteBufAllocator.Handle newHandle() {
            return new RecvByteBufAllocator.DelegatingHandle(super.newHandle()) {
                @Override
                public ByteBuf allocate(ByteBufAllocator allocator) {
                    ByteBuf buffer = super.allocate(allocator);
                    begin();
                    return buffer;
                }

                @Override
                public void lastBytesRead(int bytes) {
                    if (end()) {
                        // Not within the read that is under way.
                        connection
                                .eventLoop()
                                .execute(() -> connection.pipeline().fireUserEventTriggered(new Notice()));
                    }
                    super.lastBytesRead(bytes);
                }
            };
        }
    }

    private final class Ends extends ChannelDuplexHandler {
        @Override
        public void close(ChannelHandlerContext context, ChannelPromise promise) {
            begin();
            ChannelFuture _ = context.close(promise);
            over(context);
        }

        /** Also when a read has failed, which Netty does not tell. */
        @Override
        public void channelInactive(ChannelHandlerContext context) {
            over(context);
            context.fireChannelInactive();
        }

        private void over(ChannelHandlerContext context) {
            if (end()) {
                context.fireUserEventTriggered(new Notice());
            }
        }
    }
}
