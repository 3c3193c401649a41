package io.homeostat.observe.goplugin;

import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A stream of messages of a plugin, requested one at a time. All streams of one plugin have a pace ({@link PluginConnection#pause}): to send
 * messages costs a plugin far less than to read them costs us. The windows of HTTP/2 hold up a plugin that sends more.
 *
 * @param <Q> the request
 * @param <A> the messages
 */
public abstract class PluginStream<Q, A> implements ClientResponseObserver<Q, A> {
    private final PluginConnection connection;
    private volatile @Nullable ClientCallStreamObserver<Q> call;
    private volatile boolean done;

    /** @param connection of the call that this is passed to */
    protected PluginStream(PluginConnection connection) {
        this.connection = connection;
    }

    /**
     * Takes a message; must not block.
     *
     * @return the shortest time until the next one
     */
    protected abstract Duration received(A message);

    /** Hears of the end of the stream, also by {@link #cancel}. */
    protected abstract void ended(Status status);

    /** Ends the stream. */
    public final void cancel() {
        done = true;
        ClientCallStreamObserver<Q> open = call;
        if (open != null) {
            open.cancel("nobody asks any more", null);
        }
    }

    @Override
    public final void beforeStart(ClientCallStreamObserver<Q> started) {
        started.disableAutoRequestWithInitial(1);
        call = started;
    }

    @Override
    public final void onNext(A message) {
        Duration least = received(message);
        Duration pace = connection.pause();
        Duration pause = pace.compareTo(least) < 0 ? least : pace;
        if (pause.isZero()) {
            next();
        } else {
            CompletableFuture.delayedExecutor(pause.toMillis(), TimeUnit.MILLISECONDS)
                    .execute(this::next);
        }
    }

    private void next() {
        ClientCallStreamObserver<Q> open = call;
        if (open != null && !done) {
            if (connection.isConnected()) {
                open.request(1);
            } else {
                // A plugin may go on with calls after it said that it is going away. Of a connection that is broken,
                // what has
                // arrived takes memory until it is read, and gRPC reports the end only after that.
                open.cancel("the connection is not kept", null);
                open.request(Integer.MAX_VALUE);
                done = true;
            }
        }
    }

    @Override
    public final void onError(Throwable problem) {
        done = true;
        ended(Status.fromThrowable(problem));
    }

    @Override
    public final void onCompleted() {
        done = true;
        ended(Status.OK);
    }
}
