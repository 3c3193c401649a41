package io.homeostat.controlplane;

import io.grpc.Status;
import io.homeostat.proto.acs.SendAgentMessageRequest;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.time.Duration;

/** One thing that happened between the control plane and an agent. */
public sealed interface Entry {
    /** Which stream, counted from 1; 0 for calls beside the streams. */
    int connection();

    /** When, since the control plane was made. */
    Duration at();

    /** A stream was opened, and taken. */
    record Opened(int connection, Duration at, Caller caller) implements Entry {}

    /** The agent's registration was accepted; from now on it is sent messages. */
    record Registered(int connection, Duration at) implements Entry {}

    /** The agent said something. */
    record Heard(int connection, Duration at, StreamAgentMessagesRequest message) implements Entry {}

    /** The control plane said something; recorded just before it is sent. Raw bytes and floods are not recorded. */
    record Said(int connection, Duration at, StreamAgentMessagesResponse message) implements Entry {}

    /** A stream ended, by whichever side. */
    record Ended(int connection, Duration at, Status status) implements Entry {}

    /** SendAgentMessage was called. */
    record Posted(int connection, Duration at, Caller caller, SendAgentMessageRequest message) implements Entry {}

    /** A stream or call was refused for what its request metadata said. */
    record Refused(int connection, Duration at, Caller caller, Status status) implements Entry {}
}
