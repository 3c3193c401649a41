package io.homeostat.reconcile.agent.ui;

import com.github.benmanes.caffeine.cache.Ticker;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.Optional;

/**
 * Who has shown the token, which opens one session and then is another one: what browsers and terminals remember of it opens nothing. A
 * session has two secrets: a cookie, which no script can read, and a key, which the page sends in a header.
 * Browsers send a cookie to every port of a host, so whoever serves another port of this machine may come to have it; the key stays with
 * the page's origin. All secrets are compared in constant time.
 */
final class Sessions {
    private static final int SECRET_BYTES = 32;

    /** Of which a day's work needs one; the oldest gives way. */
    private static final int MOST = 32;

    private static final Duration LIFE = Duration.ofHours(12);

    private final SecureRandom random = new SecureRandom();
    private final Ticker ticker;
    private volatile String token = secret();
    private final Deque<Session> sessions = new ArrayDeque<>();

    Sessions(Ticker ticker) {
        this.ticker = ticker;
    }

    /** What one browser was given. */
    record Session(String cookie, String key, long since) {
        @Override
        public String toString() {
            return "Session";
        }
    }

    /** 256 random bits, without which there is no session; others after each login. */
    String token() {
        return token;
    }

    /** A new session for whoever knows the token. */
    synchronized Optional<Session> login(String shown) {
        if (!same(token, shown)) {
            return Optional.empty();
        }
        token = secret();
        if (sessions.size() == MOST) {
            sessions.removeFirst();
        }
        Session session = new Session(secret(), secret(), ticker.read());
        sessions.addLast(session);
        return Optional.of(session);
    }

    synchronized boolean isOpen(String cookie, String key) {
        sessions.removeIf(session -> ticker.read() - session.since() > LIFE.toNanos());
        boolean open = false;
        for (Session session : sessions) {
            // All of them: how long it takes does not tell which one fits, or how far.
            boolean cookieFits = same(session.cookie(), cookie);
            boolean keyFits = same(session.key(), key);
            open |= cookieFits && keyFits;
        }
        return open;
    }

    private static boolean same(String secret, String shown) {
        return MessageDigest.isEqual(secret.getBytes(StandardCharsets.UTF_8), shown.getBytes(StandardCharsets.UTF_8));
    }

    private String secret() {
        byte[] bytes = new byte[SECRET_BYTES];
        random.nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }
}
