package io.homeostat.reconcile.fleet;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Leadership;
import io.homeostat.desired.etcd.KeyValues.Watching;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.reconcile.fleet.FleetLeader.LeadershipLost;
import io.homeostat.reconcile.fleet.FleetMirror.SetContents;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One of any number of controllers of a fleet: waits until it leads, then decides after each change and when time is up. It holds nothing
 * that another one could not find in the store, so it may be killed at any time, and while none runs nothing opens and nobody goes back.
 */
public final class FleetController {
    private static final Logger LOG = LoggerFactory.getLogger(FleetController.class);

    /** How long after the death of one the next can lead. */
    private static final Duration TIME_TO_LIVE = Duration.ofSeconds(10);

    private static final Duration RENEWAL = Duration.ofSeconds(3);
    /** Reports come by the hundred: one decision is for all of them. */
    private static final Duration SETTLING = Duration.ofMillis(200);
    /** Were a change ever missed, it is seen after so long. */
    private static final Duration RESYNC = Duration.ofMinutes(5);

    /** In bytes of the heap; less is not worth a collection. */
    private static final long WORTH_COLLECTING = 24 << 20;

    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofSeconds(1), Duration.ofSeconds(15));

    private final KeyValues store;
    private final FleetKeys keys;
    private final SetContents contents;
    private final String name;
    private final InstantSource clock;
    private final Ticker ticker;
    private final RandomGenerator random;
    /** How much of the heap was in use after the last collection. */
    private long kept;

    /** @param name by which people tell it from the others */
    public FleetController(
            KeyValues store,
            FleetKeys keys,
            SetContents contents,
            String name,
            InstantSource clock,
            Ticker ticker,
            RandomGenerator random) {
        this.store = store;
        this.keys = keys;
        this.contents = contents;
        this.name = name;
        this.clock = clock;
        this.ticker = ticker;
        this.random = random;
    }

    /** Goes on until it is interrupted; then another one leads at once. */
    public void run() throws InterruptedException {
        int failures = 0;
        while (true) {
            long began = ticker.read();
            try {
                withLease();
            } catch (KeyValuesException e) {
                LOG.warn("{}", e.getMessage());
            } catch (LeadershipLost e) {
                LOG.debug("begins anew: {}", e.getMessage());
            }
            boolean wasLong = ticker.read() - began > TIME_TO_LIVE.toNanos();
            failures = wasLong ? 1 : failures + 1;
            Thread.sleep(BACKOFF.delay(failures, Duration.ofMillis(100), random));
        }
    }

    private void withLease() throws KeyValuesException, LeadershipLost, InterruptedException {
        long lease = store.grant(TIME_TO_LIVE);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> leading = threads.submit(() -> {
                Leadership leadership = store.campaign(keys.leader(), lease, name);
                LOG.info("{} leads", name);
                try {
                    lead(leadership);
                } finally {
                    LOG.info("{} does not lead any more", name);
                }
                return null;
            });
            try {
                renewWhile(leading, lease);
            } finally {
                leading.cancel(true);
                threads.shutdownNow();
            }
        } finally {
            giveUp(lease);
        }
    }

    private void renewWhile(Future<?> leading, long lease)
            throws KeyValuesException, LeadershipLost, InterruptedException {
        long renewed = ticker.read();
        while (true) {
            try {
                leading.get(RENEWAL.toMillis(), TimeUnit.MILLISECONDS);
                return;
            } catch (TimeoutException e) {
                try {
                    if (!store.renew(lease)) {
                        throw new LeadershipLost();
                    }
                    renewed = ticker.read();
                } catch (KeyValuesException unreachable) {
                    if (ticker.read() - renewed >= TIME_TO_LIVE.toNanos()) {
                        throw unreachable;
                    }
                }
            } catch (ExecutionException e) {
                switch (e.getCause()) {
                    case KeyValuesException failed -> throw failed;
                    case LeadershipLost lost -> throw lost;
                    case null, default -> throw new IllegalStateException("could not decide", e.getCause());
                }
            }
        }
    }

    private void giveUp(long lease) throws InterruptedException {
        // Clears the interrupt that has ended it: the next one need not wait until the lease is over.
        boolean wasInterrupted = Thread.interrupted();
        try {
            store.revoke(lease);
        } catch (KeyValuesException e) {
            LOG.debug("the lease ends by itself: {}", e.getMessage());
        }
        if (wasInterrupted) {
            throw new InterruptedException();
        }
    }

    private void lead(Leadership leadership) throws KeyValuesException, LeadershipLost, InterruptedException {
        Instant began = clock.instant();
        long ticks = ticker.read();
        FleetMirror mirror = new FleetMirror(keys, contents);
        // Clocks are set while it leads; a wave is to be held for as long as it says.
        InstantSource steady = () -> began.plusNanos(ticker.read() - ticks);
        FleetLeader leader = new FleetLeader(store, keys, mirror, leadership, steady, FleetPlanner::plan);
        while (true) {
            leader.look();
            collect();
            mirror.problems().forEach((key, problem) -> LOG.warn("{} {}", key, problem));
            Changes changes = new Changes(mirror);
            try (Watching _ = store.watch(keys.prefix() + "/", mirror.revision(), changes)) {
                decideWhile(changes, leader, steady);
            }
        }
    }

    /** Until what has changed is not told any more, or it is time to look at all of it. */
    private void decideWhile(Changes changes, FleetLeader leader, InstantSource steady)
            throws KeyValuesException, LeadershipLost, InterruptedException {
        Instant resync = steady.instant().plus(RESYNC);
        while (steady.instant().isBefore(resync)) {
            Optional<Instant> next = leader.decide();
            collect();
            Instant until = next.filter(resync::isAfter).orElse(resync);
            Optional<KeyValuesException> ended = changes.await(Duration.between(steady.instant(), until));
            if (ended.isPresent()) {
                if (ended.get().kind() != KeyValuesException.Kind.COMPACTED) {
                    throw ended.get();
                }
                return;
            }
        }
    }

    /**
     * By itself the JVM enlarges the heap as long as it may before it collects more than the youngest objects, and those of a look at
     * thousands of machines live for too long to be among these.
     */
    private void collect() {
        if (used() - kept > WORTH_COLLECTING) {
            System.gc();
            kept = used();
        }
    }

    private static long used() {
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** Takes what has changed into the mirror, and wakes up who decides. */
    private static final class Changes implements KeyValues.Listener {
        private final FleetMirror mirror;
        /** Empty: something has changed. */
        private final LinkedBlockingQueue<Optional<KeyValuesException>> told = new LinkedBlockingQueue<>();

        Changes(FleetMirror mirror) {
            this.mirror = mirror;
        }

        @Override
        public void changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long revision) {
            mirror.change(put, deleted, revision);
            if (told.isEmpty()) {
                told.add(Optional.empty());
            }
        }

        @Override
        public void ended(KeyValuesException failure) {
            told.add(Optional.of(failure));
        }

        /** Waits for changes, but no longer than that; returns why none are told any more. */
        Optional<KeyValuesException> await(Duration atMost) throws InterruptedException {
            Optional<KeyValuesException> first = told.poll(Math.max(1, atMost.toMillis()), TimeUnit.MILLISECONDS);
            if (first == null || first.isPresent()) {
                return first == null ? Optional.empty() : first;
            }
            Thread.sleep(SETTLING);
            Optional<KeyValuesException> next = told.poll();
            return next == null ? Optional.empty() : next;
        }
    }
}
