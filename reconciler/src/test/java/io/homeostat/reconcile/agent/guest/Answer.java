package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The answer to one call of a service. */
final class Answer<A> implements StreamObserver<A> {
    private final List<A> values = new ArrayList<>();
    private @Nullable Throwable failure;
    private boolean completed;

    /** Makes a call that succeeds; returns its answer. */
    @CanIgnoreReturnValue
    static <Q, A> A of(BiConsumer<Q, StreamObserver<A>> call, Q request) {
        Answer<A> answer = new Answer<>();
        call.accept(request, answer);
        if (answer.failure != null) {
            throw new AssertionError("the call fails", answer.failure);
        }
        assertEquals(1, answer.values.size(), "a call has one answer");
        assertTrue(answer.completed, "an answer is completed");
        return Objects.requireNonNull(answer.values.getFirst(), "an answer is a message");
    }

    /** Makes a call that fails; returns why. */
    static <Q, A> Status failure(BiConsumer<Q, StreamObserver<A>> call, Q request) {
        Answer<A> answer = new Answer<>();
        call.accept(request, answer);
        assertEquals(List.of(), answer.values);
        Throwable thrown = Objects.requireNonNull(answer.failure, "the call succeeds");
        return ((StatusRuntimeException) thrown).getStatus();
    }

    /** Makes a call that fails; returns the code of its failure. */
    static <Q, A> Status.Code refusal(BiConsumer<Q, StreamObserver<A>> call, Q request) {
        return failure(call, request).getCode();
    }

    @Override
    public void onNext(A value) {
        values.add(value);
    }

    @Override
    public void onError(Throwable thrown) {
        failure = thrown;
    }

    @Override
    public void onCompleted() {
        completed = true;
    }
}
