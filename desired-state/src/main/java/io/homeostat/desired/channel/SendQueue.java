package io.homeostat.desired.channel;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Our unacknowledged messages, in their order, and when each is to be sent next. Outlives the streams. Thread-safe; futures are
 * completed outside the lock, since their dependents may send the next message.
 */
final class SendQueue {
    /** Further refusals no longer lengthen the pause. */
    private static final int MAX_REFUSALS = 40;

    private final ChannelTiming timing;
    private final Ticker ticker;
    private final RateLimit rateLimit;
    private final Map<String, Pending> pending = new LinkedHashMap<>();
    private long heldUntil;
    private boolean closed;

    SendQueue(ChannelTiming timing, Ticker ticker) {
        this.timing = timing;
        this.ticker = ticker;
        this.rateLimit = new RateLimit(ticker);
        this.heldUntil = ticker.read();
    }

    /** The stream of the moment. */
    interface Link {
        /** Whether it has ended for good. */
        boolean over();

        /** Whether a message would go out at once. */
        boolean open();
    }

    /** What is to be sent now; if there is nothing, the nanoseconds until there may be something. */
    record Turn(@Nullable StreamAgentMessagesRequest request, long pause) {
        static final Turn NOTHING = new Turn(null, Long.MAX_VALUE);
    }

    private static final class Pending {
        final StreamAgentMessagesRequest request;
        final CompletableFuture<Status> future;
        long due;
        int refusals;

        Pending(StreamAgentMessagesRequest request, CompletableFuture<Status> future, long due) {
            this.request = request;
            this.future = future;
            this.due = due;
        }
    }

    CompletableFuture<Status> add(String id, MessageBody body) {
        StreamAgentMessagesRequest request = StreamAgentMessagesRequest.newBuilder()
                .setMessageId(id)
                .setMessageBody(body)
                .build();
        if (request.getSerializedSize() > Endpoint.MAX_MESSAGE_BYTES) {
            // It would end every stream, and so keep all others from being sent.
            return CompletableFuture.completedFuture(Status.newBuilder()
                    .setCode(Code.INVALID_ARGUMENT_VALUE)
                    .setMessage("not sent: " + request.getSerializedSize() + " bytes are more than the "
                            + Endpoint.MAX_MESSAGE_BYTES + " that a message may have")
                    .build());
        }
        CompletableFuture<Status> future = new CompletableFuture<>();
        synchronized (this) {
            if (closed) {
                return CompletableFuture.failedFuture(closedChannel());
            }
            Pending message = new Pending(request, future, ticker.read());
            pending.put(id, message);
            var _ = future.whenComplete((status, failure) -> forget(id, message));
            notifyAll();
        }
        return future;
    }

    synchronized int size() {
        return pending.size();
    }

    /** Sets what the control plane's headers allow; see {@link RateLimit#limit}. */
    synchronized void limit(long messagesPerMinute, long bytesPerMinute) {
        rateLimit.limit(messagesPerMinute, bytesPerMinute);
    }

    /** Forgets what is in flight: there is a new stream. */
    synchronized void startOver() {
        long now = ticker.read();
        pending.values().forEach(message -> message.due = now);
    }

    /** Takes the control plane's answer to a message; ignored if that was never sent, or is answered already. */
    void answered(String id, Status status) {
        Pending done;
        synchronized (this) {
            Pending message = pending.get(id);
            if (message != null && status.getCode() == Code.RESOURCE_EXHAUSTED_VALUE) {
                message.refusals = Math.min(message.refusals + 1, MAX_REFUSALS);
                // The agent sends too much, not this message; so the others wait, too.
                heldUntil = ticker.read()
                        + timing.exhausted().multipliedBy(message.refusals).toNanos();
                message.due = heldUntil;
                notifyAll();
                return;
            }
            done = pending.remove(id);
            notifyAll();
        }
        if (done != null) {
            done.future.complete(status);
        }
    }

    /** Looks again, as something about the link may have changed. */
    synchronized void wakeUp() {
        notifyAll();
    }

