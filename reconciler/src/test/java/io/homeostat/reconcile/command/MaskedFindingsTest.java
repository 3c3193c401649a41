package io.homeostat.reconcile.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.proto.acp.CurrentPluginStates.StatusValue;
import io.homeostat.reconcile.controlplane.PluginStates;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What is known of a plugin beside its words stays when they are masked. */
class MaskedFindingsTest {
    private static final Health WELL = new Health(Verdict.HEALTHY, 0, ImmutableList.of("all is well"), "", Example.NOW);

    @Test
    void aPluginThatSpeaksWhileItIsStoppedIsSaidToBeStopping() {
        Situation situation = Example.plugin()
                .wants("B")
                .installed("A")
                .active("A")
                .runs("A", Phase.STARTED, Duration.ofHours(1), WELL)
                .knownGood("A")
                .situation();
        Finding stopping = new Finding(situation.history(), situation, Planner.plan(situation), true);

        Finding shown = MaskedFindings.of(stopping, id -> ImmutableList.of());

        assertNotNull(WorkloadStatus.of(shown).health(), "it has spoken");
        assertEquals(WorkloadState.STOPPING, WorkloadStatus.of(shown).state());
        assertEquals(
                StatusValue.STOPPING,
                PluginStates.of(ImmutableList.of(shown), UsageReport.EMPTY)
                        .getDaemonPluginStates(0)
                        .getCurrentPluginStatus()
                        .getStatus());
    }
}
