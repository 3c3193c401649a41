package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Told;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Which failures are told: each cause once, until something has gone well. */
class NotesTest {
    private final Notes notes =
            new Notes(plugin().trial(trial -> trial.withTold(Told.of("A"))).situation());

    @Test
    void aFailureIsToldOnce() {
        fails("connection refused");
        fails("connection refused");
        assertEquals(List.of("connection refused"), told());
    }

    @Test
    void anotherCauseIsToldToo() {
        fails("connection refused");
        fails("status 503");
        fails("status 500");
        fails("connection refused");
        assertEquals(List.of("connection refused", "status 503", "status 500"), told());
    }

    @Test
    void timesAndPortsAreNoCause() {
        fails("no answer from 127.0.0.1:40001 after 2.13 s");
        fails("no answer from 127.0.0.1:40002 after 2.07 s");
        assertEquals(1, told().size());
    }

    @Test
    void anotherKindOfFailureOrAnotherRevisionIsNotTheSame() {
        fails("gone");
        notes.failure(EventType.PLUGIN_START_FAILED, "A", "gone");
        notes.failure(EventType.PLUGIN_INSTALL_FAILED, "B", "gone");
        assertEquals(List.of("gone", "gone", "gone"), told());
    }

    @ParameterizedTest
    @EnumSource(names = {"PLUGIN_STARTED", "PLUGIN_INSTALLED", "PLUGIN_CONFIG_APPLIED"})
    void afterWhatWentWellItIsToldAgain(EventType well) {
        fails("gone");
        notes.event(well, "A", "well");
        fails("gone");
        assertEquals(List.of("gone", "well", "gone"), told());
        assertEquals("A", notes.history().trial().told().revision());
    }

    @ParameterizedTest
    @EnumSource(
            mode = Mode.EXCLUDE,
            names = {"PLUGIN_STARTED", "PLUGIN_INSTALLED", "PLUGIN_CONFIG_APPLIED"})
    void afterAnythingElseItIsNot(EventType other) {
        fails("gone");
        notes.event(other, "A", "something else");
        fails("gone");
        assertEquals(List.of("gone", "something else"), told());
    }

    @Test
    void whatIsToBeForgottenIsNotStored() {
        fails("gone");
        assertNotNull(notes.change().history());
        notes.drop();
        assertNull(notes.change().history());
    }

    private void fails(String message) {
        notes.failure(EventType.PLUGIN_INSTALL_FAILED, "A", message);
    }

    private List<String> told() {
        return notes.change().events().stream().map(Event::message).toList();
    }
}
