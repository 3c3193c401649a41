package io.homeostat.reconcile.agent.fleet;

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
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.ObjLongConsumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the fleet how this machine is, in etcd: its registration, which stays, and its report under a lease, which goes with the machine,
 * and at once with an agent that ends on purpose.
 */
final class FleetReporter extends Reporter {
    /** How long a machine counts as heard of after it was heard of last: three renewals may be lost. */
    static final Duration LEASE = Duration.ofSeconds(45);

    private static final Logger LOG = LoggerFactory.getLogger(FleetReporter.class);

    private final KeyValues store;
    private final FleetKeys keys;
    private final String instanceId;
    private final Duration lifetime;
    private final ObjLongConsumer<ImmutableSortedMap<String, String>> registered;

    /**
     * @param store used, not closed
     * @param interval the least time between two reports
     * @param lifetime how long it counts as heard of after it was heard of last
     * @param registered is told with which labels the machine was registered, and in which revision
     */
    FleetReporter(
            KeyValues store,
            FleetKeys keys,
            String instanceId,
            ReportedWorkloads workloads,
            Supplier<About> about,
            InstantSource clock,
            RandomGenerator random,
            Duration interval,
            Duration lifetime,
            ObjLongConsumer<ImmutableSortedMap<String, String>> registered) {
        super("fleet-reporter", workloads, about, clock, random, interval);
        this.store = store;
        this.keys = keys;
        this.instanceId = instanceId;
        this.lifetime = lifetime;
        this.registered = registered;
    }

    /**
     * This machine, as it is registered.
     *
     * @param created the store's revision in which the key came to be
     */
    private record Registered(ImmutableSortedMap<String, String> labels, long created) {}

    @Override
    void report() throws KeyValuesException, InterruptedException {
        Registered as = register(about().labels());
        try (Lease lease = new Lease(store.grant(lifetime))) {
            LOG.debug("reporting as {}", keys.report(instanceId));
            reached();
            try {
                report(lease, as);
            } catch (KeyValuesException e) {
                lease.answers = false;
                throw e;
            }
        }
    }

    /**
     * It is written only when it says something else: by its last revision machines that come, or get their labels, late are told from
     * others.
     */
    private Registered register(ImmutableSortedMap<String, String> labels)
            throws KeyValuesException, InterruptedException {
        String key = keys.machine(instanceId);
        MachineRegistration machine = new MachineRegistration(labels, clock.instant());
        Optional<Entry> known = store.get(key);
        long revision = known.isPresent() && says(known.get(), labels)
                ? known.get().modified()
                : store.commit(
                                ImmutableList.of(),
                                ImmutableList.of(new Put(key, bytes(codec.write(machine)), KeyValues.NO_LEASE)))
                        .orElseThrow();
        registered.accept(labels, revision);
        return new Registered(labels, known.map(Entry::created).orElse(revision));
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
    private void report(Lease lease, Registered first) throws KeyValuesException, InterruptedException {
        Registered as = first;
        @Nullable MachineReport last = null;
        long written = 0;
        Instant renewed = clock.instant();
        Duration renewal = lifetime.dividedBy(3);
        changed();
        while (true) {
            Instant renew = renewed.plus(renewal);
            boolean due = awaitDue(renew, lifetime);
            if (due) {
                About about = about();
                if (!about.labels().equals(as.labels())) {
                    as = register(about.labels());
                }
                MachineReport now = current(about);
                if (last == null || !now.at(last.at()).equals(last)) {
                    OptionalLong revision = store.commit(
                            ImmutableList.of(new CreatedIn(keys.machine(instanceId), as.created())),
                            ImmutableList.of(new Put(keys.report(instanceId), bytes(codec.write(now)), lease.id())));
                    if (revision.isEmpty()) {
                        LOG.warn("somebody has removed {}; this machine registers anew", keys.machine(instanceId));
                        return;
                    }
                    written = revision.getAsLong();
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
                    // Its registration may be gone, too.
                    return;
                }
            }
        }
    }

    /** Whether what is there is not what was written then. */
    private boolean isAnother(long written) throws KeyValuesException, InterruptedException {
        return store.commit(ImmutableList.of(new ModifiedIn(keys.report(instanceId), written)), ImmutableList.of())
                .isEmpty();
    }

    private static ByteString bytes(String text) {
        return ByteString.copyFromUtf8(text);
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
                LOG.debug("the lease ends by itself: {}", e.getMessage());
            } catch (InterruptedException e) {
                interrupted = true;
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
