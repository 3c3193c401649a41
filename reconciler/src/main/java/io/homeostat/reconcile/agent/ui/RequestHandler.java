package io.homeostat.reconcile.agent.ui;

import com.google.common.net.HostAndPort;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.agent.api.ConnectionLimit;
import io.homeostat.reconcile.agent.ui.Sessions.Session;
import io.homeostat.reconcile.command.output.Json;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.codec.http.cookie.Cookie;
import io.netty.handler.codec.http.cookie.ServerCookieDecoder;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.handler.timeout.IdleStateHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers the first request of a connection and ends it. */
final class RequestHandler extends SimpleChannelInboundHandler<FullHttpRequest> {
    /** With the key of the session: no other origin can send it without being asked whether it may. */
    static final String KEY = "Homeostat-Key";

    private static final Logger LOG = LoggerFactory.getLogger(RequestHandler.class);

    private final Services services;
    private @Nullable Future<?> deadline;
    private @Nullable Thread work;
    private @Nullable SlowReader reader;
    private boolean answered;

    /**
     * What all connections share.
     *
     * @param hosts by which names this server may be called
     * @param loggedIn called when a token was used up, and there is another one
     * @param patience with whoever sends or reads slowly
     */
    record Services(
            List<String> hosts,
            AgentConfig.Ui config,
            Sessions sessions,
            Runnable loggedIn,
            PageFiles files,
            CommandRunner commands,
            Places places,
            ConnectionLimit connections,
            Duration patience) {}

    RequestHandler(Services services) {
        this.services = services;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        closeLater(context);
        context.fireChannelActive();
    }

    private void closeLater(ChannelHandlerContext context) {
        deadline = context.executor()
                .schedule(
                        () -> {
                            ChannelFuture _ = context.close();
                        },
                        services.patience().toMillis(),
                        TimeUnit.MILLISECONDS);
    }

    private void waitForAsLongAsItTakes() {
        if (deadline != null) {
            deadline.cancel(false);
        }
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
        if (answered) {
            return;
        }
        answered = true;
        Optional<Answer> refusal = request.decoderResult().isFailure()
                ? Optional.of(Answer.refusal(HttpResponseStatus.BAD_REQUEST, "not a request that is understood here"))
                : misdirected(context.channel(), request.headers());
        if (refusal.isPresent()) {
            send(context, refusal.get(), false);
            return;
        }
        QueryStringDecoder uri = new QueryStringDecoder(request.uri());
        if (request.uri().startsWith("/api/") || request.uri().equals("/login")) {
            refused(uri.rawPath(), context.channel(), request)
                    .ifPresentOrElse(answer -> send(context, answer, false), () -> {
                        if (!uri.rawPath().equals("/login")) {
                            services.connections().serving(context.channel());
                        }
                        answer(context, uri.rawPath(), uri, request);
                    });
        } else {
            boolean head = request.method().equals(HttpMethod.HEAD);
            send(
                    context,
                    head || request.method().equals(HttpMethod.GET)
                            ? services.files()
                                    .at(uri.rawPath())
                                    .orElseGet(() -> Answer.refusal(HttpResponseStatus.NOT_FOUND, "no such page"))
                            : Answer.refusal(HttpResponseStatus.METHOD_NOT_ALLOWED, "only GET and HEAD"),
                    head);
        }
    }

    /** A page of somebody else's whose name was made to lead here (DNS rebinding) calls this server by that name. */
    private Optional<Answer> misdirected(Channel channel, HttpHeaders headers) {
        List<String> hosts = headers.getAll(HttpHeaderNames.HOST);
        int port = ((InetSocketAddress) channel.localAddress()).getPort();
        return hosts.size() == 1 && isThis(services.hosts(), hosts.getFirst(), port)
                ? Optional.empty()
                : Optional.of(Answer.refusal(
                        HttpResponseStatus.MISDIRECTED_REQUEST,
                        "this is no server of that name; write http://127.0.0.1:" + port
                                + "/, also for the near end of a tunnel"));
    }

    /** Whether a Host names this server; no browser writes the port of http into it. */
    static boolean isThis(List<String> names, String host, int port) {
        return names.stream()
                .map(name -> HostAndPort.fromParts(name, port).toString())
                .anyMatch(own -> own.equalsIgnoreCase(host)
                        || (port == HttpScheme.HTTP.port() && own.equalsIgnoreCase(host + ":" + port)));
    }

