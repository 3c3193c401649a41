package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What must not be launched without its limits, where there are none. */
class RequiredLimitsTest {
    private static final Limits REQUIRED = new Limits(new Size(1 << 20), null, true);

    @Test
    void itIsToldLikeALaunchThatFailed() {
        ObservationRecorder.Learned learned = told(example().learned());

        assertEquals(List.of(EventType.PLUGIN_START_FAILED, EventType.PLUGIN_INSTALL_FAILED), types(learned));
        assertEquals(
                List.of("A", "A"),
                learned.change().events().stream().map(Event::revision).toList());
    }

    @Test
    void itIsToldOnce() {
        ObservationRecorder.Learned first = told(example().learned());

        ObservationRecorder.Learned second = told(ObservationRecorder.observed(first.situation()));

        assertEquals(List.of(), types(second));
    }

    @Test
    void whatRunsOnWithoutThemIsNotToldToHaveFailed() {
        ObservationRecorder.Learned learned = told(example().runs("A").learned());

        assertEquals(List.of(EventType.PLUGIN_INSTALLED), types(learned));
    }

    private static Example example() {
        return plugin().wants("A", REQUIRED).installed("A").active("A").unlimitable();
    }

    private static ObservationRecorder.Learned told(ObservationRecorder.Learned learned) {
        return ObservationRecorder.planned(learned, Planner.plan(learned.situation()));
    }

    private static List<EventType> types(ObservationRecorder.Learned learned) {
        return learned.change().events().stream().map(Event::type).toList();
    }
}
