package io.homeostat.desired.channel;

import java.time.Instant;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/**
 * How a channel is doing.
 *
 * @param endpoint as configured
 * @param connectedSince when the control plane accepted the registration of the current stream; null while there is none
 * @param lastMessage when anything was last received, acknowledgements included; null if never
 * @param unacknowledged messages that were sent or wait to be sent, and are not acknowledged
 * @param lastError why there is no connection, or why the last one ended; empty if none has failed. Contains no secrets
 */
public record ChannelStatus(
        String endpoint,
        @Nullable Instant connectedSince,
        @Nullable Instant lastMessage,
        int unacknowledged,
        String lastError) {

    /** Keeps track of it. */
    static final class Tracker {
        private final InstantSource clock;
        private @Nullable Instant connectedSince;
        private @Nullable Instant lastMessage;
        private String lastError = "";
        private StreamOutcome.@Nullable Cause reported;

        Tracker(InstantSource clock) {
            this.clock = clock;
        }

        synchronized void received() {
            lastMessage = clock.instant();
        }

        synchronized void connected() {
            connectedSince = clock.instant();
            reported = null;
        }

        synchronized void disconnected() {
            connectedSince = null;
        }

        /** Returns whether this is news: another cause than the last one, or the first failure since there was a connection. */
        synchronized boolean failed(StreamOutcome.Failed end) {
            boolean news = reported != end.cause();
            lastError = end.error();
            reported = end.cause();
            return news;
        }

        synchronized ChannelStatus status(String endpoint, int unacknowledged) {
            return new ChannelStatus(endpoint, connectedSince, lastMessage, unacknowledged, lastError);
        }
    }
}
