package io.homeostat.controlplane;

import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.homeostat.controlplane.AnswerPolicy.Answer;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.proto.acs.SendAgentMessageRequest;
import io.homeostat.proto.acs.SendAgentMessageResponse;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Serves both methods of the protocol as the script says. Everything here runs on the network threads and must not block. */
final class AgentCommunication {
    private final Script script;
    private final Transcript transcript;
    private final Outstanding outstanding;
    private final ScheduledExecutorService later;
    private final AtomicInteger opened = new AtomicInteger();
    private final Map<String, Integer> deliveries = new ConcurrentHashMap<>();

    AgentCommunication(Script script, Transcript transcript, Outstanding outstanding, ScheduledExecutorService later) {
        this.script = script;
        this.transcript = transcript;
        this.outstanding = outstanding;
        this.later = later;
    }

    /** Serves StreamAgentMessages. */
    ServerCall.Listener<StreamAgentMessagesRequest> stream(
            ServerCall<StreamAgentMessagesRequest, ByteString> call, Metadata headers) {
        Caller caller = Caller.of(headers);
        if (isRefused(caller, call)) {
            return new ServerCall.Listener<>() {};
        }
        Connection connection = new Connection(opened.incrementAndGet(), caller, transcript, call);
        transcript.add(at -> new Entry.Opened(connection.number(), at, caller));
        call.sendHeaders(script.headers());
        call.request(1);
        return new StreamListener(connection, call);
    }

    /** Serves SendAgentMessage. */
    ServerCall.Listener<SendAgentMessageRequest> unary(
            ServerCall<SendAgentMessageRequest, SendAgentMessageResponse> call, Metadata headers) {
        Caller caller = Caller.of(headers);
        if (isRefused(caller, call)) {
            return new ServerCall.Listener<>() {};
        }
        call.request(1);
        return new ServerCall.Listener<>() {
            @Override
            public void onMessage(SendAgentMessageRequest message) {
                transcript.add(at -> new Entry.Posted(0, at, caller, message));
                Status status = script.answer(message);
                if (status.isOk()) {
                    call.sendHeaders(new Metadata());
                    call.sendMessage(SendAgentMessageResponse.getDefaultInstance());
                }
                call.close(status, new Metadata());
            }
        };
    }

    private boolean isRefused(Caller caller, ServerCall<?, ?> call) {
        Status verdict = script.judge(caller);
        if (verdict.isOk()) {
            return false;
        }
        transcript.add(at -> new Entry.Refused(0, at, caller, verdict));
        call.close(verdict, new Metadata());
        return true;
    }

    private final class StreamListener extends ServerCall.Listener<StreamAgentMessagesRequest> {
        private final Connection connection;
        private final ServerCall<StreamAgentMessagesRequest, ByteString> call;

        StreamListener(Connection connection, ServerCall<StreamAgentMessagesRequest, ByteString> call) {
            this.connection = connection;
            this.call = call;
        }

        @Override
        public void onMessage(StreamAgentMessagesRequest message) {
            transcript.add(at -> new Entry.Heard(connection.number(), at, message));
            switch (message.getTypeCase()) {
                case REGISTER_CONNECTION -> answer(message, script.registrations());
                case MESSAGE_RESPONSE ->
                    outstanding.acknowledged(
                            message.getMessageId(), message.getMessageResponse().getStatus());
                case MESSAGE_BODY -> {
                    outstanding.replied(message.getMessageBody());
                    answer(message, script.messages());
                }
                case TYPE_NOT_SET ->
                    end(Status.INVALID_ARGUMENT.withDescription("INVALID_MESSAGE_TYPE: a message of no type"));
            }
            call.request(1);
        }

        private void answer(StreamAgentMessagesRequest message, AnswerPolicy policy) {
            int delivery = deliveries.merge(message.getMessageId(), 1, Integer::sum);
            switch (policy.answer(message, delivery)) {
                case Answer.Ignore() -> {}
                case Answer.End(Status status) -> end(status);
                case Answer.Acknowledge(com.google.rpc.Status status, var delay) -> {
                    if (delay.isZero()) {
                        acknowledge(message, status);
                    } else {
                        var _ = later.schedule(
                                () -> acknowledge(message, status), delay.toNanos(), TimeUnit.NANOSECONDS);
                    }
                }
            }
        }

        private void acknowledge(StreamAgentMessagesRequest message, com.google.rpc.Status status) {
            connection.acknowledge(message.getMessageId(), status);
            if (Script.isOk(status)) {
                deliveries.remove(message.getMessageId());
                if (message.hasRegisterConnection()) {
                    outstanding.registered(connection);
                }
            } else if (message.hasRegisterConnection()) {
                end(Status.FAILED_PRECONDITION.withDescription("the registration was refused"));
            }
        }

        private void end(Status status) {
            connection.end(status);
            outstanding.ended(connection);
        }

        @Override
        public void onHalfClose() {
            end(Status.OK);
        }

        @Override
        public void onCancel() {
            lost(Status.CANCELLED);
        }

        @Override
        public void onComplete() {
            lost(Status.OK);
        }

        private void lost(Status status) {
            connection.lost(status);
            outstanding.ended(connection);
        }

        @Override
        public void onReady() {
            connection.pour();
        }
    }
}
