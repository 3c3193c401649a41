package io.homeostat.desired.platform;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.base.Splitter;
import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An identity token of the metadata server, renewed before it expires; if that fails, the old one is used while it is valid. Its expiry
 * is read from the token, which only its audience can verify.
 */
public final class IdentityToken {
    private static final Logger LOG = LoggerFactory.getLogger(IdentityToken.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration RENEWED_BEFORE = Duration.ofMinutes(10);
    private static final int PARTS = 3;

    private final Source source;
    private final InstantSource clock;
    private @Nullable Held held;

    /** Issues tokens, a new one each time. */
    @FunctionalInterface
    public interface Source {
        Answer fetch() throws InterruptedException;
    }

    private record Held(String token, Instant expires) {}

    public IdentityToken(Source source, InstantSource clock) {
        this.source = source;
        this.clock = clock;
    }

    /**
     * A token that is valid now.
     *
     * @throws IOException if there is none; the message says what to do
     */
    public synchronized String get() throws IOException, InterruptedException {
        Instant now = clock.instant();
        Held old = held;
        if (old != null && now.plus(RENEWED_BEFORE).isBefore(old.expires)) {
            return old.token;
        }
        String problem;
        switch (source.fetch()) {
            case Present(String value) -> {
                String token = value.strip();
                held = new Held(token, expiry(token));
                return token;
            }
            case Absent() ->
                problem = "the metadata server gives this instance no identity token; give it a service account";
            case Unreachable(String reason) -> problem = reason;
        }
        if (old == null || !now.isBefore(old.expires)) {
            throw new IOException(problem);
        }
        LOG.warn("The identity token could not be renewed and is used until {}: {}", old.expires, problem);
        return old.token;
    }

    /** The token was not accepted; the next one will be new. */
    public synchronized void refused() {
        held = null;
    }

    /** The {@code exp} of a JWT (RFC 7519); the epoch if it has none, so that a new one is fetched each time. */
    static Instant expiry(String token) {
        List<String> parts = Splitter.on('.').splitToList(token);
        if (parts.size() != PARTS) {
            return Instant.EPOCH;
        }
        try {
            JsonNode expires = JSON.readTree(new String(Base64.getUrlDecoder().decode(parts.get(1)), UTF_8))
                    .path("exp");
            return expires.isNumber() ? Instant.ofEpochSecond(expires.asLong()) : Instant.EPOCH;
        } catch (IllegalArgumentException | JsonProcessingException | DateTimeException e) {
            return Instant.EPOCH;
        }
    }
}
