package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static io.homeostat.desired.state.sqlite.Samples.NOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StoreException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pauses are remembered until they are ended, and each change of one is told once. */
final class PauseTableTest {
    private static final Instant LATER = NOON.plusSeconds(60);

    @TempDir
    Path directory;

    private Layout layout;
    private SqliteStateStore store;

    @BeforeEach
    void open() {
        layout = Samples.layout(directory);
        reopen();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void aPauseIsThereAfterReopeningAndOnlyForItsWorkload() {
        assertTrue(store.pause(AGENT, "by hand", NOON));

        store.close();
        reopen();

        Pause pause = new Pause(AGENT, "by hand", NOON);
        assertEquals(ImmutableList.of(pause), store.pauses());
        assertEquals(Optional.of(pause), store.pause(AGENT));
        assertEquals(Optional.empty(), store.pause(WorkloadId.process("ops-agent")));
        assertEquals(ImmutableList.of("AGENT_PAUSED paused: by hand"), events());
    }

    @Test
    void pausingAgainForTheSameReasonStoresNothing() {
        store.pause(AGENT, "by hand", NOON);

        assertFalse(store.pause(AGENT, "by hand", LATER));

        assertEquals(NOON, store.pause(AGENT).orElseThrow().since());
        assertEquals(1, events().size());
    }

    @Test
    void anotherReasonIsToldAndThePauseGoesOn() {
        store.pause(AGENT, "one", NOON);

        assertTrue(store.pause(AGENT, "two", LATER));

        assertEquals(Optional.of(new Pause(AGENT, "two", NOON)), store.pause(AGENT));
        assertEquals(ImmutableList.of("AGENT_PAUSED paused: one", "AGENT_PAUSED paused: two"), events());
    }

    @Test
    void whatIsToBeStoppedIsSoUntilItIsResumed() {
        assertTrue(store.stop(AGENT, "", NOON));
        assertFalse(store.stop(AGENT, "", LATER));

        store.close();
        reopen();

        assertEquals(Optional.of(new Pause(AGENT, "", NOON, true)), store.pause(AGENT));
        assertTrue(store.resume(AGENT, "", LATER));
        assertEquals(
                ImmutableList.of("AGENT_PAUSED to be stopped", "AGENT_RESUMED resumed; it was stopped since " + NOON),
                events());
    }

    @Test
    void stoppingTakesThePlaceOfAPauseAndTheOtherWayRound() {
        store.pause(AGENT, "why", NOON);

        assertTrue(store.stop(AGENT, "why", LATER));
        assertEquals(Optional.of(new Pause(AGENT, "why", LATER, true)), store.pause(AGENT));

        assertTrue(store.pause(AGENT, "why", NOON));
        assertEquals(Optional.of(new Pause(AGENT, "why", NOON, false)), store.pause(AGENT));
    }

    @Test
    void resumingEndsItAndTellsWhatItWas() {
        store.pause(AGENT, "by hand", NOON);

        assertTrue(store.resume(AGENT, "", LATER));
        assertFalse(store.resume(AGENT, "", LATER));

        assertEquals(ImmutableList.of(), store.pauses());
        assertEquals("AGENT_RESUMED resumed; it was paused since " + NOON + ": by hand", events().getLast());
        assertEquals(2, events().size());
        assertEquals(AGENT, store.events(0, 10).getLast().event().workload());
        assertEquals(LATER, store.events(0, 10).getLast().event().time());
    }

    @Test
    void aReasonToResumeIsTold() {
        store.pause(AGENT, "by hand", NOON);

        store.resume(AGENT, "all is well", LATER);

        assertTrue(
                events().getLast().startsWith("AGENT_RESUMED resumed: all is well; it was paused"), events()::toString);
    }

    @Test
    void aPauseOutlivesItsWorkload() {
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        store.pause(AGENT, "by hand", NOON);
        store.delete(ImmutableList.of(AGENT));
        store.commit(new Change(AGENT, null, true, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));

        assertTrue(store.pause(AGENT).isPresent());
    }

    @Test
    void withoutItsEventNoPauseIsStored() {
        sql("CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'disk full'); END");

        assertThrows(StoreException.class, () -> store.pause(AGENT, "by hand", NOON));

        assertEquals(ImmutableList.of(), store.pauses());
    }

    @Test
    void aPauseThatCantBeReadIsAnErrorAndNotOverlooked() {
        store.pause(AGENT, "by hand", NOON);
        sql("UPDATE pause SET since = 'yesterday'");

        StoreException failure = assertThrows(StoreException.class, () -> store.pauses());
        assertTrue(failure.getMessage().contains("plugin/ops-agent"), failure::getMessage);
        assertThrows(StoreException.class, () -> store.pause(AGENT));
    }

    private ImmutableList<String> events() {
        return store.events(0, 100).stream()
                .map(StoredEvent::event)
                .map(event -> event.type() + " " + event.message())
                .collect(ImmutableList.toImmutableList());
    }

    private void sql(String statement) {
        store.database.read("test", connection -> {
            Sqlite.execute(connection, statement);
            return true;
        });
    }

    private void reopen() {
        store = (SqliteStateStore)
                StateStores.openForWriting(layout, Samples.CLOCK).store();
    }
}
