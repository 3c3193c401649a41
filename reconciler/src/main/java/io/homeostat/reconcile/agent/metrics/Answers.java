package io.homeostat.reconcile.agent.metrics;

import io.homeostat.reconcile.agent.log.LogText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers the first request of a connection and ends it. */
final class Answers extends SimpleChannelInboundHandler<HttpObject> {
    private static final Logger LOG = LoggerFactory.getLogger(Answers.class);
    private static final String TEXT = "text/plain; charset=utf-8";

    /** The text format that every version of Prometheus reads. */
    private static final String EXPOSITION = "text/plain; version=0.0.4; charset=utf-8";

    private final Supplier<String> metrics;
    private final Supplier<Optional<String>> problem;
    private boolean answered;

    Answers(Supplier<String> metrics, Supplier<Optional<String>> problem) {
        this.metrics = metrics;
        this.problem = problem;
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
                        why.map(LogText::escaped).orElse("ok") + "\n",
                        head);
            }
            case "/metrics" -> Thread.startVirtualThread(() -> scrape(context, head));
            default -> answer(context, HttpResponseStatus.NOT_FOUND, TEXT, "here are /metrics and /healthz\n", head);
        }
    }

    private void scrape(ChannelHandlerContext context, boolean head) {
        try {
            answer(context, HttpResponseStatus.OK, EXPOSITION, metrics.get(), head);
        } catch (RuntimeException e) {
            LOG.warn("/metrics could not be answered", e);
            answer(context, HttpResponseStatus.INTERNAL_SERVER_ERROR, TEXT, "see the agent's log\n", head);
        }
    }

    private static void answer(
            ChannelHandlerContext context, HttpResponseStatus status, String type, String text, boolean head) {
        ByteBuf body = Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
        int length = body.readableBytes();
        if (head) {
            body.clear();
        }
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
