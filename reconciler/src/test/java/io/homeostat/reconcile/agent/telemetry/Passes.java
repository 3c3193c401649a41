package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.time.Instant;

/** Tells a listener of passes, in a time of its own. */
public final class Passes implements Ticker {
    public static final WorkloadId WORKLOAD = WorkloadId.plugin("ops-agent");

    private long nanos = 1_000_000_000_000L;

    @Override
    public long read() {
        return nanos;
    }

    void pass(Duration time) {
        nanos += time.toNanos();
    }

    void begun(PassListener listener) {
        listener.begun(new PassId(WORKLOAD, 1, Trigger.EXIT));
    }

    public void stepped(PassListener listener, Step step, Reason reason, Outcome outcome, Duration time) {
        begun(listener);
        listener.starting(step);
        pass(time);
        listener.finished(WORKLOAD, again(step, reason, outcome));
    }

    PassResult again(Step step, Reason reason, Outcome outcome) {
        return new PassResult.Again(plan(Action.RESTART, reason), step, outcome);
    }

    public void settled(PassListener listener) {
        begun(listener);
        listener.finished(WORKLOAD, new PassResult.Settled(plan(Action.NONE, Reason.AT_DESIRED_STATE)));
    }

    public void gone(PassListener listener) {
        begun(listener);
        WorkloadPlan nothing =
                new WorkloadPlan(WORKLOAD, Action.NONE, Reason.AT_DESIRED_STATE, "", ImmutableList.of(), null, null);
        listener.finished(WORKLOAD, new PassResult.Settled(nothing));
    }

    public void waits(PassListener listener, Step.Wait.Kind kind, Reason reason, String why) {
        begun(listener);
        listener.finished(
                WORKLOAD,
                new PassResult.Later(plan(Action.WAIT, reason), new Step.Wait(WORKLOAD, Instant.EPOCH, kind, why)));
    }

    private static WorkloadPlan plan(Action action, Reason reason) {
        WorkloadPlan.Facts facts = new WorkloadPlan.Facts("A");
        return new WorkloadPlan(WORKLOAD, action, reason, "", ImmutableList.of(), facts, facts);
    }
}
