package io.homeostat.sample.driver;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.LinkedHashSet;
import java.util.Set;

/** Streams that stay open, to which the same is said. */
final class Subscribers<T> {
    private final Set<ServerCallStreamObserver<T>> streams = new LinkedHashSet<>();

    /** Until the host goes away. To be called while the call is being served. */
    synchronized void add(StreamObserver<T> stream) {
        ServerCallStreamObserver<T> call = (ServerCallStreamObserver<T>) stream;
        call.setOnCancelHandler(() -> remove(call));
        streams.add(call);
    }

    synchronized void add(StreamObserver<T> stream, T first) {
        add(stream);
        stream.onNext(first);
    }

    private synchronized void remove(ServerCallStreamObserver<T> call) {
        streams.remove(call);
    }

    synchronized void tell(T message) {
        streams.forEach(stream -> stream.onNext(message));
    }
}
