package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.net.HostAndPort;
import com.google.common.net.InetAddresses;
import io.homeostat.desired.platform.QuietEventLoop;
import io.homeostat.reconcile.agent.api.ConnectionLimit;
import io.homeostat.reconcile.agent.api.PrivateSocket;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves {@code /metrics} and {@code /healthz} over HTTP/1 on a TCP port or a unix socket. Each connection gets one answer; connections,
 * their time and their input are bounded, so that nobody keeps others out for long.
 */
public final class MetricsServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsServer.class);
    private static final String UNIX = "unix:";
    private static final int MOST_CONNECTIONS = 128;
    private static final int LONGEST_FIRST_LINE = 1024;
    private static final int LONGEST_HEADERS = 8192;
    static final Duration PATIENCE = Duration.ofSeconds(10);

    private final EventLoopGroup loop = new QuietEventLoop("metrics");
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
     * @param listen {@code HOST:PORT}, {@code [IPv6]:PORT} or {@code unix:/PATH}
     * @throws IllegalArgumentException when it is none of these
     */
    static SocketAddress address(String listen) {
        if (listen.startsWith(UNIX)) {
            return UnixDomainSocketAddress.of(listen.substring(UNIX.length()));
        }
        int colon = listen.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException("'" + listen + "' is neither HOST:PORT nor unix:/PATH");
        }
        String host = listen.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        return new InetSocketAddress(host, Integer.parseInt(listen.substring(colon + 1)));
    }

    /**
     * Starts to listen.
     *
     * @param metrics what {@code /metrics} answers; may take a while
     * @param problem why the agent is not well, empty when it is; must answer at once
     */
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
        ConnectionLimit connections = new ConnectionLimit(MOST_CONNECTIONS);
        Scrapes scrapes = new Scrapes(metrics, Ticker.systemTicker());
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(loop)
                .option(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .childOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(
                                        connections.handler(),
                                        new HttpServerCodec(new HttpDecoderConfig()
                                                .setMaxInitialLineLength(LONGEST_FIRST_LINE)
                                                .setMaxHeaderSize(LONGEST_HEADERS)),
                                        new RequestHandler(address, scrapes, problem, patience));
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

    /**
     * A page of somebody else's whose name was made to lead to a browser's own machine (DNS rebinding) calls this server by that name, which
     * is neither an address nor a single label. A server that listens for other machines is called by any name.
     *
     * @param listening where this server listens, with the host as it was written
     * @param host what was asked for: a host, with or without a port
     */
    static boolean isThis(SocketAddress listening, String host) {
        if (!(listening instanceof InetSocketAddress internet)
                || !internet.getAddress().isLoopbackAddress()) {
            return true;
        }
        try {
            String name = HostAndPort.fromString(host).getHost();
            return !name.contains(".")
                    || InetAddresses.isInetAddress(name)
                    || name.equalsIgnoreCase(internet.getHostString());
        } catch (IllegalArgumentException e) {
            return false;
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

    /**
     * Has all who ask at once wait for one text. Who asks soon after gets the same one, for four times as long as it took, so that whoever asks
     * without end takes a fifth of a processor.
     */
    static final class Scrapes {
        private static final int REST = 4;

        private final Supplier<String> metrics;
        private final Ticker ticker;
        private @Nullable CompletableFuture<byte[]> latest;
        private long freshUntil;

        Scrapes(Supplier<String> metrics, Ticker ticker) {
            this.metrics = metrics;
            this.ticker = ticker;
        }

        synchronized CompletableFuture<byte[]> scrape() {
            CompletableFuture<byte[]> known = latest;
            if (known != null && (!known.isDone() || ticker.read() - freshUntil < 0)) {
                return known;
            }
            CompletableFuture<byte[]> begun = new CompletableFuture<>();
            latest = begun;
            Thread.startVirtualThread(() -> scrape(begun));
            return begun;
        }

        private void scrape(CompletableFuture<byte[]> begun) {
            long begin = ticker.read();
            try {
                byte[] text = metrics.get().getBytes(StandardCharsets.UTF_8);
                long end = ticker.read();
                synchronized (this) {
                    freshUntil = end + REST * (end - begin);
                }
                begun.complete(text);
            } catch (RuntimeException | Error e) {
                synchronized (this) {
                    freshUntil = ticker.read();
                }
                begun.completeExceptionally(e);
            }
        }
    }

    /** Answers the first request of a connection and ends it; bounds how long it lasts, from its first byte to its last. */
    private static final class RequestHandler extends SimpleChannelInboundHandler<HttpObject> {
        private static final String TEXT = "text/plain; charset=utf-8";

        /** The text format that every version of Prometheus reads. */
        private static final String EXPOSITION = "text/plain; version=0.0.4; charset=utf-8";

        private final SocketAddress listening;
        private final Scrapes scrapes;
        private final Supplier<Optional<String>> problem;
        private final Duration patience;
        private @Nullable Future<?> end;
        private boolean answered;

        RequestHandler(
                SocketAddress listening, Scrapes scrapes, Supplier<Optional<String>> problem, Duration patience) {
            this.listening = listening;
            this.scrapes = scrapes;
            this.problem = problem;
            this.patience = patience;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
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
            if (end != null) {
                end.cancel(false);
            }
            context.fireChannelInactive();
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
            if (answered || !(part instanceof HttpRequest request)) {
                return;
            }
            answered = true;
            boolean head = request.method().equals(HttpMethod.HEAD);
            if (request.decoderResult().isFailure()) {
                answer(context, HttpResponseStatus.BAD_REQUEST, TEXT, "not a request that is understood here\n", false);
            } else if (!isThis(listening, request.headers().get(HttpHeaderNames.HOST, ""))) {
                answer(
                        context,
                        HttpResponseStatus.MISDIRECTED_REQUEST,
                        TEXT,
                        "this is no server of that name: ask for it by address or as localhost, or write the name into"
                                + " metrics.listen\n",
                        head);
            } else if (!head && !request.method().equals(HttpMethod.GET)) {
                answer(context, HttpResponseStatus.METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD\n", false);
            } else {
                answer(context, path(request.uri()), head);
            }
        }

        private void answer(ChannelHandlerContext context, String path, boolean head) {
            switch (path) {
                // On the event loop: it must answer also when nothing else does.
                case "/healthz" -> {
                    Optional<String> why = problem.get();
                    answer(
                            context,
                            why.isEmpty() ? HttpResponseStatus.OK : HttpResponseStatus.SERVICE_UNAVAILABLE,
                            TEXT,
                            why.map(LogLines::escaped).orElse("ok") + "\n",
                            head);
                }
                case "/metrics" -> {
                    var _ = scrapes.scrape()
                            .whenCompleteAsync(
                                    (text, failure) -> answer(context, text, failure, head), context.executor());
                }
                default ->
                    answer(context, HttpResponseStatus.NOT_FOUND, TEXT, "here are /metrics and /healthz\n", head);
            }
        }

        private static void answer(
                ChannelHandlerContext context, byte @Nullable [] metrics, @Nullable Throwable failure, boolean head) {
            if (metrics == null) {
                LOG.warn("/metrics could not be answered", failure);
                answer(context, HttpResponseStatus.INTERNAL_SERVER_ERROR, TEXT, "see the agent's log\n", head);
            } else {
                answer(context, HttpResponseStatus.OK, EXPOSITION, metrics, head);
            }
        }

        private static void answer(
                ChannelHandlerContext context, HttpResponseStatus status, String type, String text, boolean head) {
            answer(context, status, type, text.getBytes(StandardCharsets.UTF_8), head);
        }

        private static void answer(
                ChannelHandlerContext context, HttpResponseStatus status, String type, byte[] text, boolean head) {
            int length = text.length;
            ByteBuf body = Unpooled.wrappedBuffer(text, 0, head ? 0 : length);
            DefaultFullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, body);
            response.headers()
                    .set(HttpHeaderNames.CONTENT_TYPE, type)
                    .set(HttpHeaderNames.CONTENT_LENGTH, length)
                    .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            if (status.equals(HttpResponseStatus.METHOD_NOT_ALLOWED)) {
                response.headers().set(HttpHeaderNames.ALLOW, "GET, HEAD");
            }
            ChannelFuture _ = context.writeAndFlush(response).addListener(ChannelFutureListener.CLOSE);
        }

        private static String path(String uri) {
            int query = uri.indexOf('?');
            return query < 0 ? uri : uri.substring(0, query);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            // Whoever connected has gone, or sent what is no HTTP: their affair.
            LOG.debug("a connection to /metrics broke", cause);
            ChannelFuture _ = context.close();
        }
    }

    /** Where {@code /metrics} and {@code /healthz} are served, as the configuration of the moment has it. One thread changes it. */
    public static final class MetricsEndpoint implements AutoCloseable {
        private final Telemetry telemetry;
        private volatile String listen = "";
        private volatile String problem = "";
        private volatile @Nullable MetricsServer server;

        public MetricsEndpoint(Telemetry telemetry) {
            this.telemetry = telemetry;
        }

        /**
         * Listens there and nowhere else from now on; open connections are kept if the address stays the same. An agent without metrics is
         * better than none: what can't be done is a {@link #problem}.
         *
         * @param wanted {@code HOST:PORT}, {@code [IPv6]:PORT} or {@code unix:/PATH}; empty: nowhere
         */
        public void listen(String wanted) {
            if (server != null && wanted.equals(listen)) {
                return;
            }
            close();
            listen = wanted;
            problem = "";
            ensure();
        }

        /** Tries again to listen where that has failed. The log says why, and that it succeeded, once. */
        public void ensure() {
            if (server != null || listen.isEmpty()) {
                return;
            }
            String before = problem;
            try {
                server = open(
                        MetricsServer.address(listen),
                        telemetry.metrics()::scrape,
                        telemetry.watch()::problem,
                        PATIENCE);
                problem = "";
                if (!before.isEmpty()) {
                    LOG.info("metrics.listen: /metrics and /healthz are served at {} now", listen);
                }
            } catch (IOException | IllegalArgumentException e) {
                problem = "nothing is served at " + listen + ": " + e.getMessage();
                if (!problem.equals(before)) {
                    LOG.warn("metrics.listen: {}; it is tried again, and the agent goes on meanwhile", problem);
                }
            }
        }

        /** What was wanted last; empty: nothing. */
        public String wanted() {
            return listen;
        }

        /** Why nothing is served where it was wanted last; empty when it is, or nothing was wanted. */
        public String problem() {
            return problem;
        }

        @Override
        public void close() {
            MetricsServer before = server;
            if (before != null) {
                before.close();
                server = null;
            }
        }
    }
}
