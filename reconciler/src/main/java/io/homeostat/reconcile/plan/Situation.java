package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.install.Installation;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a decision about one workload depends on.
 *
 * @param declared null when nobody wants it
 * @param policy what holds for every workload
 * @param host the machine as a whole, with the answers to what the declaration's rules ask
 * @param relations how those fare that matter to it
 * @param archives keys of the complete archives in the cache
 * @param pause somebody's wish that it be left alone; null when there is none
 * @param checks by whose probe its instances were judged
 * @param seed from which the jitter of pauses grows
 */
public record Situation(
        @Nullable Declaration declared,
        Policy policy,
        ObservedWorkload seen,
        HostFacts host,
        Relations relations,
        ImmutableSet<String> archives,
        WorkloadHistory history,
        @Nullable Pause pause,
        Checks checks,
        long seed,
        Instant now) {
    public WorkloadId id() {
        return seen.id();
    }

    /** Its instances, the oldest first; to be asked of what could be seen only. */
    public ImmutableList<ObservedInstance> instances() {
        return seen(seen.instances());
    }

    /** What is installed; to be asked of what could be seen only. */
    public ImmutableList<Installation> installations() {
        return seen(seen.installations());
    }

    /** The directory that its symlink points to; to be asked of what could be seen only. */
    Optional<String> active() {
        return seen(seen.active());
    }

    /** Whether anything else of it is left on the machine; to be asked of what could be seen only. */
    boolean residue() {
        return seen(seen.residue());
    }

    private static <T> T seen(Observation<T> look) {
        return switch (look) {
            case Observation.Seen<T>(T value) -> value;
            case Observation.Unseen<T>(String why) -> throw new IllegalStateException("planned although blind: " + why);
        };
    }

    /** Whether an instance has started and is not known to have lost its health, by what is declared now. */
    public boolean runsWell(Instance instance) {
        return declared != null
                && instance.phase() == Phase.STARTED
                && history.run().healthFailures()
                        < declared.workload().lifecycle().health().failureThreshold();
    }

    /**
     * How many of its group may be down, where a step takes the workload down for a change. What does not run well is down already, and
     * those that are down may be waiting for it; what is to run to its end is none of the group any more.
     */
    public Optional<MaxDisruption> disruptionBy(Step step) {
        FailedRevision undone = undone();
        boolean byRequest = undone != null && undone.byRequest();
        boolean disrupts = step instanceof Step.Stop stop
                && (stop.cause() == Step.Stop.Cause.REPLACED || (stop.cause() == Step.Stop.Cause.UNDONE && byRequest))
                && !Work.isOneShot(stop.instance())
                && runsWell(stop.instance());
        return declared == null || !disrupts || declared.workload().isOneShot()
                ? Optional.empty()
                : Optional.ofNullable(declared.workload().lifecycle().maxDisruption());
    }

    /** How what is declared was tried and undone; null when it was not. */
    public @Nullable FailedRevision undone() {
        return declared == null ? null : history.undone(declared.hash()).orElse(null);
    }

    public Situation withHistory(WorkloadHistory next) {
        return new Situation(declared, policy, seen, host, relations, archives, next, pause, checks, seed, now);
    }

    public Situation withPause(@Nullable Pause next) {
        return new Situation(declared, policy, seen, host, relations, archives, history, next, checks, seed, now);
    }

    public Situation withRelations(Relations next) {
        return new Situation(declared, policy, seen, host, next, archives, history, pause, checks, seed, now);
    }

    public Situation withSeen(ObservedWorkload next) {
        return new Situation(declared, policy, next, host, relations, archives, history, pause, checks, seed, now);
    }

    /** The same, seen as late as that. */
    public Situation at(Instant later) {
        return new Situation(declared, policy, seen, host, relations, archives, history, pause, checks, seed, later);
    }

    /** What is wrong with an instance that is waited for, and since when, so that the words stay the same. */
    public String degradation(Health health) {
        Instant since = history.conditions().stream()
                .filter(before -> before.type() == Condition.Type.HEALTHY && before.reason() == Reason.DEGRADED)
                .map(Condition::lastTransitionTime)
                .findFirst()
                .orElse(now);
        return health.problem() + " (since " + since.truncatedTo(ChronoUnit.SECONDS) + ")";
    }
}
