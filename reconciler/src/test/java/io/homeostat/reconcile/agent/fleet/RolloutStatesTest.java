package io.homeostat.reconcile.agent.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How rollouts stand takes little memory, whatever somebody has written. */
final class RolloutStatesTest {
    /** Of characters that take two bytes each in memory. */
    private static final String LARGE = state("\u4e2d".repeat(16_000));

    private final StateStore store;

    RolloutStatesTest(@TempDir Path directory) {
        Layout layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void allSourcesShareThem() {
        RolloutStates states = new RolloutStates(store);
        states.heard(ImmutableSortedMap.of("web", LARGE), ImmutableSet.of());
        ImmutableMap<String, RolloutState> first = states.now();

        states.heard(ImmutableSortedMap.of("web", LARGE), ImmutableSet.of());
        assertSame(first, states.now());
        states.heard(ImmutableSortedMap.of("web", state("")), ImmutableSet.of());
        assertNotSame(first, states.now());
        assertEquals(states.now(), new RolloutStates(store).now());
    }

    @Test
    void oneThatIsTooLongOrGoneStaysAsItWasHeardLast() {
        RolloutStates states = new RolloutStates(store);
        states.heard(ImmutableSortedMap.of("web", state("a"), "db", state("b"), "old", state("c")), ImmutableSet.of());

        states.heard(
                ImmutableSortedMap.of("web", state("x".repeat(20_000)), "new", "{" + LARGE),
                ImmutableSet.of("db", "gone"));

        assertEquals(ImmutableSortedMap.of("db", state("b"), "web", state("a")), store.rolloutStates());
        assertEquals(store.rolloutStates().keySet(), states.now().keySet());
    }

    @Test
    void oneThatIsNestedTooDeepHidesNoOther() {
        RolloutStates states = new RolloutStates(store);

        states.heard(ImmutableSortedMap.of("evil", "[".repeat(1_001), "web", state("a")), ImmutableSet.of());

        assertEquals(ImmutableSet.of("web"), states.now().keySet());
    }

    @Test
    void whatWasHeardBeforeYieldsToWhatIsHeardNow() {
        RolloutStates states = new RolloutStates(store);
        states.heard(many("a", 500), ImmutableSet.of());

        states.heard(many("b", 500), ImmutableSet.copyOf(many("a", 500).keySet()));

        assertTrue(states.now().keySet().containsAll(many("b", 500).keySet()));
        assertEquals(EtcdFollower.MOST_KEPT / LARGE.length(), states.now().size(), 10);
    }

    /** An agent that can't be started, because of what an earlier one has stored, could only be mended by hand. */
    @Test
    void whatIsStoredBeyondTheBoundsIsDeletedAtTheStart() {
        TreeMap<String, String> stored = new TreeMap<>(many("a", 1_000));
        stored.put("0-long", state("x".repeat(60_000)));
        store.storeRolloutStates(ImmutableSortedMap.copyOfSorted(stored));

        RolloutStates states = new RolloutStates(store);

        assertEquals(EtcdFollower.MOST_KEPT / LARGE.length(), states.now().size(), 10);
        assertEquals(states.now().keySet(), store.rolloutStates().keySet());
        assertTrue(states.now().containsKey("a000"));
    }

    private static ImmutableSortedMap<String, String> many(String name, int count) {
        ImmutableSortedMap.Builder<String, String> many = ImmutableSortedMap.naturalOrder();
        for (int i = 0; i < count; i++) {
            many.put(String.format("%s%03d", name, i), LARGE);
        }
        return many.buildOrThrow();
    }

    /** With a reason of any length, as no controller writes it. */
    private static String state(String reason) {
        return new RecordCodec(new ObjectMapper())
                .write(new RolloutState(
                        "d", Phase.HALTED, 0, "", 1, 1, Instant.EPOCH, Instant.EPOCH, null, 0, 0, "because"))
                .replace("because", reason);
    }
}
