package io.homeostat.reconcile.controlplane;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.rpc.Code;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.EventQueue;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How events get from a real database through a channel that acknowledges as it likes. */
class EventDeliveryTest {
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    private StateStore store;
    private HeldChannel channel;
    private EventDelivery delivery;

    @BeforeEach
    void begin() {
        store = opened();
        channel = new HeldChannel();
        delivery = EventDelivery.start(store.outbox(), channel);
    }

    @AfterEach
    void end() {
        delivery.close();
        store.close();
    }

    @Test
    void whatHappensIsToldAtOnce() {
        happens("a", "1");

        until(() -> channel.sent().equals(List.of("a 1")));
    }

    @Test
    void theNextEventOfAPluginWaitsForTheAcknowledgementOfTheFormer() {
        happens("a", "1", "2", "3");
        happens("b", "1", "2");
        until(() -> channel.held().size() == 2);
        // Each plugin has an order of its own; between plugins there is none.
        assertEquals(List.of("a 1", "b 1"), sorted(channel.sent()));

        channel.answer(Code.OK, one -> one.words().equals("b 1"));
        until(() -> channel.held().size() == 2);
        assertEquals(List.of("a 1", "b 1", "b 2"), sorted(channel.sent()));

        channel.acknowledgeAll();
        untilAllIsTold();
        assertEquals(List.of("1", "2", "3"), toldOf("a"));
        assertEquals(List.of("1", "2"), toldOf("b"));
    }

    @Test
    void noMoreThanAWindowOfPluginsIsUnderWay() {
        for (int plugin = 0; plugin < 100; plugin++) {
            happens("p" + plugin, "1");
        }
        until(() -> channel.held().size() == 24);

        channel.answer(Code.OK, one -> true);
        until(() -> channel.sent().size() == 48);
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(24, channel.most());
        assertEquals(100, channel.sent().size());
    }

    @Test
    void pluginsOfLongNamesAreToldOfAPageAfterTheOther() {
        for (int plugin = 0; plugin < 10; plugin++) {
            happens(plugin + "x".repeat(1 << 20), "1");
        }
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(10, channel.sent().size());
    }

    @Test
    void oneThatIsRefusedForGoodIsCountedAndThoseBehindItAreTold() {
        happens("a", "1", "2");
        until(() -> channel.held().size() == 1);

        channel.answer(Code.INVALID_ARGUMENT, one -> true);
        until(() -> channel.sent().size() == 2);
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(List.of("1", "2"), toldOf("a"));
        assertEquals(new EventQueue(true, 0, 0, 1, 0), store.eventQueue());
    }

    @Test
    void aControlPlaneThatIsBusyIsAskedAgainBeforeTheNextEventIsSent() {
        happens("a", "1", "2");
        until(() -> channel.held().size() == 1);
        channel.answer(Code.RESOURCE_EXHAUSTED, one -> true);
        until(() -> channel.held().size() == 1);
        channel.answer(Code.UNAVAILABLE, one -> true);
        until(() -> channel.held().size() == 1);
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(List.of("1", "1", "1", "2"), toldOf("a"));
        assertEquals(new EventQueue(true, 0, 0, 0, 0), store.eventQueue());
    }

    @Test
    void aFaultOfTheControlPlaneThatPassesCostsNoEvent() {
        List<Code> faults = List.of(
                Code.INTERNAL,
                Code.ABORTED,
                Code.UNKNOWN,
                Code.NOT_FOUND,
                Code.FAILED_PRECONDITION,
                Code.UNIMPLEMENTED,
                Code.DATA_LOSS,
                Code.PERMISSION_DENIED,
                Code.UNAUTHENTICATED);
        faults.forEach(fault -> happens(fault.name(), "1", "2"));
        until(() -> channel.held().size() == faults.size());
        faults.forEach(fault -> channel.answer(fault, one -> one.words().startsWith(fault.name() + " ")));
        until(() -> channel.held().size() == faults.size());
        channel.acknowledgeAll();

        untilAllIsTold();
        faults.forEach(fault -> assertEquals(List.of("1", "1", "2"), toldOf(fault.name())));
        assertEquals(new EventQueue(true, 0, 0, 0, 0), store.eventQueue());
    }

    @Test
    void whoeverTheControlPlaneDoesNotKnowKeepsItsEventsUntilItDoes() {
        delivery.close();
        channel = new HeldChannel();
        delivery = EventDelivery.start(store.outbox(), channel, new RedeliveryPolicy(0));
        happens("a", "1", "2");
        for (Code refusal : List.of(Code.PERMISSION_DENIED, Code.UNAUTHENTICATED)) {
            until(() -> channel.held().size() == 1);
            channel.answer(refusal, one -> true);
        }
        until(() -> channel.held().size() == 1);
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(List.of("1", "1", "1", "2"), toldOf("a"));
        assertEquals(new EventQueue(true, 0, 0, 0, 0), store.eventQueue());
    }

    @Test
    void anEventThatIsAlwaysAFaultIsLeftBehindInTheEnd() {
        delivery.close();
        channel = new HeldChannel();
        delivery = EventDelivery.start(store.outbox(), channel, new RedeliveryPolicy(1));
        happens("a", "1", "2");
        for (int fault = 1; fault <= 2; fault++) {
            until(() -> channel.held().size() == 1);
            channel.answer(Code.INTERNAL, one -> true);
        }
        until(() -> channel.sent().size() == 3);
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(List.of("1", "1", "2"), toldOf("a"));
        assertEquals(new EventQueue(true, 0, 0, 1, 0), store.eventQueue());
    }

