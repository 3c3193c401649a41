package io.homeostat.reconcile.status;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.plan.CleanEnd;
import io.homeostat.reconcile.plan.Schedule;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Conditions;
import io.homeostat.reconcile.status.Survey.Finding;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * All that {@code status} says of one workload.
 *
 * @param source null when it is no longer declared
 * @param overruled weaker sources that declare it, too
 * @param generation of the declaration; 0 without one
 * @param observedGeneration of the declaration that was last acted on
 * @param desiredRevision null when it is not declared
 * @param currentRevision the one that runs or, when none does, is active; null when there is none
 * @param pendingRevision the declared one until it has been seen well; when somebody goes back to a former one, that one until it has been
 * @param failure why the upgrade to the pending revision was undone, why it could not be installed, or how it crashed last; empty when
 *     none of them
 * @param identity by which the newest running instance is found; null when none runs
 * @param restarts since the declaration
 * @param health of that process; null when it was not checked
 * @param configHash of the configuration that the process has accepted; empty without one
 * @param usage of its process tree; null when it was not sampled, which only an agent does
 * @param execution null unless it is a one-shot
 * @param plan what is left to do
 */
public record WorkloadStatus(
        WorkloadId id,
        @Nullable SourceName source,
        ImmutableList<SourceName> overruled,
        long generation,
        long observedGeneration,
        WorkloadState state,
        @Nullable String desiredRevision,
        @Nullable String currentRevision,
        @Nullable String pendingRevision,
        String failure,
        @Nullable Identity identity,
        @Nullable Instant startedAt,
        int restarts,
        @Nullable Exit lastExit,
        @Nullable Health health,
        String configHash,
        @Nullable Usage usage,
        @Nullable LastRun execution,
        ImmutableList<Condition> conditions,
        WorkloadPlan plan) {

    public static WorkloadStatus of(Finding finding) {
        return of(finding, null, true);
    }

    /** The same with something else left to do; null: as it is. */
    public WorkloadStatus withPlan(@Nullable WorkloadPlan other) {
        return other == null
                ? this
                : new WorkloadStatus(
                        id,
                        source,
                        overruled,
                        generation,
                        observedGeneration,
                        state,
                        desiredRevision,
                        currentRevision,
                        pendingRevision,
                        failure,
                        identity,
                        startedAt,
                        restarts,
                        lastExit,
                        health,
                        configHash,
                        usage,
                        execution,
                        conditions,
                        other);
    }

    /**
     * The status of a finding.
     *
     * @param usage null when it was not sampled
     * @param isEnforced whether somebody is at work to carry out the plan
     */
    public static WorkloadStatus of(Finding finding, @Nullable Usage usage, boolean isEnforced) {
        Situation situation = finding.situation();
        Declaration declared = situation.declared();
        WorkloadHistory history = situation.history();
        LastRun execution = LastRun.of(situation);
        Optional<ObservedInstance> main = newestRunning(instances(situation));
        String current =
                Strings.emptyToNull(main.map(process -> process.instance().revision())
                        .or(() -> activeRevision(situation))
                        .or(() -> localRevision(history))
                        .orElse(null));
        return new WorkloadStatus(
                finding.id(),
                declared == null ? null : declared.source(),
                declared == null ? ImmutableList.of() : declared.overruled(),
                declared == null ? 0 : declared.generation(),
                finding.remembered().observedGeneration(),
                finding.stopping() ? WorkloadState.STOPPING : WorkloadState.of(situation, finding.plan(), isEnforced),
                declared == null ? null : declared.workload().revision(),
                current,
                pending(declared, history),
                execution != null && !execution.error().isEmpty() ? execution.error() : failure(declared, history),
                main.map(process -> process.instance().identity()).orElse(null),
                main.map(process -> startedAt(situation, process)).orElse(null),
                history.run().restarts(),
                history.run().lastExit(),
                main.map(WorkloadStatus::health).orElse(null),
                main.map(process -> process.instance().configHash()).orElseGet(() -> ranWith(situation, execution)),
                usage,
                execution,
                Conditions.of(situation, finding.plan()),
                finding.plan());
    }

    /** The hash of the configuration that nothing runs with any more because it is done. */
    private static String ranWith(Situation situation, @Nullable LastRun execution) {
        return CleanEnd.resting(situation)
                .map(workload -> Traits.of(workload).configHash())
                .orElseGet(() -> execution == null ? "" : execution.configHash(situation));
    }

    /** Of the newest running instance; null when it is no process of this host. */
    public @Nullable Long pid() {
        return identity instanceof ProcessIdentity process ? process.pid() : null;
    }

    /** True when the machine is as declared and all that should run is well. */
    public boolean isWell() {
        return is(Condition.Type.CONVERGED) && (is(Condition.Type.HEALTHY) || state == WorkloadState.STOPPED);
    }

    private boolean is(Condition.Type type) {
        return conditions.stream()
                .anyMatch(condition -> condition.type() == type && condition.status() == Condition.Status.TRUE);
    }

    /** Of those that the state knows, if there is one. */
    private static Optional<ObservedInstance> newestRunning(List<ObservedInstance> instances) {
        return instances.reversed().stream()
                .filter(process -> process.liveness() instanceof Running)
                .min(Comparator.comparing(process -> process.instance().isUnknown()));
    }

    private static @Nullable Health health(ObservedInstance process) {
        return process.liveness() instanceof Running running ? running.health() : null;
    }

    private static @Nullable Instant startedAt(Situation situation, ObservedInstance process) {
        return process.liveness() instanceof Running running ? situation.now().minus(running.age()) : null;
    }

    /** A local program is always there; its revision is the one that was last seen running. */
    private static Optional<String> localRevision(WorkloadHistory history) {
        return Optional.ofNullable(history.lastKnownGood())
                .filter(lastKnownGood -> lastKnownGood.directory() == null)
                .map(lastKnownGood -> lastKnownGood.workload().revision());
    }

    private static @Nullable String pending(@Nullable Declaration declared, WorkloadHistory history) {
        if (declared == null) {
            return null;
        }
        String desired = declared.workload().revision();
        LastKnownGood lastKnownGood = history.lastKnownGood();
        if (lastKnownGood == null) {
            return desired;
        }
        String good = lastKnownGood.workload().revision();
        boolean goesBack = history.undone(declared.hash())
                .filter(undone -> undone.byRequest() && undone.replacedAt() == null)
                .isPresent();
        return good.equals(desired) ? null : goesBack ? good : desired;
    }

    private static String failure(@Nullable Declaration declared, WorkloadHistory history) {
        if (declared == null) {
            return "";
        }
        Optional<FailedRevision> undone = history.undone(declared.hash());
        if (undone.isPresent()) {
            return undone.get().error();
        }
        if (history.attempts().install().count() > 0) {
            return history.attempts().install().error();
        }
        if (history.attempts().start().count() > 0) {
            return history.attempts().start().error();
        }
        return history.run().crashes().count() > 0 ? history.run().crashes().error() : "";
    }

    static ImmutableList<ObservedInstance> instances(Situation situation) {
        return seen(situation.seen().instances()).orElse(ImmutableList.of());
    }

    /** The revision that the workload's symlink points to. */
    static Optional<String> activeRevision(Situation situation) {
        Optional<String> active = seen(situation.seen().active()).flatMap(link -> link);
        ImmutableList<Installation> installations =
                seen(situation.seen().installations()).orElse(ImmutableList.of());
        return active.flatMap(directory -> installations.stream()
                .filter(installation -> installation.directory().equals(directory))
                .map(Installation::revision)
                .findFirst());
    }

    private static <T> Optional<T> seen(Observation<T> look) {
        return switch (look) {
            case Observation.Seen<T>(T value) -> Optional.of(value);
            case Observation.Unseen<T>(String why) -> Optional.empty();
        };
    }

    /**
     * The last run of a one-shot, and the next.
     *
     * @param run the last run of the current declaration; null when there was none
     * @param nextDue when it runs again by the clock; null when it does not
     */
    public record LastRun(
            @Nullable OneShotRun run, @Nullable Instant nextDue) {

        /** Null when it is no one-shot or not declared. */
        static @Nullable LastRun of(Situation situation) {
            Declaration declared = situation.declared();
            return declared == null
                            || declared.workload().lifecycle().execution().triggers() == null
                    ? null
                    : new LastRun(
                            Schedule.lastRun(situation, declared).orElse(null),
                            new Schedule(situation, declared).next().orElse(null));
        }

        /** The hash of the configuration of the last run; empty without one. */
        String configHash(Situation situation) {
            Declaration declared = situation.declared();
            boolean ran = run != null && run.hasStarted();
            return ran && declared != null ? Traits.of(declared.workload()).configHash() : "";
        }

        String error() {
            return run == null ? "" : run.error();
        }
    }
}
