package io.homeostat.desired.channel;

import io.grpc.Metadata;
import io.homeostat.desired.model.AgentConfig.ControlPlane;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.platform.IdentityToken;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Who the agent says it is, and how it proves it: channel, resource and token in the request metadata of each call. */
final class CallerIdentity {
    private static final Logger LOG = LoggerFactory.getLogger(CallerIdentity.class);

    /** Not "authorization". */
    private static final Metadata.Key<String> AUTHENTICATION = key("authentication");

    private static final Metadata.Key<String> RESOURCE = key("agent-communication-resource-id");
    private static final Metadata.Key<String> CHANNEL = key("agent-communication-channel-id");

    /** The audience of the metadata server's tokens. */
    private static final String AUDIENCE = "agentcommunication.googleapis.com";

    /** Longer than any token; a larger file holds something else. */
    private static final int MAX_TOKEN_BYTES = 64 * 1024;

    private final String channel;
    private final Identity identity;
    private final MetadataClient metadata;
    private final String claimed;
    private final IdentityToken token;
    private @Nullable String resource;
    private boolean cloneReported;

    /**
     * @param claimed the metadata server's id of the instance whose state is used, empty if it has none: unless the resource is
     *     configured, nothing is said on behalf of another instance
     */
    CallerIdentity(ControlPlane config, MetadataClient metadata, String claimed, InstantSource clock) {
        this.channel = config.channel();
        this.identity = config.identity();
        this.resource = config.resource();
        this.metadata = metadata;
        this.claimed = claimed;
        this.token = new IdentityToken(() -> metadata.identityToken(AUDIENCE), clock);
    }

    /** What one call says; the token is empty if none is configured. */
    record Credentials(String channel, String resource, String token) {
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

    /** @throws IOException if something is not known now: what, why, and what to do. Never contains a token */
    Credentials credentials() throws IOException, InterruptedException {
        return new Credentials(channel, resource(), token());
    }

    /** The last token was not accepted; the next one will be new. */
    void refused() {
        token.refused();
    }

    /** {@code projects/NUMBER/zones/ZONE/instances/ID}. */
    private synchronized String resource() throws IOException, InterruptedException {
        String known = resource;
        if (known == null) {
            String zone = ask(MetadataServer.ZONE);
            known = "projects/" + ask(MetadataServer.NUMERIC_PROJECT) + "/zones/"
                    + zone.substring(zone.lastIndexOf('/') + 1) + "/instances/" + instance();
            resource = known;
        }
        return known;
    }

    /** A clone that did not know that it is one when it claimed the state would report the events of its source. */
    private String instance() throws IOException, InterruptedException {
        String instance = ask(MetadataServer.INSTANCE_ID);
        if (claimed.isEmpty() || claimed.equals(instance)) {
            return instance;
        }
        String message = "this is instance " + instance + ", and the state it goes by is that of instance " + claimed
                + ", of which it is a clone; the control plane is told nothing. Restart the machine: after its next boot"
                + " the agent begins with no state";
        if (!cloneReported) {
            LOG.error("{}", message);
            cloneReported = true;
        }
        throw new IOException(message);
    }

    private String ask(String path) throws IOException, InterruptedException {
        return switch (metadata.get(path)) {
            case Present(String value) when value.strip().matches("[A-Za-z0-9_./:-]{1,200}") -> value.strip();
            case Present _, Absent _ ->
                throw new IOException("the metadata server has no usable " + path
                        + "; set sources.controlPlane.resource in agent.yaml");
            case Unreachable(String reason) ->
                throw new IOException(
                        reason + "; where there is none, set sources.controlPlane.resource in agent.yaml");
        };
    }

    private String token() throws IOException, InterruptedException {
        return switch (identity) {
            case Identity.Known.NONE -> "";
            case Identity.Known.METADATA -> checked(token.get(), "the metadata server's answer");
            // Read each time, so that whoever renews it need not tell us.
            case Identity.TokenFile(String file) -> checked(read(Path.of(file)), file);
        };
    }

    private static String read(Path file) throws IOException {
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_TOKEN_BYTES + 1);
        } catch (IOException e) {
            throw new IOException(
                    "could not read the identity token in " + file + " (sources.controlPlane.identity): " + e, e);
        }
        return bytes.length > MAX_TOKEN_BYTES ? "" : new String(bytes, StandardCharsets.UTF_8).strip();
    }

    private static String checked(String token, String where) throws IOException {
        if (token.isEmpty() || !token.chars().allMatch(c -> c > ' ' && c <= '~')) {
            throw new IOException(where + " is not an identity token: one line of visible ASCII is wanted");
        }
        return token;
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }
}
