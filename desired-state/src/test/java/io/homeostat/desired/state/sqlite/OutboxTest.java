package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Outbox;
import io.homeostat.desired.state.Outbox.Queued;
import io.homeostat.desired.state.StateReader.EventQueue;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What waits for the control plane, in a real database. */
final class OutboxTest {
    private static final int MIB = 1 << 20;
    private static final WorkloadId OTHER = WorkloadId.plugin("other");

    @TempDir
    Path directory;

    private Layout layout;
    private StateStore store;
    private Outbox outbox;

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
    void withoutAControlPlaneNothingIsQueued() {
        store.commit(Samples.events(AGENT, "one"));

        assertEquals(EventQueue.NONE, store.eventQueue());
        assertEquals(ImmutableList.of(), queued());
    }

    @Test
    void whatHappenedBeforeThereWasAControlPlaneIsNotQueued() {
        store.commit(Samples.events(AGENT, "before"));

        outbox.open();
        store.commit(Samples.events(AGENT, "after"));

        assertEquals(ImmutableList.of("after"), queued());
    }

    @Test
    void openingItAgainChangesNothing() {
        outbox.open();
        store.commit(Samples.events(AGENT, "one"));

        outbox.open();

        assertEquals(ImmutableList.of("one"), queued());
    }

    @Test
    void onlyEventsOfPluginsForWhichTheControlPlaneHasAWordAreQueued() {
        outbox.open();

        store.commit(Samples.events(WorkloadId.process("no-plugin"), "a process"));
        store.record(event(AGENT, EventType.AGENT_ADOPTED));
        store.record(event(AGENT, EventType.DRIFT_DETECTED));
        store.record(event(null, EventType.AGENT_STARTED));
        store.record(event(AGENT, EventType.PLUGIN_REMOVE_FAILED));

        assertEquals(ImmutableList.of("PLUGIN_REMOVE_FAILED"), queued());
    }

    @Test
    void whatIsQueuedSurvivesTheProgramAndGrowsWithoutAnAgent() {
        outbox.open();
        store.commit(Samples.events(AGENT, "one"));

        reopen();
        store.commit(Samples.events(AGENT, "two"));
        reopen();

        assertEquals(ImmutableList.of("one", "two"), queued());
        assertEquals(new EventQueue(true, 2, 0, 0, 0), store.eventQueue());
    }

    @Test
    void whatIsSettledIsGoneForGoodAndRefusalsAreCounted() {
        outbox.open();
        store.commit(Samples.events(AGENT, "one", "two", "three"));
        ImmutableList<Queued> all = outbox.next(10, 10);

        outbox.settle(
                ImmutableList.of(all.get(0).id(), 4711L),
                ImmutableList.of(all.get(2).id(), 4712L));
        reopen();

        assertEquals(ImmutableList.of("two"), queued());
        assertEquals(new EventQueue(true, 1, 0, 1, 0), store.eventQueue());
        assertEquals(3, store.events(0, 10).size(), "events stay, whoever was told of them");
    }

