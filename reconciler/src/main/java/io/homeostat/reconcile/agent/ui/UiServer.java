package io.homeostat.reconcile.agent.ui;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableSet;
import com.google.common.net.HostAndPort;
import com.google.common.net.InetAddresses;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.QuietEventLoop;
import io.homeostat.reconcile.agent.api.ConnectionLimit;
import io.homeostat.reconcile.agent.ui.RequestHandler.Services;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Serves the page over HTTP/1 on a loopback address, to whoever has the token. Each connection gets one answer; connections, what they may
 * send, and what is done for them at once are bounded.
 */
final class UiServer implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final int MOST_CONNECTIONS = 128;
    private static final int MOST_COMMANDS = 8;
    private static final int MOST_FLEETS = 4;

    /** Of ten thousand machines each is a second of work, and takes tens of megabytes of an agent that has few of them. */
    private static final int FLEETS_AT_ONCE = 1;

    private static final int MOST_STREAMS = 24;
    private static final int LONGEST_FIRST_LINE = 1024;
    private static final int LONGEST_HEADERS = 8192;
    private static final int LONGEST_BODY = 8192;

    private final EventLoopGroup loop = new QuietEventLoop("ui");
    private final Places places = new Places(MOST_COMMANDS, MOST_FLEETS, FLEETS_AT_ONCE, MOST_STREAMS);
    private final ConnectionLimit connections = new ConnectionLimit(MOST_CONNECTIONS);
    private final Sessions sessions;
    private final Duration patience;
    private final String host;
    private @Nullable Channel listening;

    private UiServer(String host, Ticker ticker, Duration patience) {
        this.host = host;
        this.sessions = new Sessions(ticker);
        this.patience = patience;
    }

    /**
     * @param loggedIn called at each login, when {@link #url} has become another one; may not take long
     * @throws IOException when it can't listen there, or others than this machine could connect
     */
    static UiServer open(
            AgentConfig.Ui config, CommandRunner commands, Ticker ticker, Duration patience, Runnable loggedIn)
            throws IOException {
        HostAndPort wanted = HostAndPort.fromString(config.listen());
        InetSocketAddress address = new InetSocketAddress(wanted.getHost(), wanted.getPort());
        if (address.isUnresolved() || !address.getAddress().isLoopbackAddress()) {
            throw new IOException(wanted.getHost() + " is no loopback address here");
        }
        UiServer server = new UiServer(wanted.getHost(), ticker, patience);
        try {
            server.bind(address, commands, config, loggedIn);
            return server;
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    private void bind(InetSocketAddress address, CommandRunner commands, AgentConfig.Ui config, Runnable loggedIn)
            throws IOException {
        Services services = new Services(
                ImmutableSet.of(host, "127.0.0.1", "localhost", "::1").asList(),
                config,
                sessions,
                loggedIn,
                new PageFiles(),
                commands,
                places,
                connections,
                patience);
        ChannelFuture binding = new ServerBootstrap()
                .group(loop)
                .channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_REUSEADDR, true)
                .option(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .childOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        accept(channel, services);
                    }
                })
                .bind(address)
                .awaitUninterruptibly();
        if (binding.cause() != null) {
            throw new IOException(binding.cause().getMessage(), binding.cause());
        }
        listening = binding.channel();
    }

    private void accept(SocketChannel channel, Services services) {
        RequestHandler handler = new RequestHandler(services);
        channel.pipeline()
                .addLast(
                        connections.handler(),
                        new HttpServerCodec(new HttpDecoderConfig()
                                .setMaxInitialLineLength(LONGEST_FIRST_LINE)
                                .setMaxHeaderSize(LONGEST_HEADERS)),
                        new HttpObjectAggregator(LONGEST_BODY) {
                            @Override
                            protected void handleOversizedMessage(ChannelHandlerContext context, HttpMessage message) {
                                handler.refuseLength(context);
                            }
                        },
                        handler);
    }

    /**
     * Where it is, with the token that opens the next session behind a {@code #}: no browser sends that on. By number: a name may also be
     * that of an address at which somebody else listens, who would be shown the token.
     */
    String url() {
        String address = InetAddresses.toAddrString(address().getAddress());
        return "http://" + HostAndPort.fromParts(address, port()) + "/#token=" + sessions.token();
    }

    int port() {
        return address().getPort();
    }

    private InetSocketAddress address() {
        Channel channel = listening;
        if (channel == null) {
            throw new IllegalStateException("not listening");
        }
        return (InetSocketAddress) channel.localAddress();
    }

    @Override
    public void close() {
        if (listening != null) {
            listening.close().awaitUninterruptibly(1, TimeUnit.SECONDS);
        }
        places.close();
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).awaitUninterruptibly(1, TimeUnit.SECONDS);
    }
}
