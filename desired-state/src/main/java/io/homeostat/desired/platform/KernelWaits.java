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
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the thread of all connections to unix sockets from waiting in the kernel for one of them. Whoever has the other end can pass
 * descriptors, unix(7). Nobody here takes them, so the kernel closes them in our thread, when it reads or when it closes the connection, and to
 * close that of a TCP connection takes as long as its user likes (SO_LINGER, socket(7)).
 *
 * <p>As long as anything goes on at such connections the thread is asked whether it is there. When it does not answer, what it does in the kernel
 * is interrupted; a thread that is only busy does not notice. A connection whose reads take that long is closed by {@link FloodGuard}.
 */
final class KernelWaits {
    private static final Logger LOG = LoggerFactory.getLogger(KernelWaits.class);

    /**
     * The milliseconds between two looks at whether the thread has answered. It is interrupted at the second one: when the whole machine stood
     * still it answers meanwhile.
     */
    private static final long PATIENCE = 100;

    /** The nanoseconds that the long reads of a connection may take at once. */
    private static final long MOST_WAITED = TimeUnit.SECONDS.toNanos(1);

    /** The nanoseconds after which one more of them is allowed. */
    private static final int ALLOWED_ONE_IN = 50;

    /** The shortest read that counts: shorter ones read many bytes, or the machine is busy. */
    private static final long LEAST_COUNTED = TimeUnit.MILLISECONDS.toNanos(PATIENCE / 2);

    /** The most that counts of one read: a longer one is interrupted, unless the machine stood still. */
    private static final long MOST_COUNTED = TimeUnit.MILLISECONDS.toNanos(3 * PATIENCE);

    /** Netty's own number for such connections. */
    private static final int MESSAGES_PER_READ = 16;

    private final Supplier<Runnable> wakers;
    private final Executor later;
    private @Nullable Runnable waker;
    private boolean watched;
    private boolean active;
    private boolean answered;
    private boolean late;

    /** @param wakers called by the thread; returns what interrupts a system call of it */
    KernelWaits(Supplier<Runnable> wakers) {
        this(wakers, CompletableFuture.delayedExecutor(PATIENCE, TimeUnit.MILLISECONDS, Runnable::run));
    }

    /** @param later runs what it is given after a while */
    KernelWaits(Supplier<Runnable> wakers, Executor later) {
        this.wakers = wakers;
        this.later = later;
    }

    /** Notes that the thread does something at a connection; called by it. */
    synchronized void active(EventExecutor thread) {
        if (waker == null) {
            waker = wakers.get();
        }
        if (!watched) {
            watched = true;
            ask(thread);
        }
        // It has answered before it closes what is closed now, so it is asked again.
        active = true;
    }

    private void ask(EventExecutor thread) {
        active = false;
        answered = false;
        late = false;
        try {
            thread.execute(this::answer);
        } catch (RejectedExecutionException e) {
            // It is about to end.
            LOG.debug("no more connections: {}", e.toString());
        }
        later.execute(() -> look(thread));
    }

    private synchronized void answer() {
        answered = true;
    }

    private synchronized void look(EventExecutor thread) {
        if (thread.isTerminated() || (answered && !active)) {
            watched = false;
        } else if (answered) {
            ask(thread);
        } else {
            if (late && waker != null) {
                waker.run();
            }
            late = true;
            later.execute(() -> look(thread));
        }
    }

    /** Watches a connection that was not used yet, and has this guard. */
    void watch(Channel connection, FloodGuard guard) {
        connection.config().setRecvByteBufAllocator(new Reads(connection, guard));
        connection.pipeline().addFirst(new Ends());
    }

    /** Measures the reads of a connection: Netty asks for a buffer right before each read(2), and tells its result right after. */
    private final class Reads extends AdaptiveRecvByteBufAllocator {
        private final Channel connection;
        private final FloodGuard guard;
        private final Ticker ticker = Ticker.systemTicker();
        private final TokenBucket waited = new TokenBucket(MOST_WAITED, ALLOWED_ONE_IN, ticker.nanoTime());
        private long since;

        Reads(Channel connection, FloodGuard guard) {
            this.connection = connection;
            this.guard = guard;
            var _ = maxMessagesPerRead(MESSAGES_PER_READ);
        }

        private void begin() {
            active(connection.eventLoop());
            since = ticker.nanoTime();
        }

        private void end() {
            long now = ticker.nanoTime();
            if (now - since >= LEAST_COUNTED) {
                waited.take(Math.min(now - since, MOST_COUNTED));
            }
            if (waited.available(now) < 0) {
                guard.hasKeptWaiting();
            }
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
                    end();
                    super.lastBytesRead(bytes);
                }
            };
        }
    }

    /** Has the thread watched when a connection ends, which is really closed when the thread selects the next time. */
    private final class Ends extends ChannelDuplexHandler {
        @Override
        public void close(ChannelHandlerContext context, ChannelPromise promise) {
            active(context.channel().eventLoop());
            ChannelFuture _ = context.close(promise);
        }

        /** Also when a read or write has failed, and Netty has closed it. */
        @Override
        public void channelInactive(ChannelHandlerContext context) {
            active(context.channel().eventLoop());
            context.fireChannelInactive();
        }
    }
}
