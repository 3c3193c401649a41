package io.homeostat.controlplane;

import com.google.rpc.Status;
import java.time.Duration;

/** What the control plane does about a message of an agent's. */
public sealed interface Answer {
    /** A MessageResponse with its message_id, after a while; the default status is OK and left out, as servers do. */
    record Acknowledge(Status status, Duration after) implements Answer {}

    /** Nothing. */
    record Ignore() implements Answer {}

    /** The end of the stream; {@link io.grpc.Status#OK} ends it without an error. */
    record End(io.grpc.Status status) implements Answer {}
}
