package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.Status;
import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.Outbox;
import io.homeostat.desired.state.Outbox.Queued;
import io.homeostat.desired.state.StoreException;
import io.homeostat.proto.acp.PluginEventMessage;
import io.homeostat.proto.acp.PluginEventMessage.PluginEventType;
import io.homeostat.proto.acs.MessageBody;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delivers the events of plugins to the control plane: each plugin's in order, one after the other's acknowledgement, and those of several
 * plugins at once. At least once: an event leaves the store's queue some time after its acknowledgement, together with others, and is
 * sent again under the same message id if the agent dies in between.
 *
 * <p>An event that the control plane refuses for good is logged, counted and given up. One thread does it all, woken up by new events and
 * by acknowledgements.
 */
public final class EventDelivery implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventDelivery.class);

    /** Plugins whose events are in flight at the same time; the rest of the channel's window is for replies. */
    private static final int WINDOW = Channel.WINDOW - ReplySender.MOST_PENDING;

    private static final int PER_PLUGIN = 1_000;
    private static final int PAGE = 4_000;
    /** How many acknowledged events leave the queue in one transaction, unless there is nothing else to do. */
    private static final int BATCH = 256;

    private static final Duration LINGER = Duration.ofMillis(100);
    private static final Duration RETRY_STORE = Duration.ofSeconds(5);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private final Outbox outbox;
    private final Channel channel;
    private final RedeliveryPolicy policy;
    /** Tasks of the thread, which does nothing but these and {@link #advance}. */
    private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();

    private final AtomicBoolean changed = new AtomicBoolean();
    private final Thread thread;

    // Used by the thread only, from here on.
    private final PluginQueues queues = new PluginQueues(WINDOW);
    private final Map<Queued, CompletableFuture<Status>> sent = new HashMap<>();
    private final Set<Long> delivered = new HashSet<>();
    private final Set<Long> refused = new HashSet<>();
    private String lastRefusal = "";
    private boolean storeFailing;
    private boolean opened;
    private boolean closed;
    private boolean idle;
    private boolean changedSinceRefill = true;
    /** Whether the store's queue held more than the last page. */
    private boolean morePages;
    /** Whether another page may have others: a plugin's events on this one are used up, or some have left the store's queue. */
    private boolean pageIsStale;

    /** Begins to queue events, if none were queued yet, and to deliver them. */
    public static EventDelivery start(Outbox outbox, Channel channel) {
        return start(outbox, channel, new RedeliveryPolicy());
    }

    static EventDelivery start(Outbox outbox, Channel channel, RedeliveryPolicy policy) {
        EventDelivery delivery = new EventDelivery(outbox, channel, policy);
        delivery.start();
        return delivery;
    }

    private EventDelivery(Outbox outbox, Channel channel, RedeliveryPolicy policy) {
        this.policy = policy;
        this.outbox = outbox;
        this.channel = channel;
        this.thread = Thread.ofPlatform().name("events").daemon(true).unstarted(this::deliver);
    }

    private void start() {
        try {
            // At once, so that nothing is missed while the thread starts.
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

    private void changed() {
        if (changed.compareAndSet(false, true)) {
            tasks.add(() -> {
                changed.set(false);
                changedSinceRefill = true;
            });
        }
    }

    private void deliver() {
        try {
            while (!closed) {
                await(advance());
            }
            settle();
        } catch (InterruptedException e) {
            LOG.debug("no more events are delivered: interrupted");
        } catch (StoreException e) {
            LOG.warn("{}; events that the control plane has acknowledged are sent again", e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("no more events are delivered until the agent is restarted: a fault of the program", e);
        } finally {
            sent.values().forEach(one -> one.cancel(false));
        }
    }

    /**
     * Sends and settles what there is.
     *
     * @return how long to wait for a task; empty: until there is one
     */
    private Optional<Duration> advance() {
        try {
            open();
            int unsettled = delivered.size() + refused.size();
            if (unsettled >= BATCH || idle) {
                settle();
            }
            if (!queues.isWindowFull() && (changedSinceRefill || (morePages && pageIsStale))) {
                refill();
            }
            for (Optional<Queued> next = queues.next(); next.isPresent(); next = queues.next()) {
                sendOrPutBack(next.get());
            }
            storeFailing = false;
            return delivered.isEmpty() && refused.isEmpty() ? Optional.empty() : Optional.of(LINGER);
        } catch (StoreException e) {
            if (!storeFailing) {
                storeFailing = true;
                LOG.warn("{}; events are delivered once that is possible", e.getMessage());
            }
            return Optional.of(RETRY_STORE);
        }
    }

    /** Waits for a task, and does all there are. */
    private void await(Optional<Duration> timeout) throws InterruptedException {
        Runnable task =
                timeout.isEmpty() ? tasks.take() : tasks.poll(timeout.get().toNanos(), TimeUnit.NANOSECONDS);
        idle = task == null;
        while (task != null && !closed) {
            task.run();
            task = tasks.poll();
        }
    }

    /** Acknowledged events that are not settled yet are still in the store's queue, but not sent again. */
    private void refill() {
        ImmutableList<Queued> page = outbox.next(PER_PLUGIN, PAGE);
        changedSinceRefill = false;
        pageIsStale = false;
        morePages = outbox.size() > page.size();
        queues.refill(page.stream()
                .filter(one -> !delivered.contains(one.id()) && !refused.contains(one.id()))
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
            queues.putBack(next);
            throw e;
        }
        // Dropped meanwhile, which has been counted; or unreadable, which would block those behind it forever.
        lastRefusal = "event " + next.id() + " of " + next.plugin().brief() + " can't be read";
        finish(next, refused);
    }

    private void send(Queued next, UUID messageId, MessageBody message) {
        CompletableFuture<Status> answer = channel.send(messageId.toString(), message);
        sent.put(next, answer);
        CompletableFuture<Status> _ = answer.whenComplete(
                (status, failure) -> tasks.add(failure == null ? () -> answered(next, status) : () -> closed = true));
    }

    private void answered(Queued event, Status status) {
        sent.remove(event);
        switch (policy.decide(event, status)) {
            case RedeliveryPolicy.Decision.Delivered() -> finish(event, delivered);
            case RedeliveryPolicy.Decision.Retry(Duration delay) ->
                CompletableFuture.delayedExecutor(delay.toMillis(), TimeUnit.MILLISECONDS)
                        .execute(() -> tasks.add(() -> queues.putBack(event)));
            case RedeliveryPolicy.Decision.Discard(String why) -> {
                lastRefusal = why;
                finish(event, refused);
            }
        }
    }

    private void finish(Queued event, Set<Long> settled) {
        settled.add(event.id());
        policy.forget(event);
        pageIsStale |= queues.finished(event);
    }

    private void settle() {
        if (delivered.isEmpty() && refused.isEmpty()) {
            return;
        }
        int lost = outbox.settle(ImmutableSet.copyOf(delivered), ImmutableSet.copyOf(refused));
        delivered.clear();
        refused.clear();
        pageIsStale = true;
        if (lost > 0) {
            LOG.warn("{} events will never reach the control plane; the last one: {}", lost, lastRefusal);
        }
    }

    /** Ends delivery; what is not acknowledged is sent when it begins again. The channel stays open. */
    @Override
    public void close() {
        outbox.listen(() -> {});
        tasks.add(() -> closed = true);
        try {
            thread.join(CLOSE_TIMEOUT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Which event is sent next: for each plugin one at a time, in order; for all of them no more than the window. */
    private static final class PluginQueues {
        private final int window;
        private final Map<WorkloadId, Deque<Queued>> waiting = new HashMap<>();
        /** Plugins with events to send and none in flight, the one that has waited longest first. */
        private final Set<WorkloadId> ready = new LinkedHashSet<>();

        private final Map<WorkloadId, Queued> inFlight = new HashMap<>();

        PluginQueues(int window) {
            this.window = window;
        }

        /** Replaces what waits; what is in flight stays so. */
        void refill(Collection<Queued> queued) {
            waiting.clear();
            for (Queued one : queued) {
                if (!one.equals(inFlight.get(one.plugin()))) {
                    waiting.computeIfAbsent(one.plugin(), _ -> new ArrayDeque<>())
                            .add(one);
                }
            }
            ready.retainAll(waiting.keySet());
            for (WorkloadId plugin : waiting.keySet()) {
                if (!inFlight.containsKey(plugin)) {
                    ready.add(plugin);
                }
            }
        }

        /** Takes what is sent next; it is in flight until it is {@link #finished} or {@link #putBack}. */
        Optional<Queued> next() {
            Iterator<WorkloadId> first = ready.iterator();
            if (isWindowFull() || !first.hasNext()) {
                return Optional.empty();
            }
            WorkloadId plugin = first.next();
            first.remove();
            Queued one = Objects.requireNonNull(waiting.get(plugin)).removeFirst();
            inFlight.put(plugin, one);
            return Optional.of(one);
        }

        /**
         * Makes way for the next one of its plugin.
         *
         * @return whether none is known
         */
        boolean finished(Queued one) {
            inFlight.remove(one.plugin(), one);
            Deque<Queued> behind = waiting.get(one.plugin());
            if (behind == null || behind.isEmpty()) {
                waiting.remove(one.plugin());
                return true;
            }
            ready.add(one.plugin());
            return false;
        }

        /** It is to be sent again, before all others of its plugin. */
        void putBack(Queued one) {
            if (inFlight.remove(one.plugin(), one)) {
                waiting.computeIfAbsent(one.plugin(), _ -> new ArrayDeque<>()).addFirst(one);
                ready.add(one.plugin());
            }
        }

        boolean isWindowFull() {
            return inFlight.size() >= window;
        }
    }

    /** Events of plugins as messages for the control plane. */
    static final class PluginEvents {
        /** The most bytes of details: enough for the 30 lines of log that come with a crash. */
        static final int MOST_DETAILS = 16 * 1024;

        private static final int HEAD = 4 * 1024;
        private static final ByteString CUT = ByteString.copyFromUtf8("\n[...]\n");

        private PluginEvents() {}

        static MessageBody message(WorkloadId plugin, Event event) {
            PluginEventMessage.Builder message = PluginEventMessage.newBuilder()
                    .setPluginName(plugin.name())
                    .setRevisionId(event.revision())
                    .setEventType(PluginEventType.valueOf(event.type().name()))
                    .setEventTimestamp(Protocol.timestamp(event.time()))
                    .setEventDetails(details(event.message()));
            return MessageBody.newBuilder()
                    .putLabels(Protocol.MESSAGE_TYPE, Protocol.PLUGIN_EVENT)
                    .setBody(Any.pack(message.build()))
                    .build();
        }

        /** The beginning, which says what happened, and the end, which has the last lines of the log; these may quote URLs. */
        private static ByteString details(String text) {
            ByteString all = ByteString.copyFromUtf8(Redaction.text(text));
            if (all.size() <= MOST_DETAILS) {
                return all;
            }
            ByteString head = all.substring(0, boundary(all, HEAD));
            ByteString tail =
                    all.substring(boundary(all, all.size() - (MOST_DETAILS - HEAD - CUT.size() - Integer.BYTES)));
            return head.concat(CUT).concat(tail);
        }

        /** The first byte of the character that this one belongs to. */
        private static int boundary(ByteString utf8, int index) {
            int start = index;
            while (start > 0 && (utf8.byteAt(start) & 0xC0) == 0x80) {
                start--;
            }
            return start;
        }
    }
}
