package io.homeostat.desired.channel;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A call that goes nowhere and remembers what was done with it. As real ones do, it takes no message after it was cancelled. */
final class RecordedCall extends ClientCall<StreamAgentMessagesRequest, StreamAgentMessagesResponse> {
    final List<StreamAgentMessagesRequest> sent = new ArrayList<>();
    int requested;
    boolean ready = true;
    boolean cancelled;

    @Nullable
    Metadata headers;

    @Override
    public void start(Listener<StreamAgentMessagesResponse> listener, Metadata headers) {
        if (cancelled) {
            throw new IllegalStateException("call was cancelled");
        }
        this.headers = headers;
    }

    @Override
    public void request(int messages) {
        requested += messages;
    }

    @Override
    public void cancel(@Nullable String message, @Nullable Throwable cause) {
        cancelled = true;
    }

    @Override
    public void halfClose() {}

    @Override
    public void sendMessage(StreamAgentMessagesRequest message) {
        if (cancelled) {
            throw new IllegalStateException("call was cancelled");
        }
        sent.add(message);
    }

    @Override
    public boolean isReady() {
        return ready;
    }
}
