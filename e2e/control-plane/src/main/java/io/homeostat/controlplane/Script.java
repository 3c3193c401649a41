package io.homeostat.controlplane;

import com.google.rpc.Code;
import io.grpc.Metadata;
import io.grpc.Status;
import io.homeostat.proto.acs.SendAgentMessageRequest;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.function.Predicate;

/** How the control plane behaves towards agents. A well-behaved one unless told otherwise; may be changed at any time. */
public final class Script {
    private static final Metadata.Key<String> MESSAGE_RATE = Caller.key("agent-communication-message-rate-limit");

    private volatile AnswerPolicy registrations = AnswerPolicy.acknowledge();
    private volatile AnswerPolicy messages = AnswerPolicy.acknowledge();
    private volatile Function<SendAgentMessageRequest, Status> posts = post -> Status.OK;
    private volatile Predicate<Caller> callers = caller -> true;
    private volatile OptionalInt messageRate = OptionalInt.empty();

    Script() {}

    /** What is done about RegisterConnection; a refusal also ends the stream. */
    public Script registrations(AnswerPolicy policy) {
        registrations = policy;
        return this;
    }

    /** What is done about message bodies. */
    public Script messages(AnswerPolicy policy) {
        messages = policy;
        return this;
    }

    /** How SendAgentMessage ends. */
    public Script posts(Function<SendAgentMessageRequest, Status> answer) {
        posts = answer;
        return this;
    }

    /** Whose streams and calls are taken; all others end with UNAUTHENTICATED. */
    public Script callers(Predicate<Caller> accepted) {
        callers = accepted;
        return this;
    }

    /** Messages a minute, told in the headers of streams that are opened from now on. */
    public Script messageRate(int perMinute) {
        messageRate = OptionalInt.of(perMinute);
        return this;
    }

    AnswerPolicy registrations() {
        return registrations;
    }

    AnswerPolicy messages() {
        return messages;
    }

    Status answer(SendAgentMessageRequest post) {
        return posts.apply(post);
    }

    /** Why a caller is refused; OK when it is not. */
    Status judge(Caller caller) {
        if (caller.resource().isEmpty() || caller.channel().isEmpty()) {
            return Status.INVALID_ARGUMENT.withDescription(
                    "INVALID_STREAM_HEADERS: a resource id and a channel id are needed");
        }
        return callers.test(caller)
                ? Status.OK
                : Status.UNAUTHENTICATED.withDescription("the identity token is not accepted");
    }

    Metadata headers() {
        Metadata headers = new Metadata();
        messageRate.ifPresent(rate -> headers.put(MESSAGE_RATE, Integer.toString(rate)));
        return headers;
    }

    static boolean isOk(com.google.rpc.Status status) {
        return status.getCode() == Code.OK_VALUE;
    }
}
