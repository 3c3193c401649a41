package io.homeostat.sample.driver;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;

/** A stream of answers that waits for its reader. To be made while the call is being served. */
final class Outlet<T> {
    private static final long POLL_MILLIS = 20;

    private final ServerCallStreamObserver<T> stream;
    private Runnable whenCancelled = () -> {};

    Outlet(StreamObserver<T> stream) {
        this.stream = (ServerCallStreamObserver<T>) stream;
        this.stream.setOnCancelHandler(this::cancelled);
    }

    private void cancelled() {
        Runnable action;
        synchronized (this) {
            action = whenCancelled;
        }
        action.run();
    }

    /** At once when that is so already. */
    void whenCancelled(Runnable action) {
        synchronized (this) {
            whenCancelled = action;
        }
        if (stream.isCancelled()) {
            action.run();
        }
    }

    /** Waits until there is room for it. False when there is no reader any more. */
    synchronized boolean send(T message) throws InterruptedException {
        while (!stream.isReady() && !stream.isCancelled()) {
            wait(POLL_MILLIS); // nobody wakes it: gRPC tells nothing while the call's own thread is busy
        }
        if (stream.isCancelled()) {
            return false;
        }
        stream.onNext(message);
        return true;
    }

    synchronized void complete() {
        if (!stream.isCancelled()) {
            stream.onCompleted();
        }
    }

    synchronized void fail(Throwable error) {
        if (!stream.isCancelled()) {
            stream.onError(error);
        }
    }

    boolean isCancelled() {
        return stream.isCancelled();
    }
}
