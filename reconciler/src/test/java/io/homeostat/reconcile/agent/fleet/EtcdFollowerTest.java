package io.homeostat.reconcile.agent.fleet;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig.SignedSets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.remote.LargeSetLock;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Choice;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a fleet has in etcd is followed, whatever becomes of the connection. */
@Timeout(120)
final class EtcdFollowerTest {
    private static final String NOTHING = "nothing is published there; publish a set with homeostat publish";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final FleetKeys KEYS = new FleetKeys("/homeostat");

    private final Etcd etcd = new Etcd();
    private final LargeSetLock large = new LargeSetLock();
    private final List<ImmutableSortedMap<String, String>> states = new CopyOnWriteArrayList<>();
    private final StateStore store;
    private InstantSource clock = Clock.systemUTC();
    private @Nullable Thread thread;

    EtcdFollowerTest(@TempDir Path directory) {
        Layout layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
    }

    /** Is done after each set that was looked at. */
    private Runnable lookedAt = () -> {};

    private void follow(Duration look) {
        SetReader reader = new SetReader(new SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE);
        PublishedSource source = new PublishedSource(
                SourceName.ETCD,
                "etcd:" + KEYS.set(),
                reader,
                () -> Choice.ALL,
                store,
                Clock.systemUTC(),
                new ReentrantLock(),
                () -> lookedAt.run());
        source.refresh();
        thread = Thread.ofVirtual()
                .start(new EtcdFollower(etcd, KEYS, source, large, states::add, look, clock, new SplittableRandom(1)));
    }

    @AfterEach
    void close() throws InterruptedException {
        if (thread != null) {
            thread.interrupt();
            assertTrue(thread.join(PATIENCE));
        }
        store.close();
    }

