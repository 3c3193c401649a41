package io.homeostat.desired.platform;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.common.collect.EvictingQueue;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Redaction;
import java.net.URLDecoder;
import java.util.Base64;
import java.util.Comparator;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;

/**
 * The secrets that a server is sent: passwords, tokens and queries. A server that debugs quotes what it was sent, as a whole or in parts,
 * and they are masked wherever its words are shown. May be used by several threads.
 */
public final class SentSecrets {
    /** The fewest characters of a secret that is masked: shorter ones occur in any text. */
    private static final int SHORTEST = 4;

    /** The most characters of a token: no server takes longer ones. */
    private static final int LONGEST_TOKEN = 16 << 10;

    private static final int TOKENS = 16;

    /** The longest first, since it has the shorter ones in it. */
    private final Set<String> secrets =
            new TreeSet<>(Comparator.comparingInt(String::length).reversed().thenComparing(Comparator.naturalOrder()));

    private final Queue<String> tokens = EvictingQueue.create(TOKENS);

    /** Learns a password or a token. */
    public synchronized void learn(String secret) {
        if (secret.length() >= SHORTEST) {
            secrets.add(secret);
        }
    }

    /** Learns a token that a server gives, and replaces when it has expired; of these only the last ones are known. */
    public synchronized void learnToken(String token) {
        if (token.length() >= SHORTEST && token.length() <= LONGEST_TOKEN) {
            tokens.add(token);
        }
    }

    /**
     * Learns the login of a user, also as {@code Authorization: Basic} has it (RFC 7617).
     *
     * @param user with password: {@code user:password}
     */
    public void learnUser(String user) {
        learn(user);
        learn(user.substring(user.indexOf(':') + 1));
        learn(Base64.getEncoder().encodeToString(user.getBytes(UTF_8)));
    }

    /** Learns the query of a URL. */
    public void learnQuery(String query) {
        learnList(query, CharMatcher.is('&'));
    }

    /** Learns a list of values, of which some have names (NAME=VALUE), as it is and as a server may decode it. */
    void learnList(String list, CharMatcher separator) {
        learn(list);
        for (String part : Splitter.on(separator).split(list)) {
            String value = part.substring(part.indexOf('=') + 1);
            learn(value);
            decoded(value).ifPresent(this::learn);
        }
    }

    private static Optional<String> decoded(String value) {
        try {
            return Optional.of(URLDecoder.decode(value, UTF_8));
        } catch (IllegalArgumentException e) {
            // A percent sign that stands for itself.
            return Optional.empty();
        }
    }

    /** Returns the beginning of a text of the server as it may be shown ({@link Redaction#excerpt}), without these secrets. */
    public synchronized String quoted(String text) {
        String masked = text;
        for (String secret : Iterables.concat(tokens, secrets)) {
            masked = masked.replace(secret, Redaction.MASK);
        }
        return Redaction.excerpt(masked);
    }
}
