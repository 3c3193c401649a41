package io.homeostat.reconcile.status;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.CleanEnd;
import io.homeostat.reconcile.plan.Schedule;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.util.List;

/** The state of a workload in one word, the control plane's (StatusValue). */
public enum WorkloadState {
    /** Could not be observed. */
    STATE_VALUE_UNSPECIFIED,
    STARTING,
    RUNNING,
    STOPPING,
    STOPPED,
    CRASHED,
    INSTALLING,
    INSTALL_FAILED,
    EXECUTION_COMPLETED,
    EXECUTION_FAILED;

    /** For people, to whom the control plane's name of what nobody knows says nothing. */
    public String word() {
        return this == STATE_VALUE_UNSPECIFIED ? "UNKNOWN" : name();
    }

    /**
     * The state of a workload that is looked after.
     *
     * @param situation updated by the look: without processes that have ended
     * @param plan made for it
     */
    public static WorkloadState of(Situation situation, WorkloadPlan plan) {
        return of(situation, plan, true);
    }

    /**
     * The same.
     *
     * @param isEnforced whether somebody is at work to carry out the plan: what is not wanted only ends when somebody stops it
     */
    static WorkloadState of(Situation situation, WorkloadPlan plan, boolean isEnforced) {
        if (plan.reason() == Reason.CANNOT_OBSERVE) {
            return STATE_VALUE_UNSPECIFIED;
        }
        List<ObservedInstance> instances = WorkloadStatus.instances(situation);
        boolean wanted = plan.reason() == Reason.UNCLAIMED
                || plan.reason() == Reason.PAUSED
                || (situation.declared() != null && !isKeptStopped(plan));
        if (instances.isEmpty()) {
            return atRest(situation, plan);
        }
        if (wanted) {
            return alive(instances);
        }
        return isEnforced ? STOPPING : RUNNING;
    }

    private static WorkloadState alive(List<ObservedInstance> instances) {
        ObservedInstance newest = instances.getLast();
        return switch (newest.liveness()) {
            case Liveness.Running running ->
                newest.instance().phase() == Phase.STARTED || newest.instance().isUnknown() ? RUNNING : STARTING;
            case Liveness.Pending pending -> STARTING;
            case Liveness.Ended ended -> CRASHED;
            case Liveness.Orphaned orphaned -> CRASHED;
        };
    }

    /** Nothing of it runs. */
    private static WorkloadState atRest(Situation situation, WorkloadPlan plan) {
        Declaration declared = situation.declared();
        WorkloadHistory history = situation.history();
        if (declared != null && !isKeptStopped(plan) && declared.workload().isOneShot()) {
            return ofOneShot(situation, declared, plan);
        }
        if (!isKeptStopped(plan) && CleanEnd.resting(situation).isPresent()) {
            return EXECUTION_COMPLETED;
        }
        if (declared == null
                || plan.action() == Action.NONE
                || plan.reason() == Reason.LIMITS_NOT_ENFORCEABLE
                || plan.reason() == Reason.FILE_UNUSABLE
                || plan.reason() == Reason.CONFIG_REFUSED
                || plan.reason() == Reason.STOPPED) {
            return STOPPED;
        }
        if (history.attempts().install().count() > 0 || isUsedUp(declared, history)) {
            return INSTALL_FAILED;
        }
        Exit exit = history.run().lastExit();
        boolean ranBefore = history.lastKnownGood() != null;
        Completed completed = history.run().completed();
        boolean endedWell = completed != null && completed.exit().equals(exit);
        // What was stopped because it was ill has failed all the same.
        boolean failed = plan.reason() == Reason.GIVEN_UP || plan.reason() == Reason.CRASH_LOOP;
        if (exit != null && (exit.reason() != Exit.Reason.STOPPED || failed) && !endedWell && ranBefore) {
            return CRASHED;
        }
        if (ranBefore) {
            return STOPPED;
        }
        if (plan.reason() == Reason.PAUSED || plan.reason() == Reason.FACTS_UNKNOWN || waitsForDeclaration(plan)) {
            return STOPPED;
        }
        return history.attempts().start().count() > 0 ? STARTING : INSTALLING;
    }

    /** By its rules, or on request. */
    private static boolean isKeptStopped(WorkloadPlan plan) {
        return plan.reason() == Reason.DISABLED || plan.reason() == Reason.STOPPED;
    }

    /** It is not on its way, such as one whose dependency is declared by nobody. */
    private static boolean waitsForDeclaration(WorkloadPlan plan) {
        return plan.next()
                .filter(step -> step instanceof Step.Wait wait && wait.kind() == Step.Wait.Kind.DECLARATION)
                .isPresent();
    }

    private static WorkloadState ofOneShot(Situation situation, Declaration declared, WorkloadPlan plan) {
        WorkloadHistory history = situation.history();
        OneShotRun run = Schedule.lastRun(situation, declared).orElse(null);
        if (run == null && plan.reason() == Reason.FACTS_UNKNOWN) {
            return STOPPED;
        }
        if (run == null && history.attempts().install().count() > 0) {
            return INSTALL_FAILED;
        }
        if (run == null) {
            // It has never run and rests when only its calendar makes it run.
            return plan.reason() == Reason.PAUSED || plan.action() == Action.NONE || waitsForDeclaration(plan)
                    ? STOPPED
                    : INSTALLING;
        }
        return switch (run.result()) {
            // Its end has not been stored yet.
            case RUNNING -> RUNNING;
            case COMPLETED -> EXECUTION_COMPLETED;
            case FAILED -> run.hasStarted() || history.lastKnownGood() != null ? EXECUTION_FAILED : INSTALL_FAILED;
        };
    }

    /** The first start has failed as often as allowed, which a control plane calls a failed installation. */
    private static boolean isUsedUp(Declaration declared, WorkloadHistory history) {
        int starts = history.attempts().start().count();
        return history.attempts().start().fatal()
                || starts >= declared.workload().lifecycle().start().attempts();
    }
}
