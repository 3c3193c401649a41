package io.homeostat.reconcile.agent.guest;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;

/** How calls fail: by the codes, and where clients go by them the words, of Kata's agent 4.1.0. */
final class Refusals {
    private Refusals() {}

    static StatusRuntimeException internal(String words) {
        return Status.INTERNAL.withDescription(words).asRuntimeException();
    }

    static StatusRuntimeException invalid(String words) {
        return Status.INVALID_ARGUMENT.withDescription(words).asRuntimeException();
    }

    /** Nobody can do it here, however it is asked for. */
    static StatusRuntimeException unsupported(String words) {
        return Status.UNIMPLEMENTED.withDescription(words).asRuntimeException();
    }

    /** It may be done, or be done later. */
    static StatusRuntimeException unavailable(String words) {
        return Status.UNAVAILABLE.withDescription(words).asRuntimeException();
    }

    /** Returns a refusal for want of room, after which the caller may ask again. */
    static StatusRuntimeException exhausted(String words) {
        return Status.RESOURCE_EXHAUSTED.withDescription(words).asRuntimeException();
    }

    /** As the calls say it that ask about a container. */
    static StatusRuntimeException noContainer() {
        return invalid("invalid container id");
    }

    /** As the calls say it that change one. */
    static StatusRuntimeException noContainerToChange() {
        return internal("Invalid container id");
    }

    static StatusRuntimeException noProcess() {
        return Status.NOT_FOUND.withDescription("Process not found").asRuntimeException();
    }

    /** As Rust prints ENOENT, which clients look for. */
    static StatusRuntimeException noFile(String path) {
        return internal("Os { code: 2, kind: NotFound, message: \"No such file or directory\" }: " + path);
    }

    static StatusRuntimeException cancelled() {
        return Status.CANCELLED.withDescription("nobody waits for it any more").asRuntimeException();
    }
}
