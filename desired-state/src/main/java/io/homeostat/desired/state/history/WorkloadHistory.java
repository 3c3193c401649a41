package io.homeostat.desired.state.history;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.Reported;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What can't be observed about a workload. A value: the reconciler decides how it changes.
 *
 * @param observedGeneration of the declaration that was last acted on
 * @param attempts at the current declaration
 * @param lastKnownGood null when no revision has been seen healthy
 * @param former where revisions are installed that were seen healthy before, the newest first
 * @param failed the upgrade that was last undone; null when none was
 * @param decision null when it was never known whether the workload is meant for this machine
 * @param asked what a control plane waits to be told
 */
public record WorkloadHistory(
        long observedGeneration,
        @Fields.Key("trial") Attempts attempts,
        @Fields.Key("proven") @Nullable LastKnownGood lastKnownGood,
        ImmutableList<String> former,
        @Nullable FailedRevision failed,
        RunRecord run,
        @Nullable Decision decision,
        ImmutableList<Condition> conditions,
        Asked asked) {

    public static final WorkloadHistory NONE = new WorkloadHistory(
            0, Attempts.NONE, null, ImmutableList.of(), null, RunRecord.NONE, null, ImmutableList.of(), Asked.NOTHING);

    /** As many as may ever be kept, {@link io.homeostat.desired.model.Lifecycle#keepRevisions}. */
    private static final int MOST_FORMER = 9;

    /** What is left to be known of a workload that somebody deletes although nothing is remembered of it. */
    public static final WorkloadHistory DELETED = NONE.withAttempts(1, Attempts.NONE);

    /** Whether it was wanted once: only then may what is left of it be removed. */
    public boolean isOfSomethingDeclared() {
        return observedGeneration > 0;
    }

    /**
     * Without what counts against the workload, so that it is tried at once: who asks by hand has usually removed the cause. A failed
     * upgrade stays failed; a failed one-shot runs again, unless only its calendar makes it run.
     */
    public WorkloadHistory retriedNow() {
        return withAttempts(Attempts.of(attempts.hash())
                        .withRestartToConfigure(attempts.restartToConfigure())
                        .withReported(Reported.of(attempts.reported().revision())))
                .withRun(run.withCrashes(run.crashes().forgiven())
                        .withRepairs(Failures.NONE)
                        .withFailedRunRetried());
    }

    /** Whether something has failed or was told since it was last {@link #retriedNow}, so that how it was last seen is of these tries. */
    public boolean isTriedSince() {
        return !equals(retriedNow());
    }

    /** Without a rollback by request, so that what is declared is wanted again; what runs as long as nothing has replaced it is the last good. */
    public WorkloadHistory withoutRollback() {
        if (failed == null || !failed.byRequest()) {
            return this;
        }
        LastKnownGood runs = failed.meanwhile();
        return (runs == null ? this : withLastKnownGood(runs)).withFailed(null);
    }

    /** Found as it is wanted, whoever has made it so: what had failed on the way is over, and nothing waits for its next try. */
    public WorkloadHistory settled() {
        return withAttempts(attempts.withRestore(Failures.NONE).withUpkeep(Failures.NONE));
    }

    public WorkloadHistory withAttempts(long generation, Attempts next) {
        return new WorkloadHistory(generation, next, lastKnownGood, former, failed, run, decision, conditions, asked);
    }

    public WorkloadHistory withAttempts(Attempts next) {
        return withAttempts(observedGeneration, next);
    }

    public WorkloadHistory withLastKnownGood(@Nullable LastKnownGood revision) {
        return withLastKnownGood(revision, former);
    }

    private WorkloadHistory withLastKnownGood(@Nullable LastKnownGood revision, ImmutableList<String> before) {
        return new WorkloadHistory(
                observedGeneration, attempts, revision, before, failed, run, decision, conditions, asked);
    }

    /** With another good revision; where the one before is installed is remembered. */
    public WorkloadHistory succeededBy(LastKnownGood revision) {
        String here = revision.directory();
        String there = lastKnownGood == null ? null : lastKnownGood.directory();
        return withLastKnownGood(
                revision,
                Stream.concat(Stream.ofNullable(there), former.stream())
                        .filter(directory -> !directory.equals(here))
                        .distinct()
                        .limit(MOST_FORMER)
                        .collect(ImmutableList.toImmutableList()));
    }

    /** Former declarations that may run in the place of what is declared: the last good one, and what goes on until that is here. */
    public ImmutableList<LastKnownGood> standIns() {
        return Stream.of(lastKnownGood, failed == null ? null : failed.meanwhile())
                .flatMap(Stream::ofNullable)
                .collect(ImmutableList.toImmutableList());
    }

    /** How that declaration was tried as an upgrade and undone; empty when it was not, or not since another one was declared. */
    public Optional<FailedRevision> undone(String hash) {
        return Optional.ofNullable(failed).filter(one -> one.hash().equals(hash));
    }

    /** Whether that declaration is known to work, so that a failure of it is a crash. That somebody had it undone says nothing against it. */
    public boolean wasWell(String hash) {
        return (lastKnownGood != null && lastKnownGood.hash().equals(hash))
                || undone(hash).filter(FailedRevision::byRequest).isPresent();
    }

    /**
     * Why what is to run does not work so far, which is what is declared or what stands in for it; empty when there is nothing against it.
     * A crash of what only runs until then is no failure of that.
     */
    public String problem() {
        FailedRevision undone = undone(attempts.hash()).orElse(null);
        boolean crashesCount = undone == null
                ? lastKnownGood != null && lastKnownGood.hash().equals(attempts.hash())
                : undone.meanwhile() == null;
        return Stream.of(
                        undone == null
                                ? attempts.install().error()
                                : attempts.restore().error(),
                        attempts.upkeep().error(),
                        undone == null ? attempts.start().error() : "",
                        crashesCount && run.crashes().count() > 0
                                ? run.crashes().error()
                                : "")
                .filter(error -> !error.isEmpty())
                .findFirst()
                .orElse("");
    }

    /** Whether what stands in for a declaration crashes there, or is not well; what only goes on until that is here is not meant. */
    public boolean standInFails() {
        return failed != null && failed.meanwhile() == null && (run.crashes().count() > 0 || run.healthFailures() > 0);
    }

    /** Undone by request: a former revision is to run in its place, and nothing counts against that. */
    public WorkloadHistory rolledBack(FailedRevision undone, LastKnownGood revision) {
        return succeededBy(revision)
                .withFailed(undone)
                .withAttempts(attempts.withStart(Failures.NONE)
                        .withRestore(Failures.NONE)
                        .withUpkeep(Failures.NONE)
                        .withRestartToConfigure(false))
                .withRun(run.withCrashes(Failures.NONE));
    }

    public WorkloadHistory withFailed(@Nullable FailedRevision revision) {
        return new WorkloadHistory(
                observedGeneration, attempts, lastKnownGood, former, revision, run, decision, conditions, asked);
    }

    public WorkloadHistory withRun(RunRecord next) {
        return new WorkloadHistory(
                observedGeneration, attempts, lastKnownGood, former, failed, next, decision, conditions, asked);
    }

    public WorkloadHistory withDecision(@Nullable Decision next) {
        return new WorkloadHistory(
                observedGeneration, attempts, lastKnownGood, former, failed, run, next, conditions, asked);
    }

    public WorkloadHistory withConditions(ImmutableList<Condition> next) {
        return new WorkloadHistory(
                observedGeneration, attempts, lastKnownGood, former, failed, run, decision, next, asked);
    }

    public WorkloadHistory withAsked(Asked next) {
        return new WorkloadHistory(
                observedGeneration, attempts, lastKnownGood, former, failed, run, decision, conditions, next);
    }

    /**
     * What a control plane has asked for without having been told what became of it.
     *
     * @param install an INSTALL of the program that is installed already, but is not, or does not run, as it is declared now
     * @param apply null when all have been told
     */
    public record Asked(boolean install, @Nullable Apply apply) {
        public static final Asked NOTHING = new Asked(false, null);

        public Asked withInstall(boolean waiting) {
            return new Asked(waiting, apply);
        }

        public Asked withApply(@Nullable Apply next) {
            return new Asked(install, next);
        }
    }

    /**
     * An APPLY.
     *
     * @param config hash of the configuration
     * @param base hash of the declaration that had another configuration before
     */
    public record Apply(String config, String base) {}

    /**
     * A declaration that was tried as an upgrade and undone, so many times, for this error the last time.
     *
     * @param revision that was undone; when somebody went back further from what stood in already, that one's
     * @param byRequest whether somebody had it undone, who alone has it tried again
     * @param meanwhile what worked and ran when somebody had it undone, and so goes on until the last good revision is here; null when
     *     nothing did, or that was launched, or took no launch
     * @param replacedAt when the last good revision was seen to work in its place; null as long as it was not
     */
    public record FailedRevision(
            String hash,
            String revision,
            int times,
            Instant at,
            String error,
            boolean byRequest,
            @Nullable LastKnownGood meanwhile,
            @Nullable Instant replacedAt) {
        public FailedRevision(String hash, String revision, int times, Instant at, String error) {
            this(hash, revision, times, at, error, false, null, null);
        }

        /** One that somebody had undone. */
        public static FailedRevision byRequest(
                String hash, String revision, Instant at, String error, @Nullable LastKnownGood meanwhile) {
            return new FailedRevision(hash, revision, 1, at, error, true, meanwhile, null);
        }

        /** The last good revision was launched in its place. */
        public FailedRevision launched() {
            return new FailedRevision(hash, revision, times, at, error, byRequest, null, replacedAt);
        }

        public FailedRevision withReplacedAt(Instant when) {
            return new FailedRevision(hash, revision, times, at, error, byRequest, meanwhile, when);
        }
    }

    /**
     * The last revision that was seen healthy, with everything needed to run it again after a failed upgrade.
     *
     * @param directory where it is installed; null when it is local
     */
    public record LastKnownGood(
            Workload workload, String hash, @Nullable String directory) {}

    /**
     * Whether a workload was last found to be meant for this machine. Kept while its rules can't be answered, and over restarts.
     *
     * @param why which rule decided, for people; empty when no rule had to be asked
     * @param since when the state last changed
     */
    public record Decision(Execution.State state, String why, Instant since) {}
}
