package io.homeostat.observe.driver;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.health.CallFailure;
import io.homeostat.proto.nomad.structs.RecoverableError;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A driver refused a call, or did not answer it; the message says which and why, in the driver's own words. */
public final class DriverFailure extends Exception {
    private final FailureCause cause;
    private final boolean recoverable;
    private final boolean unimplemented;
    private final boolean overload;

    DriverFailure(String call, StatusRuntimeException e, Duration timeout) {
        super(CallFailure.words(call, e, timeout), e);
        Status.Code code = e.getStatus().getCode();
        this.unimplemented = code == Status.Code.UNIMPLEMENTED;
        this.overload = code == Status.Code.RESOURCE_EXHAUSTED || code == Status.Code.INTERNAL;
        this.recoverable = mayBeTriedAgain(e);
        this.cause = switch (code) {
            case DEADLINE_EXCEEDED -> FailureCause.of(FailureCause.Kind.TIMED_OUT);
            case UNAVAILABLE, CANCELLED -> FailureCause.of(FailureCause.Kind.CONNECTION_LOST);
            default -> new FailureCause(FailureCause.Kind.REFUSED, code.value());
        };
    }

    /** What it said makes no sense, or what it was to be told is nothing that it takes. */
    public DriverFailure(String message) {
        this(message, FailureCause.Kind.CONTENT);
    }

    private DriverFailure(String message, FailureCause.Kind kind) {
        super(message);
        this.cause = FailureCause.of(kind);
        this.recoverable = false;
        this.unimplemented = false;
        this.overload = false;
    }

    /** It did not answer somebody else, so it was not asked. */
    static DriverFailure silent(String message) {
        return new DriverFailure(message, FailureCause.Kind.TIMED_OUT);
    }

    /** Why, for people. */
    public String words() {
        return String.valueOf(getMessage());
    }

    /** Why, for programs. */
    public FailureCause failureCause() {
        return cause;
    }

    /** Whether the driver said that trying again may help. */
    public boolean isRecoverable() {
        return recoverable;
    }

    /**
     * Whether the driver answered, and that trying again can't help: any answer but that it may, and that of a driver that lacks
     * something itself.
     */
    public boolean isFinal() {
        return cause.kind() == FailureCause.Kind.REFUSED && !recoverable && !overload;
    }

    /** Whether it could not answer for want of something, which says nothing of what it was asked about. */
    boolean isOverload() {
        return overload;
    }

    public boolean isUnimplemented() {
        return unimplemented;
    }

    /** Whether it did not answer at all; what it did is not known. */
    public boolean isSilence() {
        return cause.kind() == FailureCause.Kind.TIMED_OUT || cause.kind() == FailureCause.Kind.CONNECTION_LOST;
    }

    /** Only the first detail counts. */
    private static boolean mayBeTriedAgain(StatusRuntimeException e) {
        if (e.getStatus().getCode() != Status.Code.FAILED_PRECONDITION) {
            return false;
        }
        try {
            com.google.rpc.@Nullable Status status = StatusProto.fromThrowable(e);
            if (status == null || status.getDetailsCount() == 0) {
                return false;
            }
            Any detail = status.getDetails(0);
            return detail.is(RecoverableError.class)
                    && detail.unpack(RecoverableError.class).getRecoverable();
        } catch (InvalidProtocolBufferException | IllegalArgumentException damaged) {
            // The second when they are no message at all, or contradict the status that they came with.
            return false;
        }
    }
}
