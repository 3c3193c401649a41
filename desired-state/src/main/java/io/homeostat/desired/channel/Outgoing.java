package io.homeostat.desired.channel;

import com.google.common.base.Ticker;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The messages of ours that are not acknowledged, in their order, and when each is to be sent next. Outlives the streams. May be used
 * by any thread; futures are completed outside the lock, since whoever waits for one may send the next.
 */
final class Outgoing {
    /** More refusals than this make no pause longer. */
    private static final int MAX_REFUSALS = 40;

    private final Timing timing;
    private final Ticker ticker;
    private final Budget budget;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<String, Letter> letters = new LinkedHashMap<>();
    private long heldUntil;
    private boolean closed;

    Outgoing(Timing timing, Ticker ticker) {
        this.timing = timing;
        this.ticker = ticker;
        this.budget = new Budget(ticker);
        this.heldUntil = ticker.read();
    }

    /** Whether messages can leave. */
    interface Way {
        /** It will never be open again. */
        boolean over();

        /** A message would go out at once. */
        boolean open();
    }

    /** @param pause nanoseconds until there may be something, when there is nothing now */
    record Turn(@Nullable StreamAgentMessagesRequest request, long pause) {
        static final Turn NOTHING = new Turn(null, Long.MAX_VALUE);
    }

    private static final class Letter {
        final StreamAgentMessagesRequest request;
        final CompletableFuture<Status> future;
        long due;
        int refusals;

        Letter(StreamAgentMessagesRequest request, CompletableFuture<Status> future, long due) {
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
            // It would end each stream, and with it keep all others from being sent.
            return CompletableFuture.completedFuture(Status.newBuilder()
                    .setCode(Code.INVALID_ARGUMENT_VALUE)
                    .setMessage("not sent: " + request.getSerializedSize() + " bytes are more than the "
                            + Endpoint.MAX_MESSAGE_BYTES + " that a message may have")
                    .build());
        }
        CompletableFuture<Status> future = new CompletableFuture<>();
        lock.lock();
        try {
            if (closed) {
                return CompletableFuture.failedFuture(closedChannel());
            }
            Letter letter = new Letter(request, future, ticker.read());
            letters.put(id, letter);
            var _ = future.whenComplete((status, failure) -> forget(id, letter));
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        return future;
    }

    int size() {
        lock.lock();
        try {
            return letters.size();
        } finally {
            lock.unlock();
        }
    }

    /** What the control plane's headers say of this stream; see {@link Budget#limit}. */
    void limit(long messagesPerMinute, long bytesPerMinute) {
        lock.lock();
        try {
            budget.limit(messagesPerMinute, bytesPerMinute);
        } finally {
            lock.unlock();
        }
    }

    /** A new stream: nothing is on its way. */
    void startOver() {
        lock.lock();
        try {
            long now = ticker.read();
            letters.values().forEach(letter -> letter.due = now);
        } finally {
            lock.unlock();
        }
    }

    /** A control plane's answer. To what was never sent, or is answered already, it means nothing. */
    void answered(String id, Status status) {
        Letter done;
        lock.lock();
        try {
            Letter letter = letters.get(id);
            if (letter != null && status.getCode() == Code.RESOURCE_EXHAUSTED_VALUE) {
                letter.refusals = Math.min(letter.refusals + 1, MAX_REFUSALS);
                // It is the agent that sends too much, not this message that is too much; so the others wait, too.
                heldUntil = ticker.read()
                        + timing.exhausted().multipliedBy(letter.refusals).toNanos();
                letter.due = heldUntil;
                changed.signalAll();
                return;
            }
            done = letters.remove(id);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (done != null) {
            done.future.complete(status);
        }
    }

    /** Something about a way may have changed. */
    void look() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits for what has to be sent next; null when the way is over. */
    @Nullable
    StreamAgentMessagesRequest take(Way way) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!way.over()) {
                Turn turn = way.open() ? turn() : Turn.NOTHING;
                if (turn.request != null) {
                    return turn.request;
                }
                if (turn.pause == Long.MAX_VALUE) {
                    changed.await();
                } else {
                    long _ = changed.awaitNanos(turn.pause);
                }
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** What may be sent now; it counts as sent. */
    Turn turn() {
        lock.lock();
        try {
            long now = ticker.read();
            Letter next = next();
            if (next == null) {
                return Turn.NOTHING;
            }
            long wait = Math.max(next.due - now, heldUntil - now);
            if (wait <= 0) {
                wait = budget.take(next.request.getSerializedSize());
            }
            if (wait > 0) {
                return new Turn(null, wait);
            }
            next.due = now + timing.acknowledgement().toNanos();
            return new Turn(next.request, 0);
        } finally {
            lock.unlock();
        }
    }

    /**
     * The one in the window that is due for longest, or will be soonest. Not simply the first: where only so many may be sent, what is
     * not acknowledged would be sent again and again, and what comes after it never.
     */
    private @Nullable Letter next() {
        Letter next = null;
        int seen = 0;
        for (Letter letter : letters.values()) {
            if (next == null || letter.due - next.due < 0) {
                next = letter;
            }
            if (++seen == Channel.WINDOW) {
                break;
            }
        }
        return next;
    }

    void close() {
        Map<String, Letter> left;
        lock.lock();
        try {
            closed = true;
            left = new LinkedHashMap<>(letters);
            letters.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        left.values().forEach(letter -> letter.future.completeExceptionally(closedChannel()));
    }

    /** Only this one: it may have been answered, and be on its way again. */
    private void forget(String id, Letter letter) {
        lock.lock();
        try {
            letters.remove(id, letter);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static CancellationException closedChannel() {
        return new CancellationException("the channel to the control plane was closed");
    }
}
