package io.homeostat.reconcile.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.EventQueue;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.reconcile.controlplane.ControlPlane.EventTrimmer;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A control plane that asks again and again for what is there already. */
class EventTrimmerTest {
    @TempDir
    Path directory;

    private Declaring here;
    private EventTrimmer trimmer;

    @BeforeEach
    void open() {
        here = new Declaring(directory);
        here.store().outbox().open();
        here.receive(Messages.install("a", "1")).knownGood("a");
        trimmer = new EventTrimmer(here.store());
        trimmer.limit(10);
    }

    @AfterEach
    void close() {
        here.close();
    }

    @Test
    void eventsAreTrimmedAsSoonAsMessagesHaveCausedAsManyAsAreKept() {
        for (int message = 1; message <= 4; message++) {
            ask();
        }
        assertEquals(new EventQueue(true, 8, 0, 0, 0), here.store().eventQueue());

        for (int message = 1; message <= 100; message++) {
            ask();
        }
        List<StoredEvent> left = here.store().events(0, 1_000);
        assertTrue(left.size() < 20, () -> left.size() + " events");
        EventQueue queue = here.store().eventQueue();
        assertEquals(208, queue.queued() + queue.dropped());
        assertTrue(left.stream().anyMatch(one -> one.event().type() == EventType.AGENT_EVENTS_DROPPED));
    }

    @Tag("nightly")
    @Test
    void eventsOfLongNamesAreTrimmedByTheirBytes() {
        trimmer.limit(10_000);
        for (int message = 10; message < 30; message++) {
            String name = message + "n".repeat(1_900_000);
            take(Messages.install(name, "1"), Messages.remove(name));
        }

        EventQueue queue = here.store().eventQueue();
        assertEquals(40, queue.queued() + queue.dropped());
        assertEquals(1, queue.dropped());
    }

    private void ask() {
        take(Messages.install("a", "1"));
    }

    private void take(ConfigurePlugin... items) {
        ControlPlaneChange change = here.translated(items);
        here.store().receive(change);
        trimmer.stored(change.events(), Declaring.NOW);
    }
}