    @Test
    void whatWasNotAcknowledgedWhenTheChannelClosedIsToldByTheNextOne() {
        happens("a", "1", "2");
        until(() -> channel.held().size() == 1);
        channel.answer(Code.OK, one -> true);
        until(() -> channel.sent().size() == 2);

        channel.close();
        restart();
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(List.of("2"), toldOf("a"));
    }

    @Test
    void whatIsToldAgainIsToldUnderItsId() {
        happens("a", "1");
        until(() -> channel.held().size() == 1);
        String id = channel.held().getFirst().id();
        channel.answer(Code.UNAVAILABLE, one -> true);
        until(() -> channel.held().size() == 1);
        assertEquals(id, channel.held().getFirst().id());

        // As if it had been killed: what the control plane has heard it does not know.
        restart();

        until(() -> channel.held().size() == 1);
        assertEquals(id, channel.held().getFirst().id());
    }

    @Test
    void whatHappensWhileNobodyDeliversIsToldLater() {
        delivery.close();
        store.close();
        try (StateStore alone = opened()) {
            alone.record(event("a", "by a command"));
        }

        open();

        until(() -> channel.sent().equals(List.of("a by a command")));
    }

    @Test
    void whatIsDroppedWhileItWaitsIsNotToldAnyMore() {
        happens("a", "1", "2", "3", "4", "5");
        until(() -> channel.held().size() == 1);

        store.trimEvents(3, NOON);
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(List.of("1", "4", "5"), toldOf("a"));
        assertEquals(3, store.eventQueue().dropped());
    }

    @Test
    void tenThousandEventsOfALongPartitionAreToldInOrder() {
        delivery.close();
        int plugins = 7;
        for (int i = 0; i < 10_000; i += 100) {
            store.commit(Events.of("p" + i / 100 % plugins, i, i + 100));
        }
        assertEquals(10_000, store.eventQueue().queued());

        start();
        until(() -> channel.held().size() == plugins);
        channel.acknowledgeAll();

        untilAllIsTold();
        assertEquals(10_000, channel.sent().size());
        for (int plugin = 0; plugin < plugins; plugin++) {
            assertAscends(toldOf("p" + plugin));
        }
    }

    @Test
    void nothingIsLostAndNoOrderIsTurnedRoundHoweverOftenItIsBrokenOff() {
        Random random = new Random(42);
        int stored = 0;
        List<List<String>> lives = new ArrayList<>();
        for (int life = 0; life < 8; life++) {
            for (int i = 0; i < 20; i++) {
                store.commit(Events.of("p" + random.nextInt(4), stored, ++stored));
            }
            int until = channel.sent().size() + random.nextInt(30);
            HeldChannel now = channel;
            await().atMost(PATIENCE).until(() -> {
                now.answer(random.nextInt(10) == 0 ? Code.UNAVAILABLE : Code.OK, one -> random.nextBoolean());
                return now.sent().size() >= Math.min(until, 5)
                        || store.eventQueue().queued() == 0;
            });
            if (random.nextBoolean()) {
                channel.close();
            }
            lives.add(channel.sent());
            restart();
        }
        channel.acknowledgeAll();
        untilAllIsTold();
        lives.add(channel.sent());

        List<String> all = lives.stream().flatMap(List::stream).distinct().toList();
        assertEquals(stored, all.size());
        for (List<String> life : lives) {
            for (int plugin = 0; plugin < 4; plugin++) {
                assertAscends(of(life, "p" + plugin));
            }
        }
    }

    private static void assertAscends(List<String> numbers) {
        List<Integer> told = numbers.stream().map(Integer::valueOf).toList();
        assertEquals(told.stream().sorted().toList(), told);
    }

    private List<String> toldOf(String plugin) {
        return of(channel.sent(), plugin);
    }

    private static List<String> of(List<String> sent, String plugin) {
        return sent.stream()
                .filter(one -> one.startsWith(plugin + " "))
                .map(one -> one.substring(plugin.length() + 1))
                .toList();
    }

    private void happens(String plugin, String... messages) {
        for (String message : messages) {
            store.record(event(plugin, message));
        }
    }

    private static Event event(String plugin, String message) {
        return new Event(NOON, WorkloadId.plugin(plugin), "A1", EventType.PLUGIN_STARTED, message);
    }

    private static List<String> sorted(List<String> words) {
        return words.stream().sorted().toList();
    }

    private void untilAllIsTold() {
        until(() -> store.eventQueue().queued() == 0);
    }

    private static void until(Callable<Boolean> condition) {
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(condition);
    }

    private void restart() {
        delivery.close();
        store.close();
        open();
    }

    private void open() {
        store = opened();
        start();
    }

    private void start() {
        channel = new HeldChannel();
        delivery = EventDelivery.start(store.outbox(), channel);
    }

    private StateStore opened() {
        Layout layout = new Layout(directory.resolve("state"), directory.resolve("run"), "1");
        return StateStores.openForWriting(layout, Clock.fixed(NOON, ZoneOffset.UTC))
                .store();
    }
}
