package io.homeostat.desired.platform;

import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.homeostat.desired.platform.SocketFinder.Found;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslContext;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import jdk.net.ExtendedSocketOptions;
import jdk.net.UnixDomainPrincipal;
import org.jspecify.annotations.Nullable;

/**
 * What carries gRPC to plugins, probes, the control plane and etcd: Netty's NIO, which needs no native code. It is loaded, and its one
 * thread started, when the first channel is asked for. {@link FloodGuard} and {@link BoundedMessages} bound what the other side can make this process keep.
 *
 * <p>A channel is shut down by its user, when its question is answered or its stream is over. Who keeps one gives it up as soon as its
 * connection breaks: after that it backs off and refuses calls although the next process may be listening already.
 */
public final class GrpcTransport implements AutoCloseable {
    /** A placeholder that is never connected to. */
    private static final UnixDomainSocketAddress ANY = UnixDomainSocketAddress.of("socket");

    /** A packed message of some kilobytes may have megabytes. So servers are not told that they may pack any, and few would. */
    private static final DecompressorRegistry NOTHING_PACKED =
            DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false);

    private final SocketFinder sockets;
    private final @Nullable KernelWaits waits;
    private final KeptMessages kept = new KeptMessages();
    private final FloodedPeers peers = new FloodedPeers();
    private @Nullable EventLoopGroup loop;
    private boolean closed;

    /** Creates a transport for TCP, and for unix sockets that no other user has a say in. */
    public GrpcTransport() {
        this.sockets = SocketFinder.DIRECT;
        this.waits = null;
    }

    /**
     * Creates a transport for unix sockets of other users, too.
     *
     * @param sockets finds them
     * @param wakers called by the thread of all connections; returns what interrupts a system call of that
     */
    public GrpcTransport(SocketFinder sockets, Supplier<Runnable> wakers) {
        this.sockets = sockets;
        this.waits = new KernelWaits(wakers);
    }

    /** To a unix socket that this process or its configuration names, without TLS. */
    public ManagedChannelBuilder<?> unix(Path socket) {
        return unix(socket, ServerRule.ofPath(socket));
    }

    /**
     * To a unix socket, without TLS.
     *
     * @param rule whose servers are told anything; calls to others fail with UNAVAILABLE
     */
    public ManagedChannelBuilder<?> unix(Path socket, ServerRule rule) {
        return configured(toUnixSocket(
                () -> new Redirection(sockets, socket, rule, Status.UNAVAILABLE),
                connection -> guard(connection, socket)));
    }

    /** Says that a process was launched that will listen at a unix socket: what the one before it has done does not count against it. */
    public void launched(Path socket) {
        peers.forget(socket);
    }

    private void guard(Channel connection, Path socket) {
        FloodGuard guard = FloodGuard.plainTo(peers.at(socket), connection, kept);
        if (waits != null) {
            waits.watch(connection, guard);
        }
    }

    /** To an address of this machine, without TLS. A port is anybody's for a moment: that somebody there has flooded is not remembered. */
    public ManagedChannelBuilder<?> tcp(InetSocketAddress address) {
        return configured(NettyChannelBuilder.forAddress(address)
                .channelFactory(() -> FloodGuard.plain(new NioSocketChannel(), kept, null), InetSocketAddress.class)
                .proxyDetector(target -> null)
                .usePlaintext());
    }

    /** To a host that has to prove its name; {@code tls} is configured for gRPC. */
    public ManagedChannelBuilder<?> tls(String host, int port, SslContext tls) {
        return configured(NettyChannelBuilder.forAddress(host, port)
                .channelFactory(
                        () -> FloodGuard.encrypted(new NioSocketChannel(), kept, peers), InetSocketAddress.class)
                .proxyDetector(target -> null)
                .sslContext(tls));
    }

    /**
     * To the addresses that a resolver of gRPC finds for a target, of which any will do. Unlike the others it tries calls again, and answers
     * arrive on threads that may block.
     *
     * @param tls configured for gRPC; null: without TLS
     */
    public NettyChannelBuilder resolved(String target, @Nullable SslContext tls) {
        NettyChannelBuilder builder = NettyChannelBuilder.forTarget(target)
                .channelFactory(
                        () -> tls == null
                                ? FloodGuard.plain(new NioSocketChannel(), kept, peers)
                                : FloodGuard.encrypted(new NioSocketChannel(), kept, peers),
                        InetSocketAddress.class)
                .eventLoopGroup(loop())
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .decompressorRegistry(NOTHING_PACKED)
                .intercept(new BoundedMessages());
        return tls == null ? builder.usePlaintext() : builder.sslContext(tls);
    }

    /**
     * To a unix socket, without TLS; whoever builds the channel supplies the event loop. Nobody remembers that the peer has flooded.
     *
     * @param rule whose servers are told anything; calls to others fail with PERMISSION_DENIED
     */
    public static NettyChannelBuilder unixSocket(Path socket, ServerRule rule) {
        return toUnixSocket(
                () -> new Redirection(SocketFinder.DIRECT, socket, rule, Status.PERMISSION_DENIED),
                connection -> FloodGuard.plain(connection, new KeptMessages(), null));
    }

    /**
     * gRPC makes a URI of the address and rejects paths with characters outside ASCII, so it gets a placeholder, which is replaced by the
     * real path when the connection is opened.
     *
     * @param redirection to the real path
     * @param prepare adds handlers to a connection that was not opened yet
     */
    private static NettyChannelBuilder toUnixSocket(Supplier<Redirection> redirection, Consumer<Channel> prepare) {
        return NettyChannelBuilder.forAddress(ANY)
                .channelFactory(
                        () -> {
                            NioDomainSocketChannel channel = new NioDomainSocketChannel();
                            channel.pipeline().addLast(redirection.get());
                            prepare.accept(channel);
                            return channel;
                        },
                        UnixDomainSocketAddress.class)
                // gRPC sets it on every channel, and a unix socket warns about it at each connection. Null removes it.
                .withOption(ChannelOption.SO_KEEPALIVE, null)
                .decompressorRegistry(NOTHING_PACKED)
                // Servers reject the authority that gRPC would derive from a socket's path.
                .overrideAuthority("localhost")
                .usePlaintext();
    }

    private NettyChannelBuilder configured(NettyChannelBuilder builder) {
        return builder.eventLoopGroup(loop())
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .decompressorRegistry(NOTHING_PACKED)
                .intercept(new BoundedMessages())
                .directExecutor()
                .disableRetry();
    }

    private synchronized EventLoopGroup loop() {
        if (closed) {
            // By a call that was given up before it began: a thread started for it would never be ended.
            throw Status.CANCELLED
                    .withCause(new InterruptedException("the transport is closed"))
                    .asRuntimeException();
        }
        EventLoopGroup running = loop;
        if (running == null) {
            running = new QuietEventLoop("grpc");
            loop = running;
        }
        return running;
    }

    /** Ends at once: Netty's default quiet period would delay the end of every command. */
    @Override
    public synchronized void close() {
        closed = true;
        if (loop != null) {
            Future<?> _ = loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
            loop = null;
        }
    }

    /** Connects to another address than it is told, and gives the connection up before a byte is sent where the rule has an objection. */
    private static final class Redirection extends ChannelDuplexHandler {
        private static final ChannelOption<UnixDomainPrincipal> SERVER =
                NioChannelOption.of(ExtendedSocketOptions.SO_PEERCRED);

        private final SocketFinder sockets;
        private final Path socket;
        private final ServerRule rule;
        private final Status refusal;
        private boolean active;
        private boolean trusted;

        /** @param refusal of calls that the rule has an objection to */
        Redirection(SocketFinder sockets, Path socket, ServerRule rule, Status refusal) {
            this.sockets = sockets;
            this.socket = socket;
            this.rule = rule;
            this.refusal = refusal;
        }

        @Override
        public void connect(
                ChannelHandlerContext context, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            CompletableFuture<Found> _ = sockets.find(socket, rule).whenComplete((found, problem) -> {
                try {
                    if (context.executor().inEventLoop()) {
                        connect(context, local, promise, found, problem);
                    } else {
                        context.executor().execute(() -> connect(context, local, promise, found, problem));
                    }
                } catch (RejectedExecutionException e) {
                    // The transport was closed meanwhile.
                    if (found != null) {
                        found.release().run();
                    }
                }
            });
        }

        private void connect(
                ChannelHandlerContext context,
                SocketAddress local,
                ChannelPromise promise,
                @Nullable Found found,
                @Nullable Throwable notFound) {
            if (found == null) {
                ChannelFuture _ = context.close();
                boolean _ = promise.tryFailure(Objects.requireNonNull(notFound));
                return;
            }
            ChannelPromise connected = context.newPromise();
            connected.addListener(done -> {
                found.release().run();
                Throwable problem = done.isSuccess() ? problem(context.channel(), found.judge()) : done.cause();
                if (problem != null) {
                    ChannelFuture _ = context.close();
                    boolean _ = promise.tryFailure(problem);
                    return;
                }
                trusted = true;
                boolean _ = promise.trySuccess();
                if (active) {
                    context.fireChannelActive();
                }
            });
            Future<Void> _ = context.connect(UnixDomainSocketAddress.of(found.path()), local, connected);
        }

        private @Nullable Throwable problem(Channel connection, ServerRule.Judge judge) {
            try {
                UnixDomainPrincipal server = connection.config().getOption(SERVER);
                if (server == null) {
                    return new ClosedChannelException();
                }
                return judge.objection(server.user())
                        .map(refusal::withDescription)
                        .map(Status::asRuntimeException)
                        .orElse(null);
            } catch (RuntimeException e) {
                return e;
            }
        }

        /** Whoever hears of it begins to send. */
        @Override
        public void channelActive(ChannelHandlerContext context) {
            active = true;
            if (trusted) {
                context.fireChannelActive();
            }
        }
    }
}
