package io.homeostat.reconcile.agent.api;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Bounds how many connections a server has at once. One too many takes the place of the one that has been idle for longest: whoever opens
 * connections and says nothing, or does not read, keeps nobody else out. Only when none is idle it is refused.
 */
public final class ConnectionLimit {
    private final int most;

    /** The oldest first. */
    private final Set<Channel> idle = new LinkedHashSet<>();

    private int open;

    public ConnectionLimit(int most) {
        this.most = most;
    }

    /** Stands first in the pipeline of a connection. */
    public ChannelHandler handler() {
        return new Handler();
    }

    /** From now on a connection is not idle: what it asks for is being done. */
    public synchronized void serving(Channel connection) {
        idle.remove(connection);
    }

    /** From now on a connection only has to read. */
    public synchronized void served(Channel connection) {
        if (connection.isActive()) {
            idle.add(connection);
        }
    }

    /** Returns the connection that has to go. It counts as idle no more: others may come before it is known to be closed. */
    private synchronized @Nullable Channel opened(Channel connection) {
        open++;
        idle.add(connection);
        if (open <= most) {
            return null;
        }
        Channel superfluous = idle.iterator().next();
        idle.remove(superfluous);
        return superfluous;
    }

    private synchronized void closed(Channel connection) {
        open--;
        idle.remove(connection);
    }

    private final class Handler extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext context) {
            Channel superfluous = opened(context.channel());
            if (superfluous != null) {
                ChannelFuture _ = superfluous.close();
            }
            if (!context.channel().equals(superfluous)) {
                context.fireChannelActive();
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            closed(context.channel());
            context.fireChannelInactive();
        }
    }
}
