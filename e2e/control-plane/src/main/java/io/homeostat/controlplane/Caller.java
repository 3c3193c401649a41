package io.homeostat.controlplane;

import io.grpc.Metadata;

/**
 * Who opened a stream or made a call, by the request metadata; empty is what was not there.
 *
 * @param authentication with the word in front: {@code Bearer ...}
 * @param resource {@code projects/<number>/zones/<zone>/instances/<id>}
 * @param channel such as {@code compute.googleapis.com/google-guest-agent}
 */
public record Caller(String authentication, String resource, String channel) {
    private static final Metadata.Key<String> AUTHENTICATION = key("authentication");
    private static final Metadata.Key<String> RESOURCE = key("agent-communication-resource-id");
    private static final Metadata.Key<String> CHANNEL = key("agent-communication-channel-id");

    static Caller of(Metadata headers) {
        return new Caller(text(headers, AUTHENTICATION), text(headers, RESOURCE), text(headers, CHANNEL));
    }

    /** The identity token; empty when there is none. */
    public String token() {
        return authentication.startsWith("Bearer ") ? authentication.substring("Bearer ".length()) : "";
    }

    private static String text(Metadata headers, Metadata.Key<String> key) {
        String value = headers.get(key);
        return value == null ? "" : value;
    }

    static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }
}
