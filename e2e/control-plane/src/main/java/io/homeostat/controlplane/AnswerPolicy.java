package io.homeostat.controlplane;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/** Decides what is done about messages of agents. Asked on a network thread: it must not wait. */
@FunctionalInterface
public interface AnswerPolicy {
    /** Decides about a message; {@code delivery} counts from 1 how often it was heard since it was last acknowledged as OK. */
    Answer answer(StreamAgentMessagesRequest message, int delivery);

    /** Acknowledges at once. */
    static AnswerPolicy acknowledge() {
        return acknowledgeAfter(Duration.ZERO);
    }

    /** Acknowledges, but not at once. */
    static AnswerPolicy acknowledgeAfter(Duration delay) {
        return (message, delivery) -> new Answer.Acknowledge(Status.getDefaultInstance(), delay);
    }

    /** Hears and says nothing. */
    static AnswerPolicy ignore() {
        return (message, delivery) -> new Answer.Ignore();
    }

    /** Ignores each message until it was heard so often. */
    static AnswerPolicy acknowledgeFromDelivery(int number) {
        return (message, delivery) -> delivery < number
                ? new Answer.Ignore()
                : new Answer.Acknowledge(Status.getDefaultInstance(), Duration.ZERO);
    }

    /** Acknowledges with an error. */
    static AnswerPolicy refuse(Code code, String why) {
        Status status =
                Status.newBuilder().setCode(code.getNumber()).setMessage(why).build();
        return (message, delivery) -> new Answer.Acknowledge(status, Duration.ZERO);
    }

    /** Ends the stream. */
    static AnswerPolicy end(io.grpc.Status status) {
        return (message, delivery) -> new Answer.End(status);
    }

    /** Does this for so many messages, whatever their ids, and then something else. */
    default AnswerPolicy times(int messages, AnswerPolicy then) {
        AtomicInteger left = new AtomicInteger(messages);
        return (message, delivery) ->
                (left.getAndUpdate(n -> Math.max(0, n - 1)) > 0 ? this : then).answer(message, delivery);
    }

    /** What the control plane does about a message of an agent's. */
    sealed interface Answer {
        /** A MessageResponse with its message_id, after a while; the default status is OK and left out, as servers do. */
        record Acknowledge(Status status, Duration after) implements Answer {}

        /** Nothing. */
        record Ignore() implements Answer {}

        /** The end of the stream; {@link io.grpc.Status#OK} ends it without an error. */
        record End(io.grpc.Status status) implements Answer {}
    }
}
