package io.homeostat.controlplane;

import com.google.protobuf.ByteString;
import com.google.rpc.Status;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.proto.acs.MessageResponse;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The control plane's end of one stream. May be used by any thread. */
public final class Connection {
    private final int number;
    private final Caller caller;
    private final Transcript transcript;
    private final ServerCall<StreamAgentMessagesRequest, ByteString> call;
    private boolean ended;
    private @Nullable Supplier<ByteString> flood;
    private boolean pouring;

    Connection(
            int number, Caller caller, Transcript transcript, ServerCall<StreamAgentMessagesRequest, ByteString> call) {
        this.number = number;
        this.caller = caller;
        this.transcript = transcript;
        this.call = call;
    }

    /** Which stream of this control plane, counted from 1. */
    public int number() {
        return number;
    }

    /** Who opened it. */
    public Caller caller() {
        return caller;
    }

    /** Sends a message, over this stream only; the same one a second time is a duplicate. */
    public void send(Sent sent) {
        send(StreamAgentMessagesResponse.newBuilder()
                .setMessageId(sent.id())
                .setMessageBody(sent.body())
                .build());
    }

    /** Sends whatever the protocol can say, sensible or not. */
    public synchronized void send(StreamAgentMessagesResponse message) {
        if (!ended) {
            transcript.add(at -> new Entry.Said(number, at, message));
            call.sendMessage(message.toByteString());
        }
    }

    /** Sends bytes in the place of a message. */
    public synchronized void sendBytes(ByteString bytes) {
        if (!ended) {
            call.sendMessage(bytes);
        }
    }

    /** Acknowledges a message; a default status is left out. */
    public void acknowledge(String id, Status status) {
        MessageResponse.Builder response = MessageResponse.newBuilder();
        if (!Script.isOk(status)) {
            response.setStatus(status);
        }
        send(StreamAgentMessagesResponse.newBuilder()
                .setMessageId(id)
                .setMessageResponse(response)
                .build());
    }

    /** Ends the stream; does nothing when it has ended. */
    public synchronized void end(io.grpc.Status status) {
        if (!ended) {
            ended = true;
            transcript.add(at -> new Entry.Ended(number, at, status));
            call.close(status, new Metadata());
        }
    }

    /** Floods the agent with bytes in the place of messages, as fast as it reads them, until the stream ends or another flood begins. */
    public void flood(Supplier<ByteString> next) {
        synchronized (this) {
            flood = next;
        }
        pour();
    }

    /** Ends the flood, and leaves the stream. */
    public synchronized void stopFlood() {
        flood = null;
    }

    /** Sends while there is room; being called from within itself, when sending makes room, it leaves that to the outer one. */
    synchronized void pour() {
        if (pouring) {
            return;
        }
        pouring = true;
        while (flood != null && !ended && call.isReady()) {
            call.sendMessage(flood.get());
        }
        pouring = false;
    }

    /** Learns that the agent ended the stream. */
    synchronized boolean lost(io.grpc.Status status) {
        if (ended) {
            return false;
        }
        ended = true;
        transcript.add(at -> new Entry.Ended(number, at, status));
        return true;
    }
}
