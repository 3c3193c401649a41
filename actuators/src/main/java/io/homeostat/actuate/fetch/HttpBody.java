package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import java.io.EOFException;
import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The body of an HTTP response, for a reader that has a deadline: the client's own timeout ends with the headers, and its
 * streams wait without one.
 */
final class HttpBody implements BodySubscriber<HttpBody>, Body {
    /** How many parts (of up to 16 KiB) may wait for the reader. */
    private static final int WINDOW = 64;

    private final LinkedBlockingQueue<Part> parts = new LinkedBlockingQueue<>();
    private final AtomicReference<Flow.@Nullable Subscription> subscription = new AtomicReference<>();
    private List<ByteBuffer> current = List.of();
    private int next;
    private volatile boolean closed;

    private sealed interface Part {
        record Bytes(List<ByteBuffer> buffers) implements Part {}

        record End() implements Part {}

        record Broken(Throwable cause) implements Part {}
    }

    @Override
    public CompletionStage<HttpBody> getBody() {
        return CompletableFuture.completedFuture(this);
    }

    @Override
    public void onSubscribe(Flow.Subscription incoming) {
        if (subscription.compareAndSet(null, incoming) && !closed) {
            incoming.request(WINDOW);
        } else {
            incoming.cancel();
        }
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        parts.add(new Part.Bytes(buffers));
    }

    @Override
    public void onError(Throwable cause) {
        parts.add(new Part.Broken(cause));
    }

    @Override
    public void onComplete() {
        parts.add(new Part.End());
    }

    @Override
    public boolean fill(Chunk chunk, Deadline deadline) throws IOException, InterruptedException, FailedAttempt {
        while (true) {
            drain(chunk);
            Part part = chunk.length == 0
                    ? parts.poll(deadline.remaining(), TimeUnit.NANOSECONDS)
                    : chunk.room() > 0 ? parts.poll() : null;
            if (part == null) {
                if (chunk.length > 0) {
                    return true;
                }
                throw deadline.expired();
            }
            switch (part) {
                case Part.Bytes(List<ByteBuffer> buffers) -> {
                    current = buffers;
                    next = 0;
                    Flow.Subscription running = subscription.get();
                    if (running != null) {
                        running.request(1);
                    }
                }
                case Part.End() -> {
                    parts.add(part);
                    return chunk.length > 0;
                }
                case Part.Broken(Throwable cause) -> {
                    parts.add(part);
                    if (chunk.length > 0) {
                        return true;
                    }
                    throw cause instanceof IOException e ? e : new IOException("the connection broke", cause);
                }
            }
        }
    }

    private void drain(Chunk chunk) {
        while (next < current.size() && chunk.room() > 0) {
            ByteBuffer buffer = current.get(next);
            int count = Math.min(buffer.remaining(), chunk.room());
            buffer.get(chunk.bytes, chunk.length, count);
            chunk.length += count;
            if (!buffer.hasRemaining()) {
                next++;
            }
        }
    }

    /** Ends the connection unless all of the body has been read. */
    @Override
    public void close() {
        closed = true;
        Flow.Subscription running = subscription.get();
        if (running != null) {
            running.cancel();
        }
        parts.add(new Part.Broken(new EOFException("closed")));
    }
}
