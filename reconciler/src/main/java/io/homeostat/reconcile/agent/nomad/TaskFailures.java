package io.homeostat.reconcile.agent.nomad;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.homeostat.proto.nomad.structs.RecoverableError;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Errors as a Nomad client understands them. */
final class TaskFailures {
    private TaskFailures() {}

    /** The job is wrong; it does not help to try again. */
    static StatusRuntimeException invalid(@Nullable String words) {
        return Status.INVALID_ARGUMENT.withDescription(words).asRuntimeException();
    }

    /** Nomad shows the words and does not try again by itself. */
    static StatusRuntimeException failed(@Nullable String words) {
        return Status.UNKNOWN.withDescription(words).asRuntimeException();
    }

    /** In the words of Nomad's own drivers. */
    static StatusRuntimeException notFound() {
        return failed("task not found for given id");
    }

    /** Nomad may try again, as the job's restart policy says: it looks at the first detail only. */
    static StatusRuntimeException recoverable(@Nullable String words) {
        return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                .setCode(Code.FAILED_PRECONDITION_VALUE)
                .setMessage(words == null ? "" : words)
                .addDetails(Any.pack(
                        RecoverableError.newBuilder().setRecoverable(true).build()))
                .build());
    }

    /** What reads a setting says by an exception what is wrong with it. */
    static <T, R> R valid(T value, Function<T, R> reading) {
        try {
            return reading.apply(value);
        } catch (IllegalArgumentException e) {
            throw Status.INVALID_ARGUMENT
                    .withDescription(e.getMessage())
                    .withCause(e)
                    .asRuntimeException();
        }
    }
}
