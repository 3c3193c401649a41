package io.homeostat.reconcile.controlplane;

import static io.homeostat.reconcile.plan.OneShotExample.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.OneShotPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.StatusValue;
import io.homeostat.reconcile.plan.OneShotExample;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.status.Survey.Finding;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a control plane is told of a plugin that runs to its end. */
class OneShotStatesTest {
    private static final Triggers STARTUP = new Triggers(true, false, null);

    @Test
    void aCompletedRunIsToldWithTheTimeOfItsEndAndItsConfiguration() {
        OneShotPluginState state = state(plugin().ran(NOW.minusSeconds(9)));

        assertEquals("A", state.getCurrentRevisionId());
        assertEquals("", state.getPendingRevisionId());
        assertEquals(
                StatusValue.EXECUTION_COMPLETED, state.getCurrentPluginStatus().getStatus());
        assertEquals(0, state.getCurrentPluginStatus().getResponseCode());
        assertEquals(
                Protocol.timestamp(NOW.minusSeconds(9)),
                state.getCurrentPluginStatus().getUpdateTime());
        assertEquals(Config.hash(new Config("c", null)), state.getConfigHash());
    }

    @Test
    void aFailedRunIsToldWithItsExitStatusAndItsError() {
        OneShotPluginState state = state(plugin().failed(NOW.minusSeconds(9)));

        assertEquals(
                StatusValue.EXECUTION_FAILED, state.getCurrentPluginStatus().getStatus());
        assertEquals(3, state.getCurrentPluginStatus().getResponseCode());
        assertEquals(List.of("no luck"), state.getCurrentPluginStatus().getResultsList());
    }

    private static OneShotExample plugin() {
        return new OneShotExample(WorkloadId.plugin("p")).wants("A", STARTUP);
    }

    private static OneShotPluginState state(OneShotExample example) {
        Situation learned = ObservationRecorder.observed(example.situation()).situation();
        Finding finding = new Finding(example.situation().history(), learned, Planner.plan(learned));
        CurrentPluginStates states = PluginStates.of(List.of(finding), UsageReport.EMPTY);
        assertEquals(0, states.getDaemonPluginStatesCount());
        return states.getOneShotPluginStates(0);
    }
}
