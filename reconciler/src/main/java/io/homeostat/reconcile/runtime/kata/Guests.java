package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogAppends;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.guest.GuestConnection;
import io.homeostat.observe.guest.GuestDialer;
import io.homeostat.observe.guest.GuestProbes;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.reconcile.runtime.LaunchesBegun;
import io.homeostat.reconcile.runtime.Machine;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The guests that sandboxes of this machine are in, and what is known of them as long as this process lives. */
final class Guests implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Guests.class);

    private static final Duration POLL = Duration.ofMillis(100);

    /** Bytes of a log, or of output of the containers of a guest, that are read at once, and then in a second: to print costs a guest far less. */
    private static final long OUTPUT_AT_ONCE = 64 << 20;

    private static final long OUTPUT_PER_SECOND = 8 << 20;

    /** A read of less counts as one of so much. */
    private static final int LEAST_OUTPUT = 8 << 10;

    private final ScheduledThreadPoolExecutor timer;
    private final InstantSource clock;
    private final SandboxNotes notes;
    private final Kind kind;
    private final GuestConnection.Dialer dialer;
    private final GuestTiming timing;
    private final GuestLogs logs;
    private final Map<GuestEndpoint, Guest> guests = new ConcurrentHashMap<>();
    private final Map<String, Contact> contacts = new ConcurrentHashMap<>();

    private final LaunchesBegun begun = new LaunchesBegun();

    /**
     * Reaches nobody yet.
     *
     * @param machine where what agents log is kept
     * @param kind of what is looked at and changed by way of these
     */
    Guests(Machine machine, Kind kind) {
        this(machine, kind, timer -> new GuestDialer(timer)::connect, GuestTiming.SYSTEM);
    }

    /** @param dialer made with the timer for time limits */
    Guests(
            Machine machine,
            Kind kind,
            Function<ScheduledExecutorService, GuestConnection.Dialer> dialer,
            GuestTiming timing) {
        this.kind = kind;
        this.timing = timing;
        notes = new SandboxNotes(machine.layout());
        timer = new ScheduledThreadPoolExecutor(
                1, Thread.ofPlatform().daemon().name("guests").factory());
        timer.setRemoveOnCancelPolicy(true);
        clock = machine.clock();
        this.dialer = dialer.apply(timer);
        logs = new GuestLogs(this.dialer, new LogAppends(machine.layout(), machine.logTurns()), timing);
    }

    /** What their agents log. */
    GuestLogs logs() {
        return logs;
    }

    GuestTiming timing() {
        return timing;
    }

    Guest at(GuestEndpoint endpoint) {
        return guests.computeIfAbsent(endpoint, Guest::new);
    }

    Guest of(Identity.Sandbox sandbox) {
        return at(GuestEndpoint.parse(sandbox.endpoint()));
    }

    /** Where a launch is, or is to be; empty as long as no guest was asked for it. */
    static Optional<Identity.Sandbox> identity(Instance instance) {
        return instance.identity() instanceof Identity.Sandbox sandbox ? Optional.of(sandbox) : Optional.empty();
    }

    /** How a launch is reached. */
    Contact contact(String launchId) {
        return contacts.computeIfAbsent(launchId, _ -> new Contact());
    }

    /** Of all launches that were looked at and are not over. */
    ImmutableList<Contact> contacts() {
        return ImmutableList.copyOf(contacts.values());
    }

    /** A launch is over; its guest may be used by others. */
    void forget(Instance instance) {
        contacts.remove(instance.launchId());
        logs.forget(instance);
    }

    /** Nobody needs these connections any more. */
    void leave(GuestEndpoint endpoint) {
        Guest guest = guests.remove(endpoint);
        if (guest != null) {
            guest.close();
        }
    }

    /** Writes down which calls are not answered. */
    void writeUnanswered() {
        for (Guest guest : guests.values()) {
            try {
                guest.unanswered().write();
            } catch (ActuationFailure e) {
                LOG.debug("{}: {}", guest.endpoint(), e.getMessage());
            }
        }
    }

    LaunchesBegun begun() {
        return begun;
    }

    @Override
    public void close() {
        logs.close();
        guests.values().forEach(Guest::close);
        timer.shutdownNow();
    }

    /**
     * A guest, with a connection to look, another to change things, and a third for what waits as long as it takes: none waits for what is
     * done over another.
     */
    final class Guest implements AutoCloseable {
        private final GuestEndpoint endpoint;
        private final GuestConnection looks;
        private final GuestConnection changes;
        private final GuestConnection streams;
        private final Unanswered unanswered = new Unanswered(clock, notes, kind);

        /** For the bytes that its agent logs, or all of its containers print. */
        private final TokenBucket output = new TokenBucket(
                OUTPUT_AT_ONCE, (double) Duration.ofSeconds(1).toNanos() / OUTPUT_PER_SECOND, timing.read());

        private Guest(GuestEndpoint endpoint) {
            this.endpoint = endpoint;
            this.looks = connection(endpoint);
            this.changes = connection(endpoint);
            this.streams = connection(endpoint);
        }

        /** What its agent was asked to change. */
        Unanswered unanswered() {
            return unanswered;
        }

        private GuestConnection connection(GuestEndpoint to) {
            return new GuestConnection(to, dialer, timer, timing::read, RandomGenerator.getDefault());
        }

        /** Counts what was read of what it logs or prints, and waits until more may be read. */
        void awaitOutputTurn(int bytes) throws InterruptedException {
            Duration pause = outputPause(bytes);
            while (!pause.isZero()) {
                timing.sleep(pause);
                pause = outputPause();
            }
        }

        /** Counts what was read; returns how long to wait until more is read. */
        Duration outputPause(int bytes) {
            synchronized (output) {
                output.take(Math.max(bytes, LEAST_OUTPUT));
                return outputPause();
            }
        }

        private Duration outputPause() {
            synchronized (output) {
                long now = timing.read();
                return output.available(now) > 0 ? Duration.ZERO : Duration.ofNanos(output.nanosUntil(1, now));
            }
        }

        GuestEndpoint endpoint() {
            return endpoint;
        }

        GuestTiming timing() {
            return timing;
        }

        GuestConnection looks() {
            return looks;
        }

        /** For what processes print, and for their ends. */
        GuestConnection streams() {
            return streams;
        }

        GuestProbes probes(Duration timeout) {
            return new GuestProbes(looks, timing.callTimeout(timeout));
        }

        GuestChanges changes(Duration timeout) {
            return new GuestChanges(changes, unanswered, timing.callTimeout(timeout));
        }

        /**
         * Waits until it can be asked for changes and for how it is, as an agent that starts again; whether it can.
         *
         * @param goesOn whether it is worth to wait
         */
        boolean awaitAgent(Duration within, BooleanSupplier goesOn) throws UnreachableGuest, InterruptedException {
            long end = timing.read() + within.toNanos();
            while (true) {
                try {
                    var _ = looks.channel();
                    var _ = changes.channel();
                    return true;
                } catch (UnreachableGuest e) {
                    if (!SandboxObserver.isGone(e)) {
                        throw e;
                    }
                    if (timing.read() - end >= 0 || !goesOn.getAsBoolean()) {
                        return false;
                    }
                }
                timing.sleep(POLL);
            }
        }

        @Override
        public void close() {
            try {
                unanswered.close();
            } catch (ActuationFailure e) {
                LOG.debug("{}: {}", endpoint, e.getMessage());
            }
            looks.close();
            changes.close();
            streams.close();
        }
    }
}
