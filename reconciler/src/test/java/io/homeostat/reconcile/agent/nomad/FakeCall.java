package io.homeostat.reconcile.agent.nomad;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A call that is being served, without a connection: it keeps what it is answered. */
final class FakeCall<T> extends ServerCallStreamObserver<T> {
    final List<T> answers = new CopyOnWriteArrayList<>();

    /** The number of messages that were requested from the client. */
    final AtomicInteger requested = new AtomicInteger();

    volatile boolean ready = true;
    volatile boolean completed;
    volatile boolean requestsByItself = true;
    volatile @Nullable Throwable error;
    private volatile boolean cancelled;
    private volatile Runnable whenCancelled = () -> {};

    /** The client goes away. */
    void cancel() {
        cancelled = true;
        whenCancelled.run();
    }

    /** The only answer of a call that succeeded. */
    T answer() {
        Throwable failed = error;
        if (failed != null || answers.size() != 1 || !completed) {
            throw new AssertionError("answered " + answers + ", completed: " + completed, failed);
        }
        return answers.getFirst();
    }

    /** The code with which a call has failed; OK as long as it has not. */
    Status.Code code() {
        Throwable failed = error;
        return failed == null ? Status.Code.OK : Status.fromThrowable(failed).getCode();
    }

    boolean isOver() {
        return completed || error != null;
    }

    @Override
    public void onNext(T value) {
        if (isOver()) {
            throw new IllegalStateException("the call is over");
        }
        answers.add(value);
    }

    @Override
    public void onError(Throwable problem) {
        error = problem;
    }

    @Override
    public void onCompleted() {
        completed = true;
    }

    @Override
    public boolean isCancelled() {
        return cancelled;
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {
        whenCancelled = handler;
    }

    @Override
    public void disableAutoRequest() {
        requestsByItself = false;
    }

    @Override
    public void disableAutoInboundFlowControl() {
        disableAutoRequest();
    }

    @Override
    public boolean isReady() {
        return ready;
    }

    @Override
    public void request(int count) {
        requested.addAndGet(count);
    }

    @Override
    public void setCompression(String compression) {}

    @Override
    public void setOnReadyHandler(Runnable handler) {}

    @Override
    public void setMessageCompression(boolean enable) {}
}
