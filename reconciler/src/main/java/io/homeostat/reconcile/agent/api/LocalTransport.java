package io.homeostat.reconcile.agent.api;

import com.google.common.collect.ImmutableSet;
import io.grpc.BindableService;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.homeostat.desired.platform.FloodGuard;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.QuietEventLoop;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import jdk.net.ExtendedSocketOptions;
import jdk.net.UnixDomainPrincipal;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What carries the API: HTTP/2 over a unix socket, by Netty's NIO, which needs no native code. One thread, which never waits. */
final class LocalTransport implements AutoCloseable {
    /** A call's request at most, in bytes: thousands of documents. */
    static final int LARGEST_REQUEST = 16 << 20;

    private static final int CALLS_PER_CONNECTION = 16;
    private static final int LARGEST_HEADERS = 8 << 10;

    private static final ChannelOption<UnixDomainPrincipal> PEER =
            NioChannelOption.of(ExtendedSocketOptions.SO_PEERCRED);

    private final EventLoopGroup loop = new QuietEventLoop("api");
    private final Predicate<UserPrincipal> servers;

    LocalTransport() {
        this(rootAndThisUser());
    }

    /** @param servers whose servers channels speak to */
    LocalTransport(Predicate<UserPrincipal> servers) {
        this.servers = servers;
    }

    /** By number: whom the kernel names is compared by number, too. Root, and the user that we are. */
    static Predicate<UserPrincipal> rootAndThisUser() {
        try {
            ImmutableSet<UserPrincipal> users = ImmutableSet.of(
                    FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName("0"),
                    Files.getOwner(Path.of("/proc/self")));
            return users::contains;
        } catch (IOException e) {
            throw new ApiException(
                    ApiException.Kind.NOT_SERVED, "cannot find out which user this is: " + e.getMessage(), e);
        }
    }

    /** A server that has not been started. Its service is called on the one thread. */
    Server server(Path socket, ChannelHandler guard, BindableService service) {
        return NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelFactory(() -> {
                    NioServerDomainSocketChannel channel = new NioServerDomainSocketChannel();
                    // Before gRPC's own, which takes what is left over.
                    channel.pipeline().addLast(guard, FloodGuard.accepted());
                    return channel;
                })
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .withChildOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                // gRPC asks for it, unix sockets don't have it, and Netty warns of that on every connection.
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                .directExecutor()
                .maxInboundMessageSize(LARGEST_REQUEST)
                .maxInboundMetadataSize(LARGEST_HEADERS)
                .maxConcurrentCallsPerConnection(CALLS_PER_CONNECTION)
                .addService(service)
                .build();
    }

    /** A channel to a socket; the caller shuts it down. */
    ManagedChannel channel(Path socket) {
        return GrpcTransport.unixSocket(
                        socket,
                        () -> server -> servers.test(server)
                                ? Optional.empty()
                                : Optional.of(
                                        "the user " + server.getName() + ", who is neither root nor you, listens on "
                                                + socket + "; remove it, or choose another --run-dir"))
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .eventLoopGroup(loop)
                .directExecutor()
                .disableRetry()
                .build();
    }

    /** At once, without Netty's quiet period. */
    @Override
    public void close() {
        Future<?> _ = loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
    }

    /**
     * Stands in a listening socket's pipeline and lets only those connections through that an allowed user made, and only so many.
     * The others are closed before a byte of theirs is read.
     */
    static final class PeerGuard extends ChannelInboundHandlerAdapter {
        private static final Logger log = LoggerFactory.getLogger(PeerGuard.class);
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
}
