package io.homeostat.reconcile.agent.nomad;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A stream of answers that waits for its reader. To be made while the call is being served. */
final class Outlet<T> {
    private static final long LOOK_MILLIS = 20;

    private final ServerCallStreamObserver<T> stream;
    private final CountDownLatch over = new CountDownLatch(1);
    private Runnable whenCancelled = () -> {};

    Outlet(StreamObserver<T> observer) {
        stream = (ServerCallStreamObserver<T>) observer;
        stream.setOnCancelHandler(this::cancelled);
    }

    private synchronized void cancelled() {
        over.countDown();
        whenCancelled.run();
        notifyAll();
    }

    /** At once when it is so already. */
    synchronized void whenCancelled(Runnable action) {
        whenCancelled = action;
        if (stream.isCancelled()) {
            action.run();
        }
    }

    boolean isCancelled() {
        return stream.isCancelled();
    }

    /** Waits until there is room for it. False when there is no reader any more. */
    synchronized boolean send(T message) throws InterruptedException {
        while (!stream.isReady() && !stream.isCancelled()) {
            wait(LOOK_MILLIS);
        }
        if (stream.isCancelled()) {
            return false;
        }
        stream.onNext(message);
        return true;
    }

    /** Sleeps so long, or until there is no reader any more. */
    void sleep(long millis) throws InterruptedException {
        boolean _ = over.await(millis, TimeUnit.MILLISECONDS);
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
}
