package io.homeostat.observe.health;

import io.grpc.Status;
import io.homeostat.desired.state.history.FailureCause;

/** What came of a call to a plugin. */
public sealed interface PluginReply {
    /** It accepted. */
    record Done() implements PluginReply {}

    /** It does not implement the method; for Apply this asks for a restart with the new configuration. */
    record Unimplemented() implements PluginReply {}

    /**
     * It answered with an error.
     *
     * @param code gRPC's
     */
    record Refused(int code, String problem) implements PluginReply {}

    /** No answer within the deadline; what the plugin did is not known. */
    record TimedOut(String problem) implements PluginReply {}

    /** No connection, or it broke off; what the plugin did is not known. */
    record Unreachable(String problem) implements PluginReply {}

    /** For people: what went wrong; empty when nothing did. */
    default String words() {
        return switch (this) {
            case Done() -> "";
            case Unimplemented() -> "does not implement the call";
            case Refused(int code, String problem) -> problem;
            case TimedOut(String problem) -> problem;
            case Unreachable(String problem) -> problem;
        };
    }

    /** For programs: why it went wrong, if it did. */
    default FailureCause cause() {
        return switch (this) {
            case Done() -> FailureCause.of(FailureCause.Kind.REFUSED);
            case Unimplemented() -> new FailureCause(FailureCause.Kind.REFUSED, Status.Code.UNIMPLEMENTED.value());
            case Refused(int code, String problem) -> new FailureCause(FailureCause.Kind.REFUSED, code);
            case TimedOut(String problem) -> FailureCause.of(FailureCause.Kind.TIMED_OUT);
            case Unreachable(String problem) -> FailureCause.of(FailureCause.Kind.CONNECTION_LOST);
        };
    }
}
