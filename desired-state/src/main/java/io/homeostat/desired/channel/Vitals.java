package io.homeostat.desired.channel;

import java.time.Instant;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** What is shown of a channel. */
final class Vitals {
    private final InstantSource clock;
    private @Nullable Instant connectedSince;
    private @Nullable Instant lastMessage;
    private String lastError = "";
    private boolean told;

    Vitals(InstantSource clock) {
        this.clock = clock;
    }

    synchronized void heard() {
        lastMessage = clock.instant();
    }

    synchronized void connected() {
        connectedSince = clock.instant();
        told = false;
    }

    synchronized void disconnected() {
        connectedSince = null;
    }

    /** Whether this is news: another error than the last one, or the first one since there was a connection. */
    synchronized boolean failed(String error) {
        boolean news = !told || !error.equals(lastError);
        lastError = error;
        told = true;
        return news;
    }

    synchronized ChannelStatus status(String endpoint, int unacknowledged) {
        return new ChannelStatus(endpoint, connectedSince, lastMessage, unacknowledged, lastError);
    }
}