    /** Waits for the next message to be sent; null if the link is over. */
    @Nullable
    synchronized StreamAgentMessagesRequest take(Link link) throws InterruptedException {
        while (!link.over()) {
            Turn turn = link.open() ? turn() : Turn.NOTHING;
            if (turn.request != null) {
                return turn.request;
            }
            TimeUnit.NANOSECONDS.timedWait(this, turn.pause);
        }
        return null;
    }

    /** Takes what may be sent now; it counts as sent. */
    synchronized Turn turn() {
        long now = ticker.read();
        Pending next = next();
        if (next == null) {
            return Turn.NOTHING;
        }
        long wait = Math.max(next.due - now, heldUntil - now);
        if (wait <= 0) {
            wait = rateLimit.take(next.request.getSerializedSize());
        }
        if (wait > 0) {
            return new Turn(null, wait);
        }
        next.due = now + timing.acknowledgement().toNanos();
        return new Turn(next.request, 0);
    }

    /**
     * The message in the window that has been due the longest, or will be due first. Not simply the oldest: under a rate limit, messages
     * that are not acknowledged would be repeated forever and those behind them never sent.
     */
    private @Nullable Pending next() {
        Pending next = null;
        int seen = 0;
        for (Pending message : pending.values()) {
            if (next == null || message.due - next.due < 0) {
                next = message;
            }
            if (++seen == Channel.WINDOW) {
                break;
            }
        }
        return next;
    }

    void close() {
        Map<String, Pending> left;
        synchronized (this) {
            closed = true;
            left = new LinkedHashMap<>(pending);
            pending.clear();
            notifyAll();
        }
        left.values().forEach(message -> message.future.completeExceptionally(closedChannel()));
    }

    /** Removes this very message: the id may have been answered meanwhile, and be in use again. */
    private synchronized void forget(String id, Pending message) {
        pending.remove(id, message);
        notifyAll();
    }

    private static CancellationException closedChannel() {
        return new CancellationException("the channel to the control plane was closed");
    }

    /**
     * How much a control plane lets an agent send in a minute: no limit until it sets one. Not thread-safe.
     *
     * <p>A quarter of a minute's share may be sent at once, the rest trickles in, so that no minute holds more than was allowed, wherever
     * it is taken to begin. A share of less than four is spread evenly.
     */
    static final class RateLimit {
        /** A second more than a minute: what leaves evenly does not arrive evenly. */
        private static final double MINUTE = Duration.ofSeconds(61).toNanos();

        private static final int BURST_SHARE = 4;

        private final Ticker ticker;
        private @Nullable TokenBucket messages;
        private @Nullable TokenBucket bytes;

        RateLimit(Ticker ticker) {
            this.ticker = ticker;
        }

        /** Sets the limits, 0 for none. What was spent under the former ones stays spent: a new stream is not a new minute. */
        void limit(long messagesPerMinute, long bytesPerMinute) {
            long now = ticker.read();
            messages = limited(messages, messagesPerMinute, now);
            bytes = limited(bytes, bytesPerMinute, now);
        }

        private static @Nullable TokenBucket limited(@Nullable TokenBucket before, long perMinute, long now) {
            if (perMinute == 0) {
                return null;
            }
            double burst = Math.max(1, (double) perMinute / BURST_SHARE);
            double interval = MINUTE / (perMinute < BURST_SHARE ? perMinute : perMinute - burst);
            if (before == null) {
                return new TokenBucket(burst, interval, now);
            }
            before.limit(burst, interval, now);
            return before;
        }

        /** Takes a message of this size; returns 0, or the nanoseconds to wait until it can be taken. */
        long take(int size) {
            long now = ticker.read();
            long wait = Math.max(
                    messages == null ? 0 : messages.nanosUntil(1, now),
                    bytes == null ? 0 : bytes.nanosUntil(size, now));
            if (wait == 0) {
                if (messages != null) {
                    messages.take(1);
                }
                if (bytes != null) {
                    bytes.take(size);
                }
            }
            return wait;
        }
    }
}
