package io.homeostat.controlplane;

import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Serves StreamAgentMessages by the script. Everything here runs on the network threads and waits for nothing. */
final class Streams implements ServerCallHandler<StreamAgentMessagesRequest, ByteString> {
    private final Script script;
    private final Journal journal;
    private final Outstanding outstanding;
    private final ScheduledExecutorService later;
    private final AtomicInteger opened = new AtomicInteger();
    private final Map<String, Integer> deliveries = new ConcurrentHashMap<>();

    Streams(Script script, Journal journal, Outstanding outstanding, ScheduledExecutorService later) {
        this.script = script;
        this.journal = journal;
        this.outstanding = outstanding;
        this.later = later;
    }

    @Override
    public ServerCall.Listener<StreamAgentMessagesRequest> startCall(
            ServerCall<StreamAgentMessagesRequest, ByteString> call, Metadata headers) {
        Caller caller = Caller.of(headers);
        Status verdict = script.judge(caller);
        if (!verdict.isOk()) {
            journal.add(at -> new Entry.Refused(0, at, caller, verdict));
            call.close(verdict, new Metadata());
            return new ServerCall.Listener<>() {};
        }
        Connection connection = new Connection(opened.incrementAndGet(), caller, journal, call);
        journal.add(at -> new Entry.Opened(connection.number(), at, caller));
        call.sendHeaders(script.headers());
        call.request(1);
        return new Listener(connection, call);
    }

    private final class Listener extends ServerCall.Listener<StreamAgentMessagesRequest> {
        private final Connection connection;
        private final ServerCall<StreamAgentMessagesRequest, ByteString> call;

        Listener(Connection connection, ServerCall<StreamAgentMessagesRequest, ByteString> call) {
            this.connection = connection;
            this.call = call;
        }

        @Override
        public void onMessage(StreamAgentMessagesRequest message) {
            journal.add(at -> new Entry.Heard(connection.number(), at, message));
            switch (message.getTypeCase()) {
                case REGISTER_CONNECTION -> answer(message, script.registrations());
                case MESSAGE_RESPONSE ->
                    outstanding.acknowledged(
                            message.getMessageId(), message.getMessageResponse().getStatus());
                case MESSAGE_BODY -> {
                    heard(message.getMessageBody());
                    answer(message, script.messages());
                }
                case TYPE_NOT_SET ->
                    end(Status.INVALID_ARGUMENT.withDescription("INVALID_MESSAGE_TYPE: a message of no type"));
            }
            call.request(1);
        }

        private void heard(MessageBody body) {
            outstanding.replied(body);
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
