package io.homeostat.desired.channel;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How a channel fares.
 *
 * @param endpoint as configured
 * @param connectedSince when the control plane accepted the registration of the current stream; null while there is none
 * @param lastMessage when the control plane was last heard, acknowledgements included; null when it never was
 * @param unacknowledged messages that were sent, or wait to be, and are not acknowledged
 * @param lastError why there is no connection, or why the last one ended; empty when none has. No secrets in it
 */
public record ChannelStatus(
        String endpoint,
        @Nullable Instant connectedSince,
        @Nullable Instant lastMessage,
        int unacknowledged,
        String lastError) {}
