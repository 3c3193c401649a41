package io.homeostat.controlplane;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.homeostat.proto.acs.SendAgentMessageRequest;
import io.homeostat.proto.acs.SendAgentMessageResponse;

/** Serves SendAgentMessage by the script. */
final class Posts implements ServerCallHandler<SendAgentMessageRequest, SendAgentMessageResponse> {
    private final Script script;
    private final Journal journal;

    Posts(Script script, Journal journal) {
        this.script = script;
        this.journal = journal;
    }

    @Override
    public ServerCall.Listener<SendAgentMessageRequest> startCall(
            ServerCall<SendAgentMessageRequest, SendAgentMessageResponse> call, Metadata headers) {
        Caller caller = Caller.of(headers);
        Status verdict = script.judge(caller);
        if (!verdict.isOk()) {
            journal.add(at -> new Entry.Refused(0, at, caller, verdict));
            call.close(verdict, new Metadata());
            return new ServerCall.Listener<>() {};
        }
        call.request(1);
        return new ServerCall.Listener<>() {
            @Override
            public void onMessage(SendAgentMessageRequest message) {
                journal.add(at -> new Entry.Posted(0, at, caller, message));
                Status status = script.answer(message);
                if (status.isOk()) {
                    call.sendHeaders(new Metadata());
                    call.sendMessage(SendAgentMessageResponse.getDefaultInstance());
                }
                call.close(status, new Metadata());
            }
        };
    }
}