    /** What is not from the page itself, or from nobody who has shown the token. */
    private Optional<Answer> refused(String path, Channel channel, FullHttpRequest request) {
        HttpHeaders headers = request.headers();
        boolean login = path.equals("/login");
        boolean post = request.method().equals(HttpMethod.POST);
        String site = headers.get("Sec-Fetch-Site", "same-origin");
        String self = "http://" + headers.get(HttpHeaderNames.HOST);
        String origin = headers.get(HttpHeaderNames.ORIGIN, post ? "" : self);
        if (!site.equals("same-origin") || !origin.equalsIgnoreCase(self)) {
            return Optional.of(Answer.refusal(HttpResponseStatus.FORBIDDEN, "only this page itself may ask for this"));
        }
        boolean changes = login || path.equals("/api/operations");
        if (changes != post || !(post || request.method().equals(HttpMethod.GET))) {
            return Optional.of(
                    Answer.refusal(HttpResponseStatus.METHOD_NOT_ALLOWED, changes ? "only POST" : "only GET"));
        }
        if (post && !headers.get(HttpHeaderNames.CONTENT_TYPE, "").equals("application/json")) {
            return Optional.of(Answer.refusal(HttpResponseStatus.UNSUPPORTED_MEDIA_TYPE, "only application/json"));
        }
        if (login || services.sessions().isOpen(cookie(channel, headers), headers.get(KEY, ""))) {
            return Optional.empty();
        }
        return Optional.of(Answer.refusal(
                HttpResponseStatus.UNAUTHORIZED, "not logged in; open the address that homeostat ui prints"));
    }

    /** Of this port: cookies do not know ports, and there may be another agent at another one. */
    private static String cookieName(Channel channel) {
        return "homeostat-" + ((InetSocketAddress) channel.localAddress()).getPort();
    }

    private static String cookie(Channel channel, HttpHeaders headers) {
        return ServerCookieDecoder.STRICT.decode(headers.get(HttpHeaderNames.COOKIE, "")).stream()
                .filter(cookie -> cookie.name().equals(cookieName(channel)))
                .map(Cookie::value)
                .findFirst()
                .orElse("");
    }

    private void answer(ChannelHandlerContext context, String path, QueryStringDecoder uri, FullHttpRequest request) {
        Map<String, List<String>> query;
        try {
            query = uri.parameters();
        } catch (IllegalArgumentException e) {
            send(
                    context,
                    Answer.refusal(
                            HttpResponseStatus.BAD_REQUEST,
                            "what stands behind the ? is not percent-encoded, where % is %25: " + e.getMessage()),
                    false);
            return;
        }
        Optional<CommandRequest> look = Queries.look(path, query);
        Optional<CommandRequest> follow = Queries.follow(path, query);
        if (path.equals("/login")) {
            send(context, login(context.channel(), request), false);
        } else if (path.equals("/api/session")) {
            send(
                    context,
                    Answer.of(Json.object()
                            .put("operations", services.config().operations())
                            .put("fleet", services.config().fleet())),
                    false);
        } else if (path.equals("/api/operations")) {
            operate(context, request);
        } else if (path.equals("/api/fleet")) {
            lookAtFleet(context);
        } else if (look.isPresent()) {
            run(context, services.places().commands(), look.get());
        } else if (follow.isPresent()) {
            follow(context, follow.get());
        } else {
            send(context, Answer.refusal(HttpResponseStatus.NOT_FOUND, "no such page"), false);
        }
    }

    private Answer login(Channel channel, FullHttpRequest request) {
        Optional<Session> session = services.sessions().login(Queries.token(text(request)));
        if (session.isEmpty()) {
            return Answer.refusal(
                    HttpResponseStatus.UNAUTHORIZED,
                    "that token is used up, or not of this agent; open the address that homeostat ui prints");
        }
        services.loggedIn().run();
        return Answer.of(Json.object().put("key", session.get().key()))
                .with(
                        "Set-Cookie",
                        cookieName(channel) + "=" + session.get().cookie() + "; Path=/; HttpOnly; SameSite=Strict");
    }

