package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.rpc.Status;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.Outbox;
import io.homeostat.desired.state.Outbox.Queued;
import io.homeostat.desired.state.StoreException;
import io.homeostat.proto.acs.MessageBody;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the control plane what happens to plugins: each plugin's events in order, the next one once the former is acknowledged, and of
 * several plugins at once. An event is told at least once: it leaves the queue in the store some time after it was acknowledged, together
 * with others, and is told again when the agent dies in between, under the same message id.
 *
 * <p>An event that the control plane refuses for good is logged, counted and left behind. One thread does it all, woken up by what is
 * stored and what is acknowledged.
 */
public final class EventDelivery implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventDelivery.class);

    /** Plugins whose events are under way at the same time. Answers must not wait until events are acknowledged. */
    private static final int WINDOW = Channel.WINDOW - Replies.MOST;

    private static final int PER_PLUGIN = 1_000;
    private static final int PAGE = 4_000;
    /** Acknowledged events that leave the queue in one transaction, unless there is nothing else to do. */
    private static final int BATCH = 256;

    private static final Duration LINGER = Duration.ofMillis(100);
    private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(5);

    private final Outbox outbox;
    private final Channel channel;
    private final Patience patience;
    private final BlockingQueue<Notice> notices = new LinkedBlockingQueue<>();
    private final AtomicBoolean changed = new AtomicBoolean();
    private final Thread thread;

    // Of the thread alone, from here on.
    private final Lanes lanes = new Lanes(WINDOW);
    private final Map<Queued, CompletableFuture<Status>> sent = new HashMap<>();
    private final Set<Long> told = new HashSet<>();
    private final Set<Long> refused = new HashSet<>();
    private String lastRefusal = "";
    private String lastFailure = "";
    private boolean opened;
    private boolean quiet;
    private boolean changedSince = true;
    /** Whether the queue held more than was asked for, and whether that is wanted now. */
    private boolean cut;

    private boolean hungry;

    /** Begins to queue events, if none were queued yet, and to deliver them. */
    public static EventDelivery start(Outbox outbox, Channel channel) {
        return start(outbox, channel, new Patience());
    }

    static EventDelivery start(Outbox outbox, Channel channel, Patience patience) {
        EventDelivery delivery = new EventDelivery(outbox, channel, patience);
        delivery.begin();
        return delivery;
    }

    private EventDelivery(Outbox outbox, Channel channel, Patience patience) {
        this.patience = patience;
        this.outbox = outbox;
        this.channel = channel;
        this.thread = Thread.ofPlatform().name("events").daemon(true).unstarted(this::deliver);
    }

    private void begin() {
        try {
            // At once: what happens while the thread begins is to be told, too.
            open();
        } catch (StoreException e) {
            LOG.error("{}; events are not queued for the control plane until it can be", e.getMessage());
        }
        outbox.listen(this::changed);
        thread.start();
    }

    private void open() {
        if (!opened) {
            outbox.open();
            opened = true;
        }
    }

    /** What the thread is told. */
    private sealed interface Notice {
        /** The queue has changed. */
        record Changed() implements Notice {}

        /** The control plane has said something. */
        record Answered(Queued event, Status status) implements Notice {}

        /** An event may be tried again. */
        record Due(Queued event) implements Notice {}

        /** It is over. */
        record Closed() implements Notice {}
    }

    private void changed() {
        if (changed.compareAndSet(false, true)) {
            notices.add(new Notice.Changed());
        }
    }

    private void deliver() {
        try {
            while (hear(advance())) {
                // Until it is over.
            }
            settle();
        } catch (InterruptedException e) {
            LOG.debug("no more events are delivered: interrupted");
        } catch (StoreException e) {
            LOG.warn("{}; events that the control plane has acknowledged are told again", e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("no more events are delivered until the agent is started again: a fault of the program", e);
        } finally {
            sent.values().forEach(one -> one.cancel(false));
        }
    }

    /**
     * Does what there is to do.
     *
     * @return how long to wait for a notice; empty: until there is one
     */
    private Optional<Duration> advance() {
        try {
            open();
            int unsettled = told.size() + refused.size();
            if (unsettled >= BATCH || quiet) {
                settle();
            }
            if (!lanes.isWindowFull() && (changedSince || (cut && hungry))) {
                refill();
            }
            for (Optional<Queued> next = lanes.next(); next.isPresent(); next = lanes.next()) {
                sendOrPutBack(next.get());
            }
            lastFailure = "";
            return told.isEmpty() && refused.isEmpty() ? Optional.empty() : Optional.of(LINGER);
        } catch (StoreException e) {
            if (!lastFailure.equals(e.getMessage())) {
                lastFailure = e.getMessage();
                LOG.warn("{}; events are delivered once that is possible", lastFailure);
            }
            return Optional.of(AFTER_FAILURE);
        }
    }

    /**
     * Waits for a notice, and hears all there are.
     *
     * @return false when it is over
     */
    private boolean hear(Optional<Duration> patience) throws InterruptedException {
        Notice notice = patience.isEmpty()
                ? notices.take()
                : notices.poll(patience.get().toNanos(), TimeUnit.NANOSECONDS);
        quiet = notice == null;
        while (notice != null) {
            switch (notice) {
                case Notice.Changed() -> {
                    changed.set(false);
                    changedSince = true;
                }
                case Notice.Answered(Queued event, Status status) -> answered(event, status);
                case Notice.Due(Queued event) -> lanes.again(event);
                case Notice.Closed() -> {
                    return false;
                }
            }
            notice = notices.poll();
        }
        return true;
    }

    /** What is acknowledged and not settled yet is in the queue still, but not to be told again. */
    private void refill() {
        ImmutableList<Queued> page = outbox.next(PER_PLUGIN, PAGE);
        changedSince = false;
        hungry = false;
        cut = page.size() == PAGE
                || page.stream()
                        .collect(Collectors.groupingBy(Queued::plugin, Collectors.counting()))
                        .containsValue((long) PER_PLUGIN);
        lanes.refill(page.stream()
                .filter(one -> !told.contains(one.id()) && !refused.contains(one.id()))
                .toList());
    }

    private void sendOrPutBack(Queued next) {
        try {
            Optional<Event> event = outbox.event(next.id());
            if (event.isPresent()) {
                UUID messageId = outbox.messageId(next.id(), event.get());
                send(next, messageId, PluginEvents.message(next.plugin(), event.get()));
                return;
            }
        } catch (StoreException e) {
            lanes.again(next);
            throw e;
        }
        // Dropped meanwhile, which is counted already. Or it can't be read, and would be in the way of those behind it
        // for ever.
        lastRefusal = "event " + next.id() + " of " + next.plugin() + " can't be read";
        over(next, refused);
    }

    private void send(Queued next, UUID messageId, MessageBody message) {
        CompletableFuture<Status> answer = channel.send(messageId.toString(), message);
        sent.put(next, answer);
        CompletableFuture<Status> _ = answer.whenComplete((status, failure) ->
                notices.add(failure == null ? new Notice.Answered(next, status) : new Notice.Closed()));
    }

    private void answered(Queued event, Status status) {
        sent.remove(event);
        switch (patience.hear(event, status)) {
            case Patience.Verdict.Told() -> over(event, told);
            case Patience.Verdict.Later(Duration pause) ->
                CompletableFuture.delayedExecutor(pause.toMillis(), TimeUnit.MILLISECONDS)
                        .execute(() -> notices.add(new Notice.Due(event)));
            case Patience.Verdict.Never(String why) -> {
                lastRefusal = why;
                over(event, refused);
            }
        }
    }

    private void over(Queued event, Set<Long> come) {
        come.add(event.id());
        patience.over(event);
        hungry |= lanes.landed(event);
    }

    private void settle() {
        if (told.isEmpty() && refused.isEmpty()) {
            return;
        }
        int lost = outbox.settle(ImmutableSet.copyOf(told), ImmutableSet.copyOf(refused));
        told.clear();
        refused.clear();
        if (lost > 0) {
            LOG.warn("{} events will never be told to the control plane; the last one: {}", lost, lastRefusal);
        }
    }

    /** Ends delivery; what was not acknowledged is told when it begins again. The channel goes on. */
    @Override
    public void close() {
        outbox.listen(() -> {});
        notices.add(new Notice.Closed());
        try {
            thread.join(PATIENCE_AT_CLOSE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