    @Test
    void aSetIsTakenWhenItIsPublishedAndStaysWhenItIsGone() {
        follow(EtcdFollower.LOOK);
        awaitProblem(NOTHING);

        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "web").content());
        awaitDeclared("web");
        assertEquals("1", store.publishedSets().getFirst().set().orElseThrow().version());

        etcd.put(KEYS.set(), ByteString.copyFrom(new byte[] {0x1f, (byte) 0x8b, 1}));
        awaitProblem("damaged");
        etcd.delete(KEYS.set());
        awaitProblem(NOTHING);
        assertEquals(ImmutableList.of("web"), declared());
    }

    @Test
    void aKeyThatOnlyBeginsLikeThatOfTheSetIsNone() {
        etcd.put(KEYS.set() + "tings", PublishedSourceTest.set("", 7, "web").content());
        follow(EtcdFollower.LOOK);
        awaitProblem(NOTHING);

        etcd.put(KEYS.set() + "tings", PublishedSourceTest.set("", 8, "web").content());
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "db").content());

        awaitDeclared("db");
    }

    @Test
    void whatIsBesideTheSetTakesNoMemoryHoweverMuchItIs() {
        ByteString much = ByteString.copyFrom(new byte[(int) EtcdFollower.MOST_WAITING]);
        etcd.put(KEYS.set() + "tings", much);
        follow(EtcdFollower.LOOK);
        awaitProblem(NOTHING);
        await().atMost(PATIENCE).until(() -> etcd.watches() == 2);
        int looks = etcd.looks.get();

        etcd.put(KEYS.set() + "tings", much);
        etcd.delete(KEYS.set() + "tings");
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "db").content());

        awaitDeclared("db");
        assertEquals(ImmutableSet.of(KEYS.rollouts()), ImmutableSet.copyOf(etcd.listed), "all else is not listed");
        assertEquals(looks, etcd.looks.get(), "it need not be listed again");
    }

    @Test
    void aSetThatChangesAllTheTimeIsLookedAtNowAndThen() throws Exception {
        clock = InstantSource.fixed(Instant.EPOCH);
        AtomicInteger looks = new AtomicInteger();
        lookedAt = () -> {
            looks.incrementAndGet();
            etcd.put(KEYS.set(), ByteString.copyFromUtf8("#" + looks));
        };
        etcd.put(KEYS.set(), ByteString.copyFromUtf8("#"));

        follow(EtcdFollower.LOOK);

        await().atMost(PATIENCE).until(() -> looks.get() >= EtcdFollower.SETS_AT_ONCE);
        Thread following = Objects.requireNonNull(thread);
        await().atMost(PATIENCE)
                .until(() ->
                        following.getState() == Thread.State.TIMED_WAITING || looks.get() > EtcdFollower.SETS_AT_ONCE);
        following.interrupt();
        assertTrue(following.join(PATIENCE));
        assertEquals(EtcdFollower.SETS_AT_ONCE, looks.get());
    }

    @Test
    void manyRolloutsWaitForLargeSetsOfOtherSources() throws Exception {
        ByteString most = ByteString.copyFromUtf8("#".repeat(2 << 20));
        large.acquireFor(new Fetched.File("v1", most));
        try {
            follow(EtcdFollower.LOOK);
            await().atMost(PATIENCE).until(() -> etcd.watches() == 2);
            etcd.put(KEYS.rollout("web"), most);
            await().atMost(PATIENCE).until(large::isAwaited);
            assertFalse(states.getLast().containsKey("web"));
        } finally {
            large.release();
        }
        await().atMost(PATIENCE).until(() -> states.getLast().containsKey("web"));

        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "web").content());
        awaitDeclared("web");
        large.acquireFor(new Fetched.File("v1", most));
        large.release();
    }

    @Test
    void statesOfRolloutsAreToldByName() {
        etcd.put(KEYS.rollout("web"), ByteString.copyFromUtf8("{}"));
        follow(EtcdFollower.LOOK);
        await().atMost(PATIENCE).until(() -> states.contains(ImmutableSortedMap.of("web", "{}")));

        etcd.put(KEYS.rollout("db"), ByteString.copyFromUtf8("{\"wave\":1}"));
        await().atMost(PATIENCE).until(() -> states.contains(ImmutableSortedMap.of("db", "{\"wave\":1}", "web", "{}")));

        etcd.delete(KEYS.rollout("web"));
        await().atMost(PATIENCE).until(() -> states.getLast().equals(ImmutableSortedMap.of("db", "{\"wave\":1}")));
    }

    @Test
    void whatAWatchDidNotTellIsFoundByLookingAgain() {
        follow(Duration.ofMillis(50));
        await().atMost(PATIENCE).until(() -> etcd.watches() == 2);
        etcd.silent = true;

        etcd.put(KEYS.rollout("web"), ByteString.copyFromUtf8("{}"));

        await().atMost(PATIENCE).until(() -> states.contains(ImmutableSortedMap.of("web", "{}")));
    }

    @Test
    void whatIsToldLaterThanItWasSeenIsLeftOut() {
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "web").content());
        follow(Duration.ofMillis(50));
        awaitDeclared("web");
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 8, "db").content());
        awaitDeclared("db");
        int looks = etcd.looks.get();
        await().atMost(PATIENCE).until(() -> etcd.looks.get() > looks + 2);

        etcd.tellLate(KEYS.set(), 1);
        etcd.put(KEYS.rollout("web"), ByteString.copyFromUtf8("{}"));
        await().atMost(PATIENCE).until(() -> states.contains(ImmutableSortedMap.of("web", "{}")));
        assertEquals(ImmutableList.of(), store.problems());
    }

    @Test
    void aLostConnectionIsAProblemUntilItIsBack() {
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "web").content());
        follow(EtcdFollower.LOOK);
        awaitDeclared("web");
        await().atMost(PATIENCE).until(() -> etcd.watches() == 2);

        etcd.failure = new KeyValuesException(KeyValuesException.Kind.UNAVAILABLE, "no member answers", null);
        etcd.end(etcd.failure);
        awaitProblem("no member answers; it last ");
        assertEquals(ImmutableList.of("web"), declared());

        etcd.put(KEYS.set(), PublishedSourceTest.set("", 8, "db").content());
        etcd.failure = null;
        awaitDeclared("db");
        await().atMost(PATIENCE).until(() -> store.problems().isEmpty());
    }

    @Test
    void changesThatAreNotKeptAnyMoreAreListedAndAreNoProblem() {
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "web").content());
        follow(EtcdFollower.LOOK);
        awaitDeclared("web");
        await().atMost(PATIENCE).until(() -> etcd.watches() == 2);
        etcd.silent = true;
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 8, "db").content());
        etcd.silent = false;

        etcd.end(new KeyValuesException(KeyValuesException.Kind.COMPACTED, "compacted", null));

        awaitDeclared("db");
        assertFalse(
                store.events(0, 1000).stream()
                        .anyMatch(event -> event.event().message().contains("compacted")),
                () -> store.events(0, 1000).toString());
    }

    @Test
    void aLargeSetWaitsForThoseOfOtherSources() throws Exception {
        ByteString most = ByteString.copyFromUtf8("#".repeat(2 << 20));
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "web").content());
        large.acquireFor(new Fetched.File("v1", most));
        try {
            follow(EtcdFollower.LOOK);
            awaitDeclared("web");
            etcd.put(KEYS.set(), most);
            await().atMost(PATIENCE).until(large::isAwaited);
            assertEquals(ImmutableList.of(), store.problems());
        } finally {
            large.release();
        }
        awaitProblem("the set declares nothing at all");

        large.acquireFor(new Fetched.File("v1", most));
        large.release();
    }

    @Test
    void changesThatTakeTooMuchMemoryAreListedInstead() {
        follow(EtcdFollower.LOOK);
        await().atMost(PATIENCE).until(() -> etcd.watches() == 2);
        int looks = etcd.looks.get();

        etcd.put(KEYS.set(), ByteString.copyFromUtf8("#".repeat((int) EtcdFollower.MOST_WAITING)));

        await().atMost(PATIENCE).until(() -> etcd.looks.get() == looks + 2 && etcd.watches() == 2);
        awaitProblem("the set declares nothing at all");
    }

    @Test
    void changesOfRolloutsThatComeTogetherAreToldTogether() {
        follow(EtcdFollower.LOOK);
        await().atMost(PATIENCE).until(() -> etcd.watches() == 2);
        int before = states.size();

        for (int i = 0; i < 1000; i++) {
            etcd.put(KEYS.rollout("web"), ByteString.copyFromUtf8(Integer.toString(i)));
        }

        await().atMost(PATIENCE).until(() -> "999".equals(states.getLast().get("web")));
        assertTrue(states.size() - before < 100, () -> states.size() + " times");
    }

    @Test
    void rolloutsThatTakeTooMuchMemoryAreAProblemUntilTheyAreGone() {
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 7, "web").content());
        follow(EtcdFollower.LOOK);
        awaitDeclared("web");
        await().atMost(PATIENCE).until(() -> etcd.watches() == 2);
        ByteString half = ByteString.copyFrom(new byte[(int) EtcdFollower.MOST_KEPT / 2]);

        etcd.put(KEYS.rollout("a"), half);
        await().atMost(PATIENCE).until(() -> states.getLast().containsKey("a"));
        etcd.put(KEYS.rollout("b"), half);

        awaitProblem(" takes more than 8 MiB; delete what is no rollout");
        assertFalse(states.getLast().containsKey("b"));
        etcd.delete(KEYS.rollout("b"));
        etcd.put(KEYS.set(), PublishedSourceTest.set("", 8, "db").content());
        awaitDeclared("db");
        await().atMost(PATIENCE).until(() -> store.problems().isEmpty());
    }

    private void awaitProblem(String words) {
        await().atMost(PATIENCE)
                .until(() -> store.problems().stream()
                        .anyMatch(problem -> problem.message().contains(words)));
    }

    private void awaitDeclared(String... names) {
        await().atMost(PATIENCE).until(() -> declared().equals(ImmutableList.copyOf(names)));
    }

    private ImmutableList<String> declared() {
        return store.declarations().stream()
                .map(declaration -> declaration.workload().id().name())
                .collect(ImmutableList.toImmutableList());
    }

    /** One that is asked by a single follower, and can fail. */
    private static final class Etcd implements KeyValues {
        private final TreeMap<String, Entry> entries = new TreeMap<>();
        private final List<Watch> watches = new ArrayList<>();
        private final AtomicInteger looks = new AtomicInteger();
        private final List<String> listed = new CopyOnWriteArrayList<>();
        private long revision;
        private volatile @Nullable KeyValuesException failure;
        private volatile boolean silent;

        private record Watch(String prefix, Listener listener) {}

        synchronized int watches() {
            return watches.size();
        }

        synchronized void put(String key, ByteString value) {
            revision++;
            Entry entry = new Entry(key, value, revision, revision);
            entries.put(key, entry);
            tell(key, listener -> listener.changed(ImmutableList.of(entry), ImmutableList.of(), revision));
        }

        synchronized void delete(String key) {
            revision++;
            entries.remove(key);
            tell(key, listener -> listener.changed(ImmutableList.of(), ImmutableList.of(key), revision));
        }

        /** That it was deleted in this revision. */
        synchronized void tellLate(String key, long told) {
            tell(key, listener -> listener.changed(ImmutableList.of(), ImmutableList.of(key), told));
        }

        private void tell(String key, Consumer<Listener> what) {
            for (Watch watch : watches) {
                if (!silent && key.startsWith(watch.prefix())) {
                    what.accept(watch.listener());
                }
            }
        }

        synchronized void end(KeyValuesException why) {
            ImmutableList.copyOf(watches).forEach(watch -> watch.listener().ended(why));
        }

        @Override
        public synchronized Optional<Entry> get(String key, long asOf) throws KeyValuesException {
            look();
            return Optional.ofNullable(entries.get(key));
        }

        private void look() throws KeyValuesException {
            looks.incrementAndGet();
            KeyValuesException now = failure;
            if (now != null) {
                throw now;
            }
        }

        @Override
        public synchronized Listing list(String prefix, long most) throws KeyValuesException {
            look();
            listed.add(prefix);
            assertEquals(EtcdFollower.MOST_KEPT, most);
            ImmutableSortedMap.Builder<String, Entry> found = ImmutableSortedMap.naturalOrder();
            entries.forEach((key, entry) -> {
                if (key.startsWith(prefix)) {
                    found.put(key, entry);
                }
            });
            return new Listing(revision, found.buildOrThrow());
        }

        @Override
        public synchronized Watching watch(String prefix, long after, Listener listener) {
            Watch watch = new Watch(prefix, listener);
            watches.add(watch);
            // What came between the listing and now.
            for (Entry entry : entries.values()) {
                if (entry.key().startsWith(prefix) && entry.modified() > after) {
                    listener.changed(ImmutableList.of(entry), ImmutableList.of(), entry.modified());
                }
            }
            return () -> {
                synchronized (this) {
                    watches.remove(watch);
                }
            };
        }

        @Override
        public OptionalLong commit(ImmutableList<Condition> conditions, ImmutableList<Write> writes) {
            throw new UnsupportedOperationException("who follows does not write");
        }

        @Override
        public long grant(Duration timeToLive) {
            throw new UnsupportedOperationException("who follows does not write");
        }

        @Override
        public boolean renew(long lease) {
            throw new UnsupportedOperationException("who follows does not write");
        }

        @Override
        public void revoke(long lease) {
            throw new UnsupportedOperationException("who follows does not write");
        }

        @Override
        public Leadership campaign(String name, long lease, String candidate) {
            throw new UnsupportedOperationException("who follows does not lead");
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