    private void operate(ChannelHandlerContext context, FullHttpRequest request) {
        if (!services.config().operations()) {
            send(
                    context,
                    Answer.refusal(
                            HttpResponseStatus.FORBIDDEN,
                            "this page only shows; with ui: {operations: true} in agent.yaml it does more"),
                    false);
            return;
        }
        Queries.operation(text(request))
                .ifPresentOrElse(
                        command -> run(context, services.places().commands(), command),
                        () -> send(
                                context,
                                Answer.refusal(
                                        HttpResponseStatus.BAD_REQUEST,
                                        "neither pause, resume, restart nor rollback of a workload"),
                                false));
    }

    private static String text(FullHttpRequest request) {
        return request.content().toString(StandardCharsets.UTF_8);
    }

    /** Has places of its own: what waits for a store that does not answer takes none from what this machine can say. */
    private void lookAtFleet(ChannelHandlerContext context) {
        if (services.config().fleet()) {
            run(context, services.places().fleets(), Queries.fleet());
        } else {
            send(
                    context,
                    Answer.refusal(
                            HttpResponseStatus.FORBIDDEN,
                            "this page shows no fleet; with ui: {fleet: true} in agent.yaml it does"),
                    false);
        }
    }

    private void run(ChannelHandlerContext context, Places.Kind places, CommandRequest command) {
        begin(context, places, () -> {
            Result result = new Result();
            int status = places.inTurn(() -> services.commands().run(command, result.out(), result.err()));
            Answer answer = result.answer(status);
            context.executor().execute(() -> send(context, answer, false));
        });
    }

    private void follow(ChannelHandlerContext context, CommandRequest command) {
        SlowReader slow = new SlowReader(context.channel(), services.patience());
        reader = slow;
        begin(context, services.places().streams(), () -> {
            ChannelFuture _ = context.channel().writeAndFlush(Answer.stream());
            int status = services.commands().run(command, new EventStream(slow, ""), new EventStream(slow, "note"));
            slow.write(("event: end\ndata: " + status + "\n\n").getBytes(StandardCharsets.UTF_8));
            ChannelFuture _ = context.close();
        });
    }

    private interface Work {
        void run() throws InterruptedException, IOException;
    }

    private void begin(ChannelHandlerContext context, Places.Kind places, Work command) {
        Optional<Thread> begun = places.begin(() -> {
            try {
                command.run();
            } catch (InterruptedException | IOException e) {
                LOG.debug("whoever asked has gone, or the agent ends", e);
                ChannelFuture _ = context.close();
            } catch (RuntimeException | Error e) {
                LOG.error("a request of the page could not be answered", e);
                context.executor()
                        .execute(() -> send(
                                context,
                                Answer.refusal(HttpResponseStatus.INTERNAL_SERVER_ERROR, "see the agent's log"),
                                false));
            }
        });
        if (begun.isEmpty()) {
            send(
                    context,
                    Answer.refusal(
                            HttpResponseStatus.SERVICE_UNAVAILABLE,
                            "as much is being answered as there may be at once; close other windows with this page"),
                    false);
            return;
        }
        waitForAsLongAsItTakes();
        work = begun.get();
    }

    private void send(ChannelHandlerContext context, Answer answer, boolean head) {
        answered = true;
        waitForAsLongAsItTakes();
        closeUnlessRead(context);
        ChannelFuture _ = context.writeAndFlush(answer.response(head)).addListener(ChannelFutureListener.CLOSE);
    }

    /** However long it takes in all: through a slow tunnel a long answer takes minutes. */
    private void closeUnlessRead(ChannelHandlerContext context) {
        long patience = services.patience().toMillis();
        context.pipeline().addFirst(new IdleStateHandler(true, 0, patience, 0, TimeUnit.MILLISECONDS) {
            @Override
            protected void channelIdle(ChannelHandlerContext idle, IdleStateEvent event) {
                // At the first one it has only noted how much is left.
                if (!event.isFirst()) {
                    ChannelFuture _ = idle.close();
                }
            }
        });
    }

    /** Too much of it was sent. */
    void refuseLength(ChannelHandlerContext context) {
        send(
                context,
                Answer.refusal(HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE, "nobody has that much to say here"),
                false);
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        if (reader != null) {
            reader.moved();
        }
        context.fireChannelWritabilityChanged();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        waitForAsLongAsItTakes();
        if (work != null) {
            work.interrupt();
        }
        if (reader != null) {
            reader.moved();
        }
        context.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        // Whoever connected has gone, or sent what is no HTTP: their affair.
        LOG.debug("a connection to the page broke", cause);
        ChannelFuture _ = context.close();
    }
}
