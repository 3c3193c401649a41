package io.homeostat.desired.state.history;

import com.google.common.collect.ImmutableList;
import org.jspecify.annotations.Nullable;

/**
 * What can't be observed about a workload. A value: how it changes is decided in the reconciler.
 *
 * @param observedGeneration of the declaration that was last acted on
 * @param trial failures of the current declaration
 * @param proven the last revision seen healthy; null when none was
 * @param failed the upgrade that was last undone; null when none was
 * @param run how its processes have fared
 * @param decision whether it was last found to be meant for this machine; null when that was never known
 */
public record WorkloadHistory(
        long observedGeneration,
        Trial trial,
        @Nullable ProvenRevision proven,
        @Nullable FailedRevision failed,
        RunRecord run,
        @Nullable Decision decision,
        ImmutableList<Condition> conditions) {

    public static final WorkloadHistory NONE =
            new WorkloadHistory(0, Trial.NONE, null, null, RunRecord.NONE, null, ImmutableList.of());

    /** What is left to be known of a workload that somebody deletes although nothing is remembered of it. */
    public static final WorkloadHistory DELETED = NONE.withTrial(1, Trial.NONE);

    /** Whether it was wanted once: only then may what is left of it be removed. */
    public boolean isOfSomethingDeclared() {
        return observedGeneration > 0;
    }

    /**
     * Without what counts against the workload, so that it is tried at once: somebody who asks by hand has usually removed the
     * cause. A failed upgrade stays failed; a one-shot whose run failed runs again.
     */
    public WorkloadHistory retriedNow() {
        return withTrial(Trial.of(trial.hash())
                        .withRestartToConfigure(trial.restartToConfigure())
                        .withTold(Told.of(trial.told().revision())))
                .withRun(run.withCrashes(Attempts.NONE)
                        .withRepairs(Attempts.NONE)
                        .withoutFailedRun());
    }

    /** Found as it is wanted, whoever has made it so: what had failed on the way is over, and nothing waits for its next try. */
    public WorkloadHistory settled() {
        return withTrial(trial.withUpkeep(Attempts.NONE));
    }

    public WorkloadHistory withTrial(long generation, Trial next) {
        return new WorkloadHistory(generation, next, proven, failed, run, decision, conditions);
    }

    public WorkloadHistory withTrial(Trial next) {
        return withTrial(observedGeneration, next);
    }

    public WorkloadHistory withProven(@Nullable ProvenRevision revision) {
        return new WorkloadHistory(observedGeneration, trial, revision, failed, run, decision, conditions);
    }

    public WorkloadHistory withFailed(@Nullable FailedRevision revision) {
        return new WorkloadHistory(observedGeneration, trial, proven, revision, run, decision, conditions);
    }

    public WorkloadHistory withRun(RunRecord next) {
        return new WorkloadHistory(observedGeneration, trial, proven, failed, next, decision, conditions);
    }

    public WorkloadHistory withDecision(@Nullable Decision next) {
        return new WorkloadHistory(observedGeneration, trial, proven, failed, run, next, conditions);
    }

    public WorkloadHistory withConditions(ImmutableList<Condition> next) {
        return new WorkloadHistory(observedGeneration, trial, proven, failed, run, decision, next);
    }
}
