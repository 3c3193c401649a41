package io.homeostat.reconcile.agent.fleet;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/** How each workload is by the last look of the loop, as a fleet is told. */
public final class ReportedWorkloads implements PassListener {
    private final Map<WorkloadId, ReportedWorkload> workloads = new ConcurrentSkipListMap<>();
    private volatile Runnable changed = () -> {};

    /** @param next is called after each change, in place of what was called before */
    void onChange(Runnable next) {
        changed = next;
    }

    ImmutableList<ReportedWorkload> now() {
        return ImmutableList.copyOf(workloads.values());
    }

    @Override
    public void looked(Situation situation, WorkloadPlan plan) {
        Finding finding = new Finding(situation.history(), situation, plan);
        note(situation.id(), finding.matters() ? reported(WorkloadStatus.of(finding)) : null);
    }

    /** @param now null when there is nothing to say of it any more */
    void note(WorkloadId id, @Nullable ReportedWorkload now) {
        ReportedWorkload before = now == null ? workloads.remove(id) : workloads.put(id, now);
        if (now == null ? before != null : !now.equals(before)) {
            changed.run();
        }
    }

    private static ReportedWorkload reported(WorkloadStatus status) {
        boolean failed = is(status, Condition.Type.ROLLED_BACK) || is(status, Condition.Type.GIVEN_UP);
        return new ReportedWorkload(
                status.id().brief(),
                BriefText.of(Strings.nullToEmpty(status.currentRevision())),
                BriefText.of(Strings.nullToEmpty(status.desiredRevision())),
                failed ? BriefText.of(Strings.nullToEmpty(status.desiredRevision())) : "",
                status.state().name(),
                is(status, Condition.Type.CONVERGED),
                is(status, Condition.Type.HEALTHY),
                is(status, Condition.Type.PAUSED),
                is(status, Condition.Type.GIVEN_UP),
                status.restarts(),
                BriefText.of(status.failure()));
    }

    private static boolean is(WorkloadStatus status, Condition.Type type) {
        return status.conditions().stream()
                .anyMatch(condition -> condition.type() == type && condition.status() == Condition.Status.TRUE);
    }
}
