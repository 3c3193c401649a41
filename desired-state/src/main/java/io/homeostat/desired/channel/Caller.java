package io.homeostat.desired.channel;

import io.grpc.Metadata;
import java.io.IOException;

/** Who the agent says it is, in the request metadata of each call. */
final class Caller {
    /** Not "authorization". */
    private static final Metadata.Key<String> AUTHENTICATION = key("authentication");

    private static final Metadata.Key<String> RESOURCE = key("agent-communication-resource-id");
    private static final Metadata.Key<String> CHANNEL = key("agent-communication-channel-id");

    private final String channel;
    private final ResourceId resource;
    private final Credential credential;

    Caller(String channel, ResourceId resource, Credential credential) {
        this.channel = channel;
        this.resource = resource;
        this.credential = credential;
    }

    /**
     * What one call says.
     *
     * @param token empty: none
     */
    record Words(String channel, String resource, String token) {
        Metadata headers() {
            Metadata headers = new Metadata();
            if (!token.isEmpty()) {
                headers.put(AUTHENTICATION, "Bearer " + token);
            }
            headers.put(RESOURCE, resource);
            headers.put(CHANNEL, channel);
            return headers;
        }

        /** Without the token. */
        @Override
        public String toString() {
            return resource + " on " + channel;
        }
    }

    /** @throws IOException when it is not known now, why, and what to do */
    Words words() throws IOException, InterruptedException {
        return new Words(channel, resource.get(), credential.token());
    }

    /** The token was not accepted. */
    void refused() {
        credential.refused();
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }
}
