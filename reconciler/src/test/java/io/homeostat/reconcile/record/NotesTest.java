package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.FailureCause;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Which failures are told: each cause once, until something has gone well. */
class NotesTest {
    private static final FailureCause REFUSED = FailureCause.of(FailureCause.Kind.NO_CONNECTION);

    private final Notes notes = new Notes(plugin().attempts(attempts -> attempts.withReported(Reported.of("A")))
            .situation());

    @Test
    void aFailureIsToldOnce() {
        fails(REFUSED, "connection refused");
        fails(REFUSED, "connection refused");
        assertEquals(List.of("connection refused"), told());
    }

    @Test
    void anotherCauseIsToldToo() {
        fails(REFUSED, "connection refused");
        fails(new FailureCause(FailureCause.Kind.HTTP_STATUS, 503), "status 503");
        fails(new FailureCause(FailureCause.Kind.HTTP_STATUS, 500), "status 500");
        fails(REFUSED, "connection refused");
        assertEquals(List.of("connection refused", "status 503", "status 500"), told());
    }

    @Test
    void otherWordsAreNoOtherCause() {
        fails(REFUSED, "no answer from 127.0.0.1:40001 after 2.13 s");
        fails(REFUSED, "no answer from 127.0.0.1:40002 after 2.07 s");
        fails(REFUSED, "keine Antwort");
        assertEquals(1, told().size());
    }

    @Test
    void anotherKindOfFailureOrAnotherRevisionIsNotTheSame() {
        fails(REFUSED, "gone");
        notes.failure(EventType.PLUGIN_START_FAILED, "A", REFUSED, "gone");
        notes.failure(EventType.PLUGIN_INSTALL_FAILED, "B", REFUSED, "gone");
        assertEquals(List.of("gone", "gone", "gone"), told());
    }

    @ParameterizedTest
    @EnumSource(names = {"PLUGIN_STARTED", "PLUGIN_INSTALLED", "PLUGIN_CONFIG_APPLIED", "AGENT_RELOADED"})
    void afterWhatWentWellItIsToldAgain(EventType well) {
        fails(REFUSED, "gone");
        notes.event(well, "A", "well");
        fails(REFUSED, "gone");
        assertEquals(List.of("gone", "well", "gone"), told());
        assertEquals("A", notes.history().attempts().reported().revision());
    }

    @ParameterizedTest
    @EnumSource(
            mode = Mode.EXCLUDE,
            names = {"PLUGIN_STARTED", "PLUGIN_INSTALLED", "PLUGIN_CONFIG_APPLIED", "AGENT_RELOADED"})
    void afterAnythingElseItIsNot(EventType other) {
        fails(REFUSED, "gone");
        notes.event(other, "A", "something else");
        fails(REFUSED, "gone");
        assertEquals(List.of("gone", "something else"), told());
    }

    @Test
    void whatIsToBeForgottenIsNotStored() {
        fails(REFUSED, "gone");
        assertNotNull(notes.change().history());
        notes.drop();
        assertNull(notes.change().history());
    }

    private void fails(FailureCause cause, String message) {
        notes.failure(EventType.PLUGIN_INSTALL_FAILED, "A", cause, message);
    }

    private List<String> told() {
        return notes.change().events().stream().map(Event::message).toList();
    }
}
