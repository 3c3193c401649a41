package io.homeostat.reconcile.agent.metrics;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Bounds how many connections there are and how long one lasts, from its first byte to its last. */
final class Connections {
    private final int most;
    private final Duration patience;
    private final AtomicInteger open = new AtomicInteger();

    Connections(int most, Duration patience) {
        this.most = most;
        this.patience = patience;
    }

    /** Bounds one connection. */
    ChannelHandler one() {
        return new One();
    }

    private final class One extends ChannelInboundHandlerAdapter {
        private @Nullable Future<?> end;

        @Override
        public void channelActive(ChannelHandlerContext context) {
            if (open.incrementAndGet() > most) {
                ChannelFuture _ = context.close();
                return;
            }
            end = context.executor()
                    .schedule(
                            () -> {
                                ChannelFuture _ = context.close();
                            },
                            patience.toMillis(),
                            TimeUnit.MILLISECONDS);
            context.fireChannelActive();
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            open.decrementAndGet();
            if (end != null) {
                end.cancel(false);
            }
            context.fireChannelInactive();
        }
    }
}
