package io.homeostat.desired.remote;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.base.Splitter;
import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import io.homeostat.desired.remote.HttpGet.Answer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a machine shows to whoever keeps its buckets. What a metadata server gives is kept until shortly before it expires. */
final class BucketCredentials {
    private static final String SETTING = "sources.bucket.credentials";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration RENEWED_BEFORE = Duration.ofMinutes(5);
    private static final Duration LONGEST_KEPT = Duration.ofDays(1);
    private static final String GOOGLE_TOKEN = "instance/service-accounts/default/token";
    private static final String ROLES = "/latest/meta-data/iam/security-credentials/";
    private static final int OK = 200;

    private final Identity identity;
    private final MetadataServer google;
    private final URI amazon;
    private final InstantSource clock;
    private @Nullable Held<String> token;
    private @Nullable Held<Keys> keys;

    /**
     * Keys for requests to S3.
     *
     * @param session goes with keys that are valid for a while; empty for others
     */
    record Keys(String accessKey, String secretKey, String session) {
        /** Without the keys. */
        @Override
        public String toString() {
            return "Keys";
        }
    }

    private record Held<T>(T value, Instant expires) {}

    /** @param amazon the instance metadata service of EC2 */
    BucketCredentials(Identity identity, MetadataServer google, URI amazon, InstantSource clock) {
        this.identity = identity;
        this.google = google;
        this.amazon = amazon;
        this.clock = clock;
    }

    /** A token for Google Cloud Storage; empty when none is to be sent. */
    Optional<String> token() throws FetchFailure, InterruptedException {
        return switch (identity) {
            case Identity.Known.NONE -> Optional.empty();
            case Identity.TokenFile file -> Optional.of(HttpsFetcher.secret(file.file(), SETTING));
            case Identity.Known.METADATA -> {
                Held<String> held = token;
                if (held == null || !isFresh(held)) {
                    held = newToken();
                    token = held;
                }
                yield Optional.of(held.value());
            }
        };
    }

    /** Keys for S3; empty when requests are not to be signed. */
    Optional<Keys> keys() throws FetchFailure, InterruptedException {
        return switch (identity) {
            case Identity.Known.NONE -> Optional.empty();
            case Identity.TokenFile file -> Optional.of(keysOf(file.file()));
            case Identity.Known.METADATA -> {
                Held<Keys> held = keys;
                if (held == null || !isFresh(held)) {
                    held = newKeys();
                    keys = held;
                }
                yield Optional.of(held.value());
            }
        };
    }

    /** They were not accepted; the next ones will be new. */
    void refused() {
        token = null;
        keys = null;
    }

    private boolean isFresh(Held<?> held) {
        return clock.instant().plus(RENEWED_BEFORE).isBefore(held.expires());
    }

    private static Keys keysOf(String file) throws FetchFailure {
        List<String> lines =
                Splitter.on('\n').trimResults().omitEmptyStrings().splitToList(HttpsFetcher.secret(file, SETTING));
        if (lines.size() != 2) {
            throw new FetchFailure(
                    file + " (" + SETTING + ") has to have two lines: the id of the access key, and the key");
        }
        return new Keys(lines.get(0), lines.get(1), "");
    }

    private Held<String> newToken() throws FetchFailure, InterruptedException {
        return switch (google.get(GOOGLE_TOKEN)) {
            case Present(String value) -> {
                JsonNode answer = json(value);
                yield held(
                        text(answer, "access_token"), answer.path("expires_in").asLong());
            }
            case Absent() ->
                throw new FetchFailure("the metadata server gives this instance no token; give it a service account, or"
                        + " set " + SETTING);
            case Unreachable(String reason) -> throw new FetchFailure(reason + "; set " + SETTING);
        };
    }

    /**
     * Keeps a credential for a day at most, whatever the metadata server says.
     *
     * @param validity in seconds
     */
    private <T> Held<T> held(T value, long validity) {
        return new Held<>(value, clock.instant().plusSeconds(Math.clamp(validity, 0, LONGEST_KEPT.toSeconds())));
    }

    private Held<Keys> newKeys() throws FetchFailure, InterruptedException {
        try (HttpClient client = HttpClients.open(null, SETTING)) {
            String session = ask(
                    client,
                    HttpRequest.newBuilder(amazon.resolve("/latest/api/token"))
                            .header("X-aws-ec2-metadata-token-ttl-seconds", "300")
                            .PUT(BodyPublishers.noBody()));
            String role = ask(client, get(ROLES, session)).strip();
            JsonNode answer = json(ask(client, get(ROLES + role, session)));
            return held(
                    new Keys(text(answer, "AccessKeyId"), text(answer, "SecretAccessKey"), text(answer, "Token")),
                    Instant.parse(text(answer, "Expiration")).getEpochSecond()
                            - clock.instant().getEpochSecond());
        } catch (DateTimeException | IllegalArgumentException e) {
            throw new FetchFailure("the metadata service gives no proper keys; set " + SETTING, e);
        } catch (IOException e) {
            throw new FetchFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private HttpRequest.Builder get(String path, String session) {
        return HttpRequest.newBuilder(amazon.resolve(path)).header("X-aws-ec2-metadata-token", session);
    }

    private static String ask(HttpClient client, HttpRequest.Builder request)
            throws FetchFailure, InterruptedException {
        Answer answer = HttpGet.sendForSmall(client, request.build());
        if (answer.status() != OK) {
            throw new FetchFailure("the metadata service answers " + answer.status()
                    + " where it should give keys; give the instance a role, or set " + SETTING);
        }
        return answer.body().toStringUtf8();
    }

    private static JsonNode json(String text) throws FetchFailure {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            // Without the cause: it quotes a secret.
            throw new FetchFailure("the metadata server's answer is not JSON; set " + SETTING);
        }
    }

    private static String text(JsonNode answer, String key) throws FetchFailure {
        String value = answer.path(key).asText();
        if (value.isEmpty()) {
            throw new FetchFailure("the metadata server's answer has no " + key + "; set " + SETTING);
        }
        return value;
    }
}
