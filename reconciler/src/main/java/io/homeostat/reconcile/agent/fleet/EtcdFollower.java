package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.etcd.KeyValues.Watching;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.desired.remote.LargeSetLock;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.state.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Follows the set and the rollouts of a fleet in etcd, until it is interrupted: what is published is there at once. */
final class EtcdFollower implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(EtcdFollower.class);
    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofSeconds(1), Duration.ofMinutes(1));
    private static final Duration FLOOR = Duration.ofMillis(200);

    /** Bytes of changes that were told and not taken yet, about. When there are more, all is listed again. */
    static final long MOST_WAITING = 16 << 20;

    /** Bytes of how rollouts stand, about: of 10,000 rollouts, as many as a set has files, it is 7 MB. */
    static final long MOST_KEPT = 8 << 20;

    /** After a change of rollouts. */
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** Sets that are looked at as soon as they are there, after some quiet. */
    static final int SETS_AT_ONCE = 10;

    /** The time in which the follower may look at one more set: for what it does about one nobody needs a key. */
    private static final Duration SET_INTERVAL = Duration.ofSeconds(10);

    /** How often it is asked whether it is still there, and nothing was missed. */
    static final Duration LOOK = Duration.ofMinutes(1);

    private final KeyValues etcd;
    private final FleetKeys keys;
    private final PublishedSource source;
    private final LargeSetLock large;
    private final Consumer<ImmutableSortedMap<String, String>> rollouts;
    private final Duration look;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final TokenBucket sets;

    /**
     * @param etcd used, not closed
     * @param large held while a large set, or much of rollouts, is read
     * @param rollouts is told how rollouts stand, as JSON by their names
     */
    EtcdFollower(
            KeyValues etcd,
            FleetKeys keys,
            PublishedSource source,
            LargeSetLock large,
            Consumer<ImmutableSortedMap<String, String>> rollouts,
            Duration look,
            InstantSource clock,
            RandomGenerator random) {
        this.etcd = etcd;
        this.keys = keys;
        this.source = source;
        this.large = large;
        this.rollouts = rollouts;
        this.look = look;
        this.clock = clock;
        this.random = random;
        this.sets = new TokenBucket(SETS_AT_ONCE, SET_INTERVAL.toNanos(), TokenBucket.nanos(clock.instant()));
    }

    @Override
    public void run() {
        int failures = 0;
        try {
            while (true) {
                Followed followed = new Followed();
                String problem = follow(followed);
                failures = followed.answered ? 1 : failures + 1;
                if (!problem.isEmpty()) {
                    failed(problem);
                }
                Thread.sleep(BACKOFF.delay(failures, FLOOR, random));
            }
        } catch (InterruptedException e) {
            LOG.debug("{} is not followed any more", source.name());
        }
    }

    /** Follows until something is wrong; returns what, empty when it is only to be listed again. */
    private String follow(Followed followed) throws InterruptedException {
        try {
            followed.from();
            return "";
        } catch (KeyValuesException e) {
            return e.kind() == KeyValuesException.Kind.COMPACTED ? "" : String.valueOf(e.getMessage());
        } catch (StoreException e) {
            LOG.error("what {} says could not be stored; it is asked again: {}", source.name(), e.getMessage());
            return "what it says could not be stored";
        } catch (RuntimeException | StackOverflowError e) {
            // Whatever it has must not end the following.
            LOG.error("{} could not be followed", source.name(), e);
            return "it could not be followed (" + e.getClass().getSimpleName() + "); the agent's log says more";
        }
    }

    private void failed(String words) {
        try {
            source.failed(words);
        } catch (StoreException e) {
            LOG.error("{}: {}; that could not be stored: {}", source.name(), words, e.getMessage());
        }
    }

    /** What a watch has told. */
    private sealed interface Told {
        /** @param bytes that it takes, about */
        record Changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long revision, long bytes)
                implements Told {}

        record Ended(KeyValuesException failure) implements Told {}
    }

    /** One listing and what came after it. */
    private final class Followed implements KeyValues.Listener {
        private final BlockingQueue<Told> told = new LinkedBlockingQueue<>();
        private final AtomicLong waiting = new AtomicLong();
        private final TreeMap<String, Entry> states = new TreeMap<>();

        /** The set that was told and is not taken yet; null when it was removed. */
        private @Nullable Entry set;

        private boolean setChanged;
        private boolean answered;
        private long seenUpTo;

        void from() throws KeyValuesException, InterruptedException {
            long listed = list();
            try (Watching _ = etcd.watch(keys.set(), listed, this);
                    Watching _ = etcd.watch(keys.rollouts(), listed, this)) {
                while (true) {
                    awaitTurn();
                    Told next = told.poll(SetPoller.jittered(look, random).toMillis(), TimeUnit.MILLISECONDS);
                    if (next == null) {
                        seenUpTo = list();
                    } else if (changed(next)) {
                        // Each change of one has all of them stored. What comes meanwhile is taken together.
                        Thread.sleep(PAUSE);
                    }
                }
            }
        }

        /**
         * Tells what is there in one revision, which it returns. What a watch has told and was not taken yet may be older than that: it is
         * left out then. The states come first: a set whose rollouts nobody knows of is taken as if none of their waves were open. The set
         * is not kept, which may be large.
         */
        private long list() throws KeyValuesException, InterruptedException {
            awaitTurn();
            long revision = listRollouts();
            @Nullable Entry now = etcd.get(keys.set(), revision).orElse(null);
            answered = true;
            tellSet(now);
            return revision;
        }

        /** Tells how rollouts stand. Returns the revision; the listing is no longer in memory then. */
        private long listRollouts() throws KeyValuesException, InterruptedException {
            Listing listed = etcd.list(keys.rollouts(), MOST_KEPT);
            if (!answered || !listed.entries().equals(states)) {
                states.clear();
                states.putAll(listed.entries());
                tellRollouts();
            }
            return listed.revision();
        }

        /** Takes what was told, with all that waits. Returns whether rollouts have changed. */
        private boolean changed(Told first) throws KeyValuesException, InterruptedException {
            List<Told> all = new ArrayList<>();
            all.add(first);
            told.drainTo(all);
            boolean statesChanged = false;
            for (Told each : all) {
                switch (each) {
                    case Told.Changed changed -> {
                        waiting.addAndGet(-changed.bytes());
                        statesChanged |= note(changed);
                    }
                    case Told.Ended ended -> throw ended.failure();
                }
            }
            if (statesChanged) {
                tellRollouts();
            }
            if (setChanged) {
                setChanged = false;
                tellSet(set);
                set = null;
            }
            return statesChanged;
        }

        /** Returns whether rollouts have changed. */
        private boolean note(Told.Changed changed) {
            boolean statesChanged = false;
            for (Entry entry : changed.put()) {
                if (entry.modified() <= seenUpTo) {
                    continue;
                }
                if (entry.key().equals(keys.set())) {
                    set = entry;
                    setChanged = true;
                } else {
                    states.put(entry.key(), entry);
                    statesChanged = true;
                }
            }
            for (String key : changed.revision() <= seenUpTo ? ImmutableList.<String>of() : changed.deleted()) {
                if (key.equals(keys.set())) {
                    set = null;
                    setChanged = true;
                } else if (states.remove(key) != null) {
                    statesChanged = true;
                }
            }
            return statesChanged;
        }

        /** Tells how rollouts stand, and bounds what is kept of that, whether it was listed or told by a watch. */
        private void tellRollouts() throws KeyValuesException, InterruptedException {
            long bytes = bytes(states.values());
            if (bytes > MOST_KEPT) {
                throw new KeyValuesException(
                        KeyValuesException.Kind.FAILED,
                        "what is below " + keys.rollouts() + " takes more than " + (MOST_KEPT >> 20)
                                + " MiB; delete what is no rollout, and rollouts that are over",
                        null);
            }
            try {
                large.acquireFor(bytes);
                rollouts.accept(states.values().stream()
                        .collect(ImmutableSortedMap.toImmutableSortedMap(
                                String::compareTo,
                                entry -> entry.key().substring(keys.rollouts().length()),
                                entry -> entry.value().toStringUtf8())));
            } finally {
                large.release();
            }
        }

        /** Waits until a set may be looked at, before it is known which: of those that come meanwhile the last one is. */
        private void awaitTurn() throws InterruptedException {
            TimeUnit.NANOSECONDS.sleep(sets.nanosUntil(1, TokenBucket.nanos(clock.instant())));
        }

        /** Tells what the set is. The caller has waited for its turn. */
        private void tellSet(@Nullable Entry now) throws InterruptedException {
            Optional<String> version = Optional.ofNullable(now).map(entry -> Long.toString(entry.modified()));
            if (now != null && source.seen().equals(version)) {
                source.fetched(new Fetched.NotModified());
                return;
            }
            sets.take(1);
            if (now == null) {
                source.empty("nothing is published there; publish a set with homeostat publish");
            } else {
                take(new Fetched.File(version.orElseThrow(), now.value()));
            }
        }

        private void take(Fetched fetched) throws InterruptedException {
            try {
                large.acquireFor(fetched);
                source.fetched(fetched);
            } finally {
                large.release();
            }
        }

        /** Leaves out what only begins like the key of the set, of which there may be any amount. */
        @Override
        public void changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long revision) {
            ImmutableList<Entry> ourPut =
                    put.stream().filter(entry -> isOurs(entry.key())).collect(ImmutableList.toImmutableList());
            ImmutableList<String> ourDeleted =
                    deleted.stream().filter(this::isOurs).collect(ImmutableList.toImmutableList());
            if (ourPut.isEmpty() && ourDeleted.isEmpty()) {
                return;
            }
            long bytes = bytes(ourPut) + (long) ourDeleted.size() * Entry.OVERHEAD;
            if (waiting.addAndGet(bytes) <= MOST_WAITING) {
                told.add(new Told.Changed(ourPut, ourDeleted, revision, bytes));
            } else {
                told.clear();
                ended(new KeyValuesException(
                        KeyValuesException.Kind.UNAVAILABLE,
                        "it tells of changes faster than they can be taken",
                        null));
            }
        }

        private boolean isOurs(String key) {
            return key.equals(keys.set()) || key.startsWith(keys.rollouts());
        }

        private static long bytes(Collection<Entry> entries) {
            return entries.stream().mapToLong(Entry::bytes).sum();
        }

        @Override
        public void ended(KeyValuesException failure) {
            told.add(new Told.Ended(failure));
        }
    }
}
