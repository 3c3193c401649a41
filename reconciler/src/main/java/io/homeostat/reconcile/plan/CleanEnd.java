package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.install.Installation;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the end with exit status 0 of a daemon comes to that is to be launched again only after a failure: it has completed, and rests
 * until what it runs changes, the machine boots or somebody asks for it.
 */
public final class CleanEnd {
    private CleanEnd() {}

    /** Whether a clean end completes what is wanted. */
    private static boolean mayComplete(Workload workload) {
        Policy policy = workload.lifecycle().restart().policy();
        return !workload.isOneShot() && (policy == Policy.ON_FAILURE || policy == Policy.NEVER);
    }

    /** Whether a workload rests because it has completed, just as it is wanted, in this boot. */
    public static boolean rests(Workload wanted, RunRecord run, HostFacts host) {
        Completed completed = run.completed();
        return completed != null
                && mayComplete(wanted)
                && isOf(wanted, completed)
                && (wanted.lifecycle().restart().policy() == Policy.NEVER || isThisBoot(completed, host))
                && !completed.launchId().equals(run.again());
    }

    /**
     * What rests because it has completed: what is declared, or the last good revision as long as that stands in for it, because it was
     * undone or nobody has tried to launch it yet.
     */
    public static Optional<Workload> resting(Declaration declared, WorkloadHistory history, HostFacts host) {
        boolean standsIn = history.undone(declared.hash()).isPresent()
                || history.attempts().start().count() == 0;
        return Stream.concat(
                        Stream.of(declared.workload()),
                        standsIn ? history.standIns().stream().map(LastKnownGood::workload) : Stream.empty())
                .filter(workload -> rests(workload, history.run(), host))
                .findFirst();
    }

    public static Optional<Workload> resting(Situation situation) {
        Declaration declared = situation.declared();
        return declared == null ? Optional.empty() : resting(declared, situation.history(), situation.host());
    }

    /** Whether that is what has completed, ever. */
    public static boolean hasCompleted(Workload wanted, RunRecord run) {
        Completed completed = run.completed();
        return completed != null && mayComplete(wanted) && isOf(wanted, completed);
    }

    static boolean isOf(Workload workload, Completed completed) {
        return !workload.isOneShot() && completed.work().equals(Work.of(workload));
    }

    /** What is not known of either boot ends no rest. */
    static boolean isThisBoot(Completed completed, HostFacts host) {
        return completed.bootId().isEmpty()
                || !(host.bootId() instanceof Observation.Seen<String>(String now))
                || now.equals(completed.bootId());
    }

    /**
     * What an end completes: what is declared or the last good revision, whichever the instance ran. Empty when it completes nothing,
     * because it was no clean one, was not its own, came before a plugin was started, or because every end is followed by a launch.
     */
    public static Optional<Workload> completes(Situation situation, Instance instance, Exit exit) {
        RunRecord.Stop stop = situation.history().run().stop();
        return exit.isSuccess()
                        && instance.phase() != Phase.STOPPING
                        && (stop == null || !stop.launchId().equals(instance.launchId()))
                        && !situation.relations().endedWithParent(instance)
                        && hasBegun(instance)
                ? does(situation, instance).filter(CleanEnd::mayComplete)
                : Optional.empty();
    }

    /** What is told to start has done nothing before. */
    private static boolean hasBegun(Instance instance) {
        return instance.phase() == Phase.STARTED
                || !KindTraits.of(instance.workload().kind()).isStartedExplicitly();
    }

    /** Whether what has completed is what is declared, or the last good revision in its place. */
    public static boolean isWanted(Situation situation, Completed completed) {
        Declaration declared = situation.declared();
        return declared != null
                && !declared.workload().isOneShot()
                && (isOf(declared.workload(), completed)
                        || situation.history().standIns().stream().anyMatch(good -> isOf(good.workload(), completed)));
    }

    /** Whether an instance, of another launch than has completed, was launched to do the same. */
    public static boolean isDoneAgain(Situation situation, Instance instance, Completed completed) {
        return !instance.launchId().equals(completed.launchId())
                && does(situation, instance)
                        .filter(workload -> isOf(workload, completed))
                        .isPresent();
    }

    /** What is declared or the last good revision, whichever an instance runs. */
    private static Optional<Workload> does(Situation situation, Instance instance) {
        Declaration declared = situation.declared();
        if (Work.isOneShot(instance)) {
            return Optional.empty();
        }
        if (declared != null && does(situation, instance, declared.workload(), declared.hash())) {
            return Optional.of(declared.workload());
        }
        return situation.history().standIns().stream()
                .filter(good -> does(situation, instance, good.workload(), good.hash()))
                .map(LastKnownGood::workload)
                .findFirst();
    }

    private static boolean does(Situation situation, Instance instance, Workload workload, String hash) {
        return !workload.isOneShot()
                && LaunchInputs.matches(instance, workload)
                && (instance.target().equals(hash) || isFrom(situation, instance.directory(), workload, hash))
                && Traits.of(workload).configHash().equals(instance.configHash());
    }

    /** Whether that directory holds, or held, the archive that is wanted. */
    private static boolean isFrom(Situation situation, @Nullable String directory, Workload workload, String hash) {
        if (!(situation.seen().installations()
                instanceof Observation.Seen<ImmutableList<Installation>>(var installations))) {
            return true;
        }
        Target target = Target.of(workload, hash, installations);
        return Objects.equals(directory, target.directory()) || target.isDamaged(directory);
    }
}
