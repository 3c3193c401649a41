package io.homeostat.reconcile.agent.ui;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.ByteString;
import io.homeostat.reconcile.command.output.Json;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.ByteBuffer;

/**
 * What a request gets.
 *
 * @param headers beside those that every answer has
 */
record Answer(HttpResponseStatus status, String type, ByteString body, ImmutableMap<String, String> headers) {
    private static final String JSON = "application/json";
    private static final String EVENT_STREAM = "text/event-stream";

    /**
     * Nothing but what this server serves is loaded, by whatever stands in the page; no other page shows this one in a frame or learns its
     * address; nothing is taken for another type than it has, or kept by the browser.
     */
    private static final ImmutableMap<String, String> OF_ALL = ImmutableMap.of(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
                    + " frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            "X-Frame-Options",
            "DENY",
            "X-Content-Type-Options",
            "nosniff",
            "Referrer-Policy",
            "no-referrer",
            "Cross-Origin-Opener-Policy",
            "same-origin",
            "Cross-Origin-Resource-Policy",
            "same-origin",
            "Cache-Control",
            "no-store");

    static Answer of(JsonNode json) {
        return of(HttpResponseStatus.OK, json);
    }

    static Answer of(HttpResponseStatus status, JsonNode json) {
        return json(status, ByteString.copyFromUtf8(json.toString()));
    }

    static Answer json(HttpResponseStatus status, ByteString json) {
        return new Answer(status, JSON, json, ImmutableMap.of());
    }

    /** @param why for people */
    static Answer refusal(HttpResponseStatus status, String why) {
        return of(status, Json.object().put("error", why));
    }

    static Answer file(String type, byte[] content) {
        return new Answer(HttpResponseStatus.OK, type, ByteString.copyFrom(content), ImmutableMap.of());
    }

    Answer with(String header, String value) {
        return new Answer(
                status,
                type,
                body,
                ImmutableMap.<String, String>builder()
                        .putAll(headers)
                        .put(header, value)
                        .buildOrThrow());
    }

    /** @param head whether only its headers were asked for */
    FullHttpResponse response(boolean head) {
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1,
                status,
                head
                        ? Unpooled.EMPTY_BUFFER
                        : Unpooled.wrappedBuffer(body.asReadOnlyByteBufferList().toArray(ByteBuffer[]::new)));
        response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.size());
        complete(response, type);
        headers.forEach(response.headers()::set);
        return response;
    }

    /** The head of an answer that goes on until it ends, or its reader does. */
    static HttpResponse stream() {
        HttpResponse response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
        complete(response, EVENT_STREAM);
        return response;
    }

    private static void complete(HttpResponse response, String type) {
        OF_ALL.forEach(response.headers()::set);
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    }
}
