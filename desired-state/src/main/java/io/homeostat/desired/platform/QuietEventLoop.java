package io.homeostat.desired.platform;

import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** One thread of Netty's NIO. Netty's own ones look every second whether something is due that was scheduled and then cancelled. */
public final class QuietEventLoop extends MultiThreadIoEventLoopGroup {
    static final long PAUSE = TimeUnit.MINUTES.toNanos(1);

    /** @param name of the thread, which is no reason for the JVM to stay */
    public QuietEventLoop(String name) {
        super(1, new DefaultThreadFactory(name, true), NioIoHandler.newFactory());
    }

    @Override
    protected IoEventLoop newChild(Executor executor, IoHandlerFactory handlers, Object... unused) {
        return new Loop(this, executor, handlers);
    }

    static final class Loop extends SingleThreadIoEventLoop {
        private Loop(QuietEventLoop group, Executor executor, IoHandlerFactory handlers) {
            super(group, executor, handlers);
        }

        @Override
        protected long delayNanos(long now) {
            // What is scheduled, or given to the loop by another thread, wakes it.
            return nextScheduledTaskDeadlineNanos() < 0 ? PAUSE : super.delayNanos(now);
        }
    }
}
