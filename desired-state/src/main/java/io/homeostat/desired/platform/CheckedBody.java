package io.homeostat.desired.platform;

import java.io.InputStream;
import java.net.ProtocolException;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow.Subscription;
import org.jspecify.annotations.Nullable;

/** The content of an answer as a stream, whose reader is told, as the cause, when it comes in too short {@link ChunkSizes chunks}. */
final class CheckedBody implements BodySubscriber<InputStream> {
    private final BodySubscriber<InputStream> body = BodySubscribers.ofInputStream();
    private final ChunkSizes sizes = new ChunkSizes();
    private @Nullable Subscription subscription;

    @Override
    public CompletionStage<InputStream> getBody() {
        return body.getBody();
    }

    @Override
    public void onSubscribe(Subscription begun) {
        subscription = begun;
        body.onSubscribe(begun);
    }

    @Override
    public void onNext(List<ByteBuffer> chunks) {
        try {
            sizes.add(
                    chunks.size(),
                    chunks.stream().mapToLong(ByteBuffer::remaining).sum());
        } catch (ProtocolException e) {
            if (subscription != null) {
                subscription.cancel();
            }
            body.onError(e);
            return;
        }
        body.onNext(chunks);
    }

    @Override
    public void onError(Throwable cause) {
        body.onError(cause);
    }

    @Override
    public void onComplete() {
        body.onComplete();
    }
}
