package io.homeostat.reconcile.agent.hooks;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.agent.hooks.Hooks.Delivery;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells one hook of the events that it wants, in their order, one after the other, on a thread of its own. */
final class HookWorker {
    private static final Logger LOG = LoggerFactory.getLogger(HookWorker.class);
    private static final Duration LOOK = Duration.ofSeconds(1);
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(5);
    private static final int PAGE = 100;

    private final String name;
    private final AgentConfig.Hook hook;
    private final HookCall call;
    private final StateStore store;
    private final String machine;
    private final Retries retries;
    private final Progress progress;
    private final Consumer<Delivery> deliveries;
    private final Thread thread = Thread.ofPlatform().name("hook").daemon(true).unstarted(this::run);
    private volatile long position;
    /** Why it could not be told the last time; empty when it could, or there was nothing to tell. */
    private volatile String problem = "";

    /**
     * How often an event is tried to be told.
     *
     * @param attempts before it is given up
     */
    record Retries(Backoff backoff, int attempts) {}

    /** Hears that a worker has come further. */
    interface Progress {
        /**
         * An event is done with.
         *
         * @param told whether the hook wanted to be told of it
         */
        void passed(long event, boolean told);
    }

    /** @param name for people: where it stands in the configuration */
    HookWorker(
            String name,
            AgentConfig.Hook hook,
            HookCall call,
            StateStore store,
            String machine,
            long position,
            Retries retries,
            Progress progress,
            Consumer<Delivery> deliveries) {
        this.name = name;
        this.hook = hook;
        this.call = call;
        this.store = store;
        this.machine = machine;
        this.position = position;
        this.retries = retries;
        this.progress = progress;
        this.deliveries = deliveries;
    }

    void start() {
        thread.start();
    }

    /** The id of the newest event that is done with. */
    long position() {
        return position;
    }

    /** What it could not be told the last time, and why. */
    Optional<String> problem() {
        return Optional.of(problem).filter(why -> !why.isEmpty());
    }

    private void run() {
        try {
            while (true) {
                if (!page()) {
                    Thread.sleep(LOOK);
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("no more is told to hooks by this thread");
        }
    }

    /** Goes through the next events; false when there are none, or they can't be read now. */
    private boolean page() throws InterruptedException {
        try {
            ImmutableList<StoredEvent> events = store.events(position, PAGE);
            for (StoredEvent event : events) {
                boolean wanted = isWanted(event.event());
                if (wanted) {
                    tell(event);
                }
                position = event.id();
                progress.passed(event.id(), wanted);
            }
            return !events.isEmpty();
        } catch (StoreException e) {
            LOG.warn("{}; hooks are told later", e.getMessage());
            return false;
        } catch (RuntimeException e) {
            LOG.warn("{}; hooks are told later", unexpected(e));
            return false;
        }
    }

    private boolean isWanted(Event event) {
        return event.workload() != null && hook.on().contains(event.type().shortName());
    }

    private void tell(StoredEvent event) throws InterruptedException {
        String what = event.event().type().shortName() + " of " + event.event().workload();
        for (int attempt = 1; ; attempt++) {
            String why;
            try {
                call.tell(HookMessage.of(event, machine));
                LOG.debug("{} was told {}", name, what);
                deliveries.accept(Delivery.TOLD);
                problem = "";
                return;
            } catch (IOException e) {
                why = String.valueOf(e.getMessage());
            } catch (RuntimeException e) {
                why = unexpected(e);
            }
            if (attempt >= retries.attempts()) {
                LOG.warn("{} was not told {}, given up after {} attempts: {}", name, what, attempt, why);
                problem = name + " of the configuration was not told " + what + ", given up after " + attempt
                        + " attempts: " + why;
                deliveries.accept(Delivery.GIVEN_UP);
                return;
            }
            problem = name + " of the configuration could not be told " + what + ", and is tried again: " + why;
            deliveries.accept(Delivery.FAILED);
            if (attempt == 1) {
                LOG.warn("{} could not be told {}, and is tried again: {}", name, what, why);
            }
            Thread.sleep(retries.backoff().bound(attempt));
        }
    }

    /** Without its message, which may quote a URL that is secret. */
    static String unexpected(RuntimeException e) {
        return "unexpected " + e.getClass().getName();
    }

    /** Breaks off what is under way; it is told again by the next one. */
    void close() {
        thread.interrupt();
        try {
            if (!thread.join(PATIENCE_AT_CLOSE)) {
                LOG.warn("a hook does not end; it is left behind");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
