package io.homeostat.reconcile.agent.fleet;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Condition.CreatedIn;
import io.homeostat.desired.etcd.KeyValues.Condition.ModifiedIn;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Write.Put;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.loop.PassListener;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the fleet how this machine is: its registration, which stays, and its report under a lease, which goes with the machine. What is
 * in the report is what the loop saw last.
 */
public final class FleetReporter implements AutoCloseable {
    /** How long a machine counts as heard of after it was heard of last: three renewals may be lost. */
    static final Duration LEASE = Duration.ofSeconds(45);

    /** How long its end may take; then the lease ends by itself. */
    private static final Duration ENDING = Duration.ofSeconds(5);

    /** The least time between two reports. */
    static final Duration INTERVAL = Duration.ofSeconds(10);

    private static final Logger LOG = LoggerFactory.getLogger(FleetReporter.class);
    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofSeconds(1), Duration.ofMinutes(1));

    private final KeyValues store;
    private final FleetKeys keys;
    private final String instanceId;
    private final Supplier<About> about;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final Duration lifetime;
    private final LongConsumer registered;
    private final RecordCodec codec = new RecordCodec(new ObjectMapper());
    private final ReportedWorkloads workloads;
    private final ReportPace pace;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changes = lock.newCondition();
    private final Thread thread;
    private volatile String problem = "";

    /**
     * What is in a report beside workloads.
     *
     * @param agent version of the agent
     * @param labels of the machine, see {@link MachineRegistration}
     * @param source of the published set that is in force, with its version and sequence
     * @param problems of the machine's sources
     */
    public record About(
            String agent,
            ImmutableSortedMap<String, String> labels,
            String source,
            String version,
            long sequence,
            int problems) {}

    /**
     * Begins to report.
     *
     * @param store used, not closed
     * @param interval the least time between two reports
     * @param lifetime how long it counts as heard of after it was heard of last
     * @param registered is told in which revision the machine was registered
     */
    public FleetReporter(
            KeyValues store,
            FleetKeys keys,
            String instanceId,
            ReportedWorkloads workloads,
            Supplier<About> about,
            InstantSource clock,
            RandomGenerator random,
            Duration interval,
            Duration lifetime,
            LongConsumer registered) {
        this.store = store;
        this.keys = keys;
        this.instanceId = instanceId;
        this.workloads = workloads;
        this.about = about;
        this.clock = clock;
        this.random = random;
        this.lifetime = lifetime;
        this.registered = registered;
        this.pace = new ReportPace(interval, random);
        workloads.onChange(this::signal);
        this.thread = Thread.ofVirtual().name("fleet-reporter").start(this::run);
    }

    /** Why nothing can be reported; empty when it can. */
    public String problem() {
        return problem;
    }

    /** Something of what is beside workloads may have changed. */
    public void changed() {
        signal();
    }

    private void signal() {
        lock.lock();
        try {
            pace.changed(clock.instant());
            changes.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        int failures = 0;
        while (true) {
            try {
                ImmutableSortedMap<String, String> labels = register();
                try (Lease lease = new Lease(store.grant(lifetime))) {
                    LOG.debug("reporting as {}", keys.report(instanceId));
                    problem = "";
                    failures = 0;
                    try {
                        report(lease, labels);
                    } catch (KeyValuesException e) {
                        lease.answers = false;
                        throw e;
                    }
                }
            } catch (KeyValuesException e) {
                failures++;
                tell(e);
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                failures++;
                problem = "this machine can't report to its fleet: " + PassListener.internalError(e);
                LOG.error("{}", problem, e);
            }
            try {
                Thread.sleep(BACKOFF.delay(Math.max(1, failures), Duration.ZERO, random));
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Once as long as it lasts: whoever is cut off fails again and again. */
    private void tell(KeyValuesException e) {
        String why = "this machine can't report to its fleet: " + e.getMessage();
        if (problem.isEmpty()) {
            LOG.warn("{}", why);
        }
        problem = why;
    }

    /**
     * The first revision counts for ever: by it machines that join late are told from others.
     *
     * @return with which labels
     */
    private ImmutableSortedMap<String, String> register() throws KeyValuesException, InterruptedException {
        String key = keys.machine(instanceId);
        MachineRegistration machine = new MachineRegistration(about.get().labels(), clock.instant());
        Put put = new Put(key, bytes(codec.write(machine)), KeyValues.NO_LEASE);
        OptionalLong made = store.commit(ImmutableList.of(new CreatedIn(key, 0)), ImmutableList.of(put));
        if (made.isPresent()) {
            registered.accept(made.getAsLong());
            return machine.labels();
        }
        Entry known = store.list(key).entries().get(key);
        if (known == null) {
            throw new KeyValuesException(
                    KeyValuesException.Kind.UNAVAILABLE, "somebody has removed " + key + " just now", null);
        }
        if (!says(known, machine.labels())) {
            store.commit(ImmutableList.of(new CreatedIn(key, known.created())), ImmutableList.of(put));
        }
        registered.accept(known.created());
        return machine.labels();
    }

    private boolean says(Entry registration, ImmutableSortedMap<String, String> labels) {
        try {
            return codec.read(MachineRegistration.class, registration.value().toStringUtf8())
                    .labels()
                    .equals(labels);
        } catch (IllegalArgumentException e) {
            LOG.warn("{} can't be read, and is written anew: {}", registration.key(), e.getMessage());
            return false;
        }
    }

    /** Until the lease is over. */
    private void report(Lease lease, ImmutableSortedMap<String, String> registeredLabels)
            throws KeyValuesException, InterruptedException {
        ImmutableSortedMap<String, String> labels = registeredLabels;
        @Nullable MachineReport last = null;
        long written = 0;
        Instant renewed = clock.instant();
        Duration renewal = lifetime.dividedBy(3);
        signal();
        while (true) {
            Instant renew = renewed.plus(renewal);
            boolean due = awaitDue(renew);
            if (due) {
                if (!about.get().labels().equals(labels)) {
                    labels = register();
                }
                MachineReport now = current();
                if (last == null || !now.at(last.at()).equals(last)) {
                    written = store.commit(
                                    ImmutableList.of(),
                                    ImmutableList.of(
                                            new Put(keys.report(instanceId), bytes(codec.write(now)), lease.id())))
                            .orElseThrow();
                    last = now;
                }
            } else {
                renewed = clock.instant();
                if (!store.renew(lease.id())) {
                    LOG.info("the lease of this machine's report was over; it reports anew");
                    return;
                }
                if (last != null && isAnother(written)) {
                    LOG.warn(
                            "somebody else has written or removed {}; are there two machines with the instance id {}?",
                            keys.report(instanceId),
                            instanceId);
                    last = null;
                    signal();
                }
            }
        }
    }

    /** Whether what is there is not what was written then. */
    private boolean isAnother(long written) throws KeyValuesException, InterruptedException {
        return store.commit(ImmutableList.of(new ModifiedIn(keys.report(instanceId), written)), ImmutableList.of())
                .isEmpty();
    }

    /** Waits until a report is due, and says so; or until the lease has to be renewed. */
    private boolean awaitDue(Instant renew) throws InterruptedException {
        lock.lock();
        try {
            while (true) {
                Instant now = clock.instant();
                if (!renew.isAfter(now) || renew.isAfter(now.plus(lifetime))) {
                    // It is time, or the clock was set back.
                    return false;
                }
                Optional<Instant> reporting = pace.due(now);
                Instant due = reporting.orElse(renew);
                if (reporting.isPresent() && !due.isAfter(now)) {
                    // Before anything is read: what changes from here on is due again.
                    pace.sent(now);
                    return true;
                }
                long millis =
                        Duration.between(now, due.isBefore(renew) ? due : renew).toMillis();
                boolean _ = changes.await(millis + 1, TimeUnit.MILLISECONDS);
            }
        } finally {
            lock.unlock();
        }
    }

    private MachineReport current() {
        About now = about.get();
        return new MachineReport(
                now.agent(),
                clock.instant(),
                now.source(),
                now.version(),
                now.sequence(),
                now.problems(),
                workloads.now());
    }

    private static ByteString bytes(String text) {
        return ByteString.copyFromUtf8(text);
    }

    /** Ends, and takes the report away: whoever ended on purpose is silent at once. */
    @Override
    public void close() {
        thread.interrupt();
        try {
            boolean _ = thread.join(ENDING);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ended with what reports under it. */
    private final class Lease implements AutoCloseable {
        private final long id;

        /** Whoever does not answer is not waited for. */
        private boolean answers = true;

        Lease(long id) {
            this.id = id;
        }

        long id() {
            return id;
        }

        @Override
        public void close() {
            // What was interrupted could not ask for anything any more.
            boolean interrupted = Thread.interrupted();
            try {
                if (answers) {
                    store.revoke(id);
                }
            } catch (KeyValuesException e) {
                LOG.debug("the lease ends by itself", e);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