    @Test
    void aPluginWithManyEventsDoesNotHideTheOthers() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "2", "3", "4", "5"));
        store.commit(Samples.events(OTHER, "a", "b"));

        assertEquals(ImmutableList.of("1", "a", "2", "b"), messages(outbox.next(2, 10)));
        assertEquals(ImmutableList.of("1", "a", "2"), messages(outbox.next(2, 3)));
        assertEquals(ImmutableList.of("1", "a"), messages(outbox.next(1, 10)));
    }

    @Test
    void aPageEndsAtWhatItHoldsHoweverLongTheNamesAre() {
        outbox.open();
        for (int i = 0; i < 10; i++) {
            store.record(event(longName(i), EventType.PLUGIN_STARTED));
        }

        ImmutableList<Queued> page = outbox.next(10, 100);

        assertEquals(4, page.size());
        assertEquals(10, outbox.size());
        assertEquals(ImmutableList.of(1L, 2L, 3L, 4L), ids(store.events(0, 100)));
        assertEquals(ImmutableList.of(9L, 10L), ids(store.events(8, 100)));
    }

    @Test
    void eventsOfOneLongNameFillNoPage() {
        outbox.open();
        for (int i = 0; i < 10; i++) {
            store.record(event(longName(0), EventType.PLUGIN_STARTED));
        }

        assertEquals(10, outbox.next(10, 100).size());
        assertEquals(10, store.events(0, 100).size());
    }

    @Test
    void aPageOfEventsThatCantBeReadIsNotTheEnd() {
        for (int i = 0; i < 6; i++) {
            store.record(event(longName(i), EventType.PLUGIN_STARTED));
        }
        ((SqliteStateStore) store)
                .database.write(
                        "test",
                        connection ->
                                Database.update(connection, "UPDATE event SET type = 'NOBODY_KNOWS_IT' WHERE id < 6"));

        assertEquals(ImmutableList.of(6L), ids(store.events(0, 100)));
    }

    private static WorkloadId longName(int number) {
        return WorkloadId.plugin(number + "-" + "x".repeat(MIB));
    }

    private static ImmutableList<Long> ids(ImmutableList<StoredEvent> events) {
        return events.stream().map(StoredEvent::id).collect(ImmutableList.toImmutableList());
    }

    @Test
    void whatIsDiscardedIsForgottenAndNothingMoreIsQueued() {
        outbox.open();
        store.commit(Samples.events(AGENT, "one", "two"));

        assertEquals(2, outbox.discard());
        store.commit(Samples.events(AGENT, "three"));

        assertEquals(EventQueue.NONE, store.eventQueue());
        assertEquals(0, outbox.discard());
    }

    @Test
    void theOldestAreDroppedFirstAndItIsCountedAndSaid() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "2", "3", "4", "5"));

        assertEquals(3, store.trimEvents(3, Samples.NOON));

        assertEquals(ImmutableList.of("4", "5"), queued());
        assertEquals(new EventQueue(true, 2, 3, 0, 0), store.eventQueue());
        Event told = store.events(0, 10).getLast().event();
        assertEquals(EventType.AGENT_EVENTS_DROPPED, told.type());
        assertEquals(
                "3 events of plugins were dropped before the control plane had acknowledged them: they were the oldest of"
                        + " more than 3 events (limits.events), or of more than 64 MiB of events; 3 altogether",
                told.message());
        assertEquals(3, store.events(0, 10).size());
    }

    @Test
    void theOldestAreDroppedThoughFewWhenTheyAreLong() {
        outbox.open();
        for (String number : ImmutableList.of("1", "2", "3", "4", "5")) {
            store.commit(Samples.events(AGENT, number.repeat(MIB)));
        }
        store.record(event(WorkloadId.process("loop"), EventType.PLUGIN_CRASHED));

        assertEquals(2, trim(3 * MIB + 1000));

        assertEquals(ImmutableList.of("3", "4", "5"), initials(queued()));
        assertEquals(new EventQueue(true, 3, 2, 0, 0), store.eventQueue());
        Event told = store.events(6, 10).getLast().event();
        assertEquals(EventType.AGENT_EVENTS_DROPPED, told.type());
        assertTrue(told.message().contains(" 3 MiB "), told::message);
        assertEquals(0, trim(3 * MIB + 1000));
    }

    @Test
    void whatIsNotQueuedGoesFirstHoweverNewItIs() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1".repeat(MIB)));
        store.record(event(WorkloadId.process("x".repeat(MIB)), EventType.PLUGIN_CRASHED));

        assertEquals(0, trim(3 * MIB / 2));

        assertEquals(ImmutableList.of("1"), initials(queued()));
        assertEquals(1, store.events(0, 10).size());
    }

    private int trim(long bytes) {
        return ((SqliteStateStore) store)
                .database.write("test", connection -> EventTable.trim(connection, 100, bytes, Samples.NOON));
    }

    private static ImmutableList<String> initials(ImmutableList<String> messages) {
        return messages.stream().map(message -> message.substring(0, 1)).collect(ImmutableList.toImmutableList());
    }

    @Test
    void sayingThatSomethingWasDroppedPushesOutNothingMore() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "2", "3", "4", "5"));
        store.trimEvents(3, Samples.NOON);

        assertEquals(0, store.trimEvents(3, Samples.NOON));

        assertEquals(new EventQueue(true, 2, 3, 0, 0), store.eventQueue());
    }

    @Test
    void whatIsDroppedAddsUpOverRestarts() {
        outbox.open();
        for (int round = 0; round < 3; round++) {
            store.commit(Samples.events(AGENT, "1", "2", "3", "4", "5"));
            store.trimEvents(3, Samples.NOON);
            reopen();
        }

        assertEquals(13, store.eventQueue().dropped());
        assertEquals(2, store.eventQueue().queued());
        assertTrue(store.events(0, 10).getLast().event().message().endsWith("; 13 altogether"));
    }

    @Test
    void whatWasDeliveredIsTrimmedWithoutAWord() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "2", "3", "4"));
        ImmutableList<Queued> all = outbox.next(10, 10);
        outbox.settle(ImmutableList.of(all.get(0).id(), all.get(1).id()), ImmutableList.of());

        assertEquals(0, store.trimEvents(2, Samples.NOON));

        assertEquals(ImmutableList.of("3", "4"), queued());
        assertEquals(2, store.events(0, 10).size());
    }

    @Test
    void whatAProcessDoesAgainAndAgainPushesNothingOutThatIsYetToBeTold() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "2"));
        for (int crash = 0; crash < 5; crash++) {
            store.record(event(WorkloadId.process("loop"), EventType.PLUGIN_CRASHED));
        }

        assertEquals(0, store.trimEvents(4, Samples.NOON));

        assertEquals(ImmutableList.of("1", "2"), queued());
        assertEquals(4, store.events(0, 10).size());
        assertEquals(0, store.trimEvents(2, Samples.NOON));
        assertEquals(new EventQueue(true, 2, 0, 0, 0), store.eventQueue());
        assertEquals(2, store.events(0, 10).size());
    }

    @Test
    void whatWasDroppedStaysToldWhateverElseIsTrimmed() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "2", "3", "4", "5"));
        store.trimEvents(3, Samples.NOON);
        store.record(event(WorkloadId.process("loop"), EventType.PLUGIN_CRASHED));

        assertEquals(0, store.trimEvents(3, Samples.NOON));
        assertEquals(
                EventType.AGENT_EVENTS_DROPPED,
                store.events(0, 10).getLast().event().type());

        store.commit(Samples.events(AGENT, "6"));
        assertEquals(1, store.trimEvents(3, Samples.NOON));
        assertEquals(ImmutableList.of("5", "6"), queued());
        assertEquals(3, store.events(0, 10).size());
    }

    @Test
    void anEventIsRecognisedInTheNextProcessAndTakenForNoOther() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "1"));
        ImmutableList<UUID> before = names();
        reopen();

        assertEquals(before, names());
        assertEquals(2, ImmutableSet.copyOf(before).size());
        Event later = new Event(
                Samples.NOON.plusSeconds(1), AGENT, "", EventType.PLUGIN_STARTED, "after an older copy was put back");
        assertNotEquals(outbox.messageId(1, event(AGENT, EventType.PLUGIN_STARTED)), outbox.messageId(1, later));

        layout = new Layout(directory.resolve("another"), directory.resolve("run"), "1");
        reopen();
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "1"));
        assertTrue(Collections.disjoint(before, names()), "events of two databases have the same id");
    }

    private ImmutableList<UUID> names() {
        return outbox.next(10, 10).stream()
                .map(one -> outbox.messageId(one.id(), outbox.event(one.id()).orElseThrow()))
                .collect(ImmutableList.toImmutableList());
    }

    @Test
    void whoListensIsCalledOnceWhatConcernsHimIsStored() {
        AtomicInteger seen = new AtomicInteger();
        outbox.open();
        outbox.listen(() -> seen.set(outbox.next(10, 10).size()));

        store.commit(Samples.events(AGENT, "one"));
        assertEquals(1, seen.get());
        store.record(event(AGENT, EventType.PLUGIN_REMOVE_FAILED));
        assertEquals(2, seen.get());
        store.trimEvents(1, Samples.NOON);
        assertEquals(0, seen.get());
    }

    @Test
    void anEventThatWasDroppedOrCantBeReadIsNoEvent() {
        outbox.open();
        store.commit(Samples.events(AGENT, "1", "2"));
        ImmutableList<Queued> all = outbox.next(10, 10);
        ((SqliteStateStore) store).database.read("test", connection -> {
            Sqlite.execute(connection, "UPDATE event SET type = 'NOBODY_KNOWS_IT' WHERE message = '1'");
            Sqlite.execute(connection, "DELETE FROM event WHERE message = '2'");
            return true;
        });

        assertEquals(Optional.empty(), outbox.event(all.get(0).id()));
        assertEquals(Optional.empty(), outbox.event(all.get(1).id()));
    }

    private static Event event(@Nullable WorkloadId id, EventType type) {
        return new Event(Samples.NOON, id, "", type, type.name());
    }

    private ImmutableList<String> queued() {
        return messages(outbox.next(100, 1000));
    }

    private ImmutableList<String> messages(ImmutableList<Queued> queued) {
        return queued.stream()
                .map(one -> outbox.event(one.id()).orElseThrow().message())
                .collect(ImmutableList.toImmutableList());
    }

    private void reopen() {
        if (store != null) {
            store.close();
        }
        store = StateStores.openForWriting(layout, Samples.CLOCK).store();
        outbox = store.outbox();
    }
}
