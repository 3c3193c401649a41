package io.homeostat.reconcile.agent.metrics;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves {@code /metrics} and {@code /healthz} over HTTP/1, on a TCP port or a unix socket and on nothing else. Whoever connects gets one
 * answer; connections, the time each may take and what it may send are bounded, so that nobody keeps the others out for long.
 */
public final class MetricsServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsServer.class);
    private static final int MOST_CONNECTIONS = 32;
    private static final int LONGEST_FIRST_LINE = 1024;
    private static final int LONGEST_HEADERS = 8192;
    static final Duration PATIENCE = Duration.ofSeconds(10);

    private final EventLoopGroup loop =
            new MultiThreadIoEventLoopGroup(1, new DefaultThreadFactory("metrics", true), NioIoHandler.newFactory());
    private final Supplier<String> metrics;
    private final Supplier<Optional<String>> problem;
    private final Duration patience;
    private @Nullable PrivateSocket socket;
    private @Nullable Channel listening;

    private MetricsServer(Supplier<String> metrics, Supplier<Optional<String>> problem, Duration patience) {
        this.metrics = metrics;
        this.problem = problem;
        this.patience = patience;
    }

    /**
     * Listens, or says in the log why it can't: an agent without metrics is better than none.
     *
     * @param listen {@code HOST:PORT}, {@code unix:/PATH}; empty: nothing is done
     * @param metrics what {@code /metrics} answers; may take a while
     * @param problem why the agent is not well, empty when it is; must answer at once
     */
    public static Optional<MetricsServer> start(
            String listen, Supplier<String> metrics, Supplier<Optional<String>> problem) {
        try {
            Optional<SocketAddress> address = Listen.address(listen);
            return address.isPresent()
                    ? Optional.of(open(address.get(), metrics, problem, PATIENCE))
                    : Optional.empty();
        } catch (IOException | IllegalArgumentException e) {
            LOG.warn(
                    "metrics.listen: cannot listen on {}: {}; the agent goes on without /metrics and /healthz",
                    listen,
                    e.getMessage());
            return Optional.empty();
        }
    }

    static MetricsServer open(
            SocketAddress address, Supplier<String> metrics, Supplier<Optional<String>> problem, Duration patience)
            throws IOException {
        MetricsServer server = new MetricsServer(metrics, problem, patience);
        try {
            server.bind(address);
            return server;
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    private void bind(SocketAddress address) throws IOException {
        Connections connections = new Connections(MOST_CONNECTIONS, patience);
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(loop)
                .option(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .childOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(
                                        connections.one(),
                                        new HttpServerCodec(new HttpDecoderConfig()
                                                .setMaxInitialLineLength(LONGEST_FIRST_LINE)
                                                .setMaxHeaderSize(LONGEST_HEADERS)),
                                        new Answers(metrics, problem));
                    }
                });
        if (address instanceof UnixDomainSocketAddress unix) {
            PrivateSocket place = PrivateSocket.prepare(unix.getPath());
            socket = place;
            listening = bound(bootstrap.channel(NioServerDomainSocketChannel.class), place.address());
            place.publish();
        } else {
            if (address instanceof InetSocketAddress internet && internet.isUnresolved()) {
                throw new IOException("the host is not known");
            }
            listening = bound(
                    bootstrap.channel(NioServerSocketChannel.class).option(ChannelOption.SO_REUSEADDR, true), address);
        }
    }

    private static Channel bound(ServerBootstrap bootstrap, SocketAddress address) throws IOException {
        var binding = bootstrap.bind(address).awaitUninterruptibly();
        if (binding.cause() != null) {
            throw new IOException(binding.cause().getMessage(), binding.cause());
        }
        return binding.channel();
    }

    /** Where it listens; with the port that the kernel chose when it was to choose one. */
    public SocketAddress address() {
        Channel channel = listening;
        if (channel == null) {
            throw new IllegalStateException("not listening");
        }
        return channel.localAddress();
    }

    @Override
    public void close() {
        if (listening != null) {
            listening.close().awaitUninterruptibly(1, TimeUnit.SECONDS);
        }
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).awaitUninterruptibly(1, TimeUnit.SECONDS);
        if (socket != null) {
            try {
                socket.close();
            } catch (IOException e) {
                LOG.warn("the socket of /metrics stays behind: {}", e.getMessage());
            }
        }
    }
}
