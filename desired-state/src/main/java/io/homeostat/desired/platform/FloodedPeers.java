package io.homeostat.desired.platform;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Peers that a {@link FloodGuard} has closed a connection to. They are not connected to for a minute, whoever asks: otherwise each call would
 * open the next connection for them to flood, and answers between two floods would hide them. Time is nanoseconds of any clock. Thread-safe.
 */
final class FloodedPeers {
    static final long PAUSE = Duration.ofMinutes(1).toNanos();

    private final Map<Object, Flood> floods = new ConcurrentHashMap<>();

    private record Flood(String reason, long at) {
        boolean isOver(long now) {
            return now - at >= PAUSE;
        }
    }

    /** Returns the peer at an address, or at the path of a unix socket as it is asked for: the user can exchange the socket at any time. */
    Peer at(Object address) {
        return new Peer(address);
    }

    /** Forgets what a peer has done, once another process takes its place that it could not start itself. */
    void forget(Object address) {
        floods.remove(address);
    }

    /** One that connections are made to. */
    final class Peer {
        private final Object key;

        private Peer(Object key) {
            this.key = key;
        }

        /** Notes that a connection was closed. */
        void flooded(String reason, long now) {
            floods.values().removeIf(flood -> flood.isOver(now));
            floods.put(key, new Flood(reason, now));
        }

        /** The reason for which a connection was closed less than a minute ago; null when none was. */
        @Nullable
        String flood(long now) {
            Flood last = floods.get(key);
            return last == null || last.isOver(now) ? null : last.reason();
        }
    }
}
