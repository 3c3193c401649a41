package io.homeostat.reconcile.agent.api;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.nio.NioChannelOption;
import java.nio.file.attribute.UserPrincipal;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import jdk.net.ExtendedSocketOptions;
import jdk.net.UnixDomainPrincipal;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stands in a listening socket's pipeline and lets only those connections through that an allowed user made, and only so many.
 * The others are closed before a byte of theirs is read.
 */
final class PeerGuard extends ChannelInboundHandlerAdapter {
    private static final Logger log = LoggerFactory.getLogger(PeerGuard.class);
    private static final ChannelOption<UnixDomainPrincipal> PEER =
            NioChannelOption.of(ExtendedSocketOptions.SO_PEERCRED);

    private final Predicate<UserPrincipal> allowed;
    private final int limit;
    private final AtomicInteger open = new AtomicInteger();

    /** @param limit of connections at once */
    PeerGuard(Predicate<UserPrincipal> allowed, int limit) {
        this.allowed = allowed;
        this.limit = limit;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object accepted) {
        Channel connection = (Channel) accepted;
        // Null when the peer was gone before it was asked for.
        UnixDomainPrincipal peer = connection.config().getOption(PEER);
        if (peer == null || !allowed.test(peer.user())) {
            log.warn(
                    "a connection to the local API by user {} was refused",
                    peer == null ? "unknown" : peer.user().getName());
            connection.unsafe().closeForcibly();
        } else if (open.incrementAndGet() > limit) {
            open.decrementAndGet();
            log.warn("a connection to the local API was refused: there are {} already", limit);
            connection.unsafe().closeForcibly();
        } else {
            connection.closeFuture().addListener(closed -> open.decrementAndGet());
            context.fireChannelRead(connection);
        }
    }
}
