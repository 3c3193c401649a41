package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What must hold before each step is done; knows the truth about the machine, not only what was seen of it. */
final class StepRules {
    /** The declared timeout of runs, less the seconds that a clock in between may take. */
    private static final long A_LONG_RUN_MILLIS = 60_000;

    private final FakeDisk disk;
    private final FakeProcesses processes;
    private final DeclaredSnapshot asked;
    private final FakeStore store;
    private final TrueRuns runs;
    private final StepConstraints restraints;
    private final VirtualClock clock;
    /** Of the pass that is under way. */
    private @Nullable WorkloadId paused;
    /** When it looked, by the clock that it goes by and that may be set since. */
    private Instant since = Instant.EPOCH;

    StepRules(
            FakeDisk disk,
            FakeProcesses processes,
            DeclaredSnapshot asked,
            FakeStore store,
            TrueRuns runs,
            StepConstraints restraints,
            VirtualClock clock) {
        this.disk = disk;
        this.processes = processes;
        this.asked = asked;
        this.store = store;
        this.runs = runs;
        this.restraints = restraints;
        this.clock = clock;
    }

    /** A pass has looked and is about to plan: what is paused only later may still get the step that was decided on. */
    void looked(WorkloadId id) {
        if (asked.answer(id).filter(OneShotChecks::isOneShot).isEmpty()) {
            runs.excuse(id);
        }
        paused = store.pause(id).isPresent() ? id : null;
        since = clock.instant();
    }

    /** What comes now was decided on before whatever was looked at since, as what is fetched in the background is. */
    void decidedEarlier() {
        paused = null;
    }

    void beforeAny(Step step, ObservedWorkload seen) {
        boolean blind = Stream.of(seen.installations(), seen.active(), seen.instances(), seen.residue())
                .anyMatch(look -> look instanceof Observation.Unseen<?>);
        Invariant.BLIND_DOES_NOTHING.require(!blind, () -> step + " after " + seen);
        Invariant.THE_PAUSED_ARE_LEFT_ALONE.require(
                !step.workload().equals(paused), () -> "it was paused before this was planned: " + step);
        boolean removes = step instanceof Step.Remove
                || (step instanceof Step.Stop stop && stop.cause() == Step.Stop.Cause.REMOVED);
        Invariant.UNCLAIMED_IS_LEFT_ALONE.require(
                !removes || asked.everWanted(step.workload()), () -> "nothing is known of it, yet: " + step);
        if (step instanceof Step.Launch launch) {
            ofWhatIsLaunched(launch, seen);
        }
        if (step instanceof Step.Stop stop) {
            runsToItsEnd(stop);
            ofWhatIsStopped(stop, seen);
        }
        restraints.beforeAny(step);
    }

    /** What becomes visible is complete, so whatever was seen is; what was not seen may be half unpacked. */
    private static void ofWhatIsLaunched(Step.Launch step, ObservedWorkload seen) {
        if (step.directory() == null
                || !(seen.installations()
                        instanceof Observation.Seen<ImmutableList<Installation>>(var installations))) {
            return;
        }
        Optional<Installation> installation = installations.stream()
                .filter(each -> each.directory().equals(step.directory()))
                .findFirst();
        Invariant.NOTHING_HALF_WRITTEN.require(installation.isPresent(), () -> step + " after " + installations);
        Invariant.NOTHING_DAMAGED_IS_LAUNCHED.require(
                installation.get().isWhole(), () -> step + " after " + installations);
    }

    private void ofWhatIsStopped(Step.Stop step, ObservedWorkload seen) {
        Instance instance = step.instance();
        ObservedInstance process = instances(seen).stream()
                .filter(p -> p.instance().equals(instance))
                .findFirst()
                .orElseThrow(() ->
                        new Invariant.Violation(Invariant.NEVER_A_FOREIGN_PROCESS, "stops what was not seen: " + step));
        switch (process.liveness()) {
            case Liveness.Running(Identity identity, var age, var listening, var health, var lost, var deviation) ->
                Invariant.NEVER_A_FOREIGN_PROCESS.require(
                        identity.equals(instance.identity()), () -> "stops somebody else than it saw: " + process);
            case Liveness.Orphaned orphaned -> {
                // Its children carry its launch id.
            }
            case Liveness.Pending pending ->
                throw new Invariant.Violation(
                        Invariant.NEVER_A_FOREIGN_PROCESS, "stops what has no identity yet: " + step);
            case Liveness.Ended ended ->
                throw new Invariant.Violation(Invariant.NEVER_A_FOREIGN_PROCESS, "stops what has ended: " + step);
        }
        if (instances(seen).size() == 1 && step.cause() != Step.Stop.Cause.DISABLED) {
            boolean asWanted = asked.answer(step.workload())
                    .filter(declared -> !isRolledBack(declared)
                            && !instance.launchId()
                                    .equals(store.remembered(declared.id())
                                            .run()
                                            .again()))
                    .filter(declared -> isAsWanted(instance, declared.workload()) && !hasAnotherFile(instance, seen))
                    .filter(declared -> !restraints.isAwaited(declared.id()))
                    .isPresent();
            Invariant.THE_WELL_ARE_LEFT_ALONE.require(!asWanted, () -> "stops what is as declared and well: " + step);
        }
    }

    private boolean isRolledBack(Declaration declared) {
        return store.remembered(declared.id())
                .undone(declared.hash())
                .filter(FailedRevision::byRequest)
                .isPresent();
    }

    /** A file that is gone is no other one. */
    private static boolean hasAnotherFile(Instance instance, ObservedWorkload seen) {
        return seen.files().values().stream()
                .anyMatch(content -> content instanceof FileContent.Present present
                        && !present.sha256().equals(FakeProcess.file(instance)));
    }

    private void runsToItsEnd(Step.Stop step) {
        FakeProcess process = processes.of(step.instance().launchId());
        switch (step.cause()) {
            case REMOVED, DISABLED, REQUESTED, REPLACED, REPAIRED -> runs.excuse(step.workload());
            case RUN_OVER -> {
                long age = process == null ? 0 : clock.steadyMillis() - process.bornAt;
                Invariant.RUNS_COME_TO_THEIR_END.require(
                        process == null || !process.alive() || age >= A_LONG_RUN_MILLIS || process.code(age) == 0,
                        () -> step + " although it runs since " + age + " ms: " + process);
            }
            default -> {
                // Not about a run.
            }
        }
    }

    /** Whether the agent could know that this process is well and just what is declared. */
    private boolean isAsWanted(Instance instance, Workload wanted) {
        WorkloadSpec spec = wanted.spec();
        FakeProcess process = processes.of(instance.launchId());
        if (process == null || !process.alive() || process.doubted || process.deviates || !process.lost.isEmpty()) {
            return false;
        }
        boolean sameConfig = !Kinds.isGivenAnew(wanted)
                || (Traits.of(wanted).configHash().equals(instance.configHash())
                        && instance.configHash().equals(process.configHash));
        boolean wellByItsProbe = !(spec instanceof ProcessSpec asked)
                || Declarations.address(asked.probe())
                        .map(Declarations.address(instance.revision())::equals)
                        .orElse(true);
        return wellByItsProbe
                && instance.phase() == Phase.STARTED
                && FakeProcess.isLaunchedAs(wanted, instance)
                && hasItsFiles(instance, spec.source())
                && hasItsParent(instance, wanted)
                && sameConfig;
    }

    private boolean hasItsFiles(Instance instance, @Nullable Source source) {
        String directory = instance.directory();
        if (directory == null) {
            return source == null;
        }
        Installation installation = disk.installs(instance.workload()).get(directory);
        return installation != null
                && installation.isWhole()
                && source != null
                && installation.sha256().equalsIgnoreCase(source.sha256());
    }

    private boolean hasItsParent(Instance instance, Workload wanted) {
        return Traits.of(wanted).parent().isEmpty()
                || !Traits.of(wanted).recreatedWithParent()
                || store.instances(Traits.of(wanted).parent().get()).stream()
                        .anyMatch(parent -> parent.launchId().equals(FakeProcess.parent(instance)));
    }

    void beforeUnpack(Step.Unpack step) {
        Installation there = disk.installs(step.workload()).get(step.directory());
        Invariant.NOTHING_PULLED_AWAY.require(
                there == null || there.key().equals(step.key()) || noneRunsFrom(step.workload(), step.directory()),
                () -> "other content is unpacked under a running process: " + step);
    }

    void beforeLaunch(Step.Launch step) {
        WorkloadId id = step.workload();
        Invariant.NEVER_TWO.require(processes.present(id).isEmpty(), () -> step + " beside " + processes.present(id));
        restraints.beforeLaunch(step);
        theCompletedRest(step);
        runs.beforeLaunch(step, processes.bootId(), since);
        Declaration declared = asked.answer(id).orElse(null);
        boolean wanted = declared != null
                && declared.hash().equals(step.hash())
                && declared.workload().equals(step.declared());
        boolean standsIn = declared != null
                && store.remembered(id).standIns().stream()
                        .anyMatch(good -> good.hash().equals(step.hash())
                                && good.workload().equals(step.declared()));
        Invariant.ONLY_THE_WANTED_IS_LAUNCHED.require(
                wanted || standsIn, () -> step + " although wanted is " + declared);
    }

    private void theCompletedRest(Step.Launch step) {
        RunRecord run = store.remembered(step.workload()).run();
        Completed completed = run.completed();
        FakeProcess done = completed == null ? null : processes.of(completed.launchId());
        if (completed == null || done == null || !FakeMachine.mayComplete(step.declared())) {
            return;
        }
        boolean same = FakeProcess.isLaunchedAs(step.declared(), done.launched)
                && Objects.equals(done.launched.directory(), step.directory())
                && Traits.of(step.declared()).configHash().equals(done.configHash);
        Invariant.THE_COMPLETED_REST.require(
                !same
                        || !done.bootId.equals(processes.bootId())
                        || completed.launchId().equals(run.again()),
                () -> step + " although " + done);
    }

    /** The one process that a Start or an Apply is for. */
    FakeProcess only(Step step, ObservedWorkload seen) {
        ImmutableList<ObservedInstance> all = instances(seen);
        Invariant.NEVER_TWO.require(all.size() == 1, () -> step + " is for the only process, but there are " + all);
        ObservedInstance one = all.get(0);
        FakeProcess process = processes.of(one.instance().launchId());
        boolean itself = process != null
                && one.liveness() instanceof Liveness.Running running
                && running.identity().equals(process.named())
                && running.identity().equals(one.instance().identity());
        if (process == null || !itself) {
            throw new Invariant.Violation(Invariant.NEVER_A_FOREIGN_PROCESS, step + " is sent to " + one);
        }
        return process;
    }

    void beforeStart(FakeProcess process) {
        Invariant.START_AT_MOST_ONCE.require(process.starts == 0, () -> "started twice: " + process);
    }

    void beforeApply(FakeProcess process) {
        Invariant.NOTHING_BEFORE_START.require(
                process.starts == 1 || !Kinds.isToldToStart(process.launched.workload()),
                () -> "configured before its start: " + process);
    }

    void beforeReboot(Step.Reboot step) {
        Invariant.THE_WELL_ARE_LEFT_ALONE.require(
                processes.launches(step.workload()).stream().anyMatch(guest -> !guest.lost.isEmpty()),
                () -> "boots a guest whose agent was not started again: " + step);
    }

    /** The launch that is to be stopped. */
    FakeProcess beforeStop(Step.Stop step) {
        FakeProcess process = processes.of(step.instance().launchId());
        if (process == null) {
            throw new Invariant.Violation(Invariant.NEVER_A_FOREIGN_PROCESS, "no launch of ours: " + step);
        }
        return process;
    }

    void beforeRemove(Step.Remove step) {
        Invariant.NOTHING_PULLED_AWAY.require(
                processes.present(step.workload()).isEmpty(), () -> "removed under a running process: " + step);
    }

    void beforeCollect(Step.CollectGarbage step, String directory) {
        Invariant.LAST_GOOD_KEPT.require(
                !disk.isLastGood(step.workload(), directory)
                        || disk.isReplaced(step.workload(), directory)
                        || isRunInstead(step.workload()),
                () -> directory + " is collected: " + step);
        Invariant.LAST_GOOD_KEPT.require(
                !isProven(step.workload(), directory), () -> directory + " is what was last known good: " + step);
        Invariant.DURABLE_BEFORE_RELIED_ON.require(
                disk.isLastGoodDurable(step.workload()), () -> "a power cut would leave nothing: " + step);
        Invariant.NOTHING_PULLED_AWAY.require(
                noneRunsFrom(step.workload(), directory), () -> "collected under a running process: " + step);
    }

    /** Whether a one-shot takes its place that has run before: nothing is gone back to from it, and it need not be due now. */
    private boolean isRunInstead(WorkloadId id) {
        return asked.answer(id)
                .filter(OneShotChecks::isOneShot)
                .filter(declared -> disk.hasWorked(id, declared.workload().revision()))
                .isPresent();
    }

    /** Whether it holds, whole, what the agent itself has last seen well and may have to go back to. */
    private boolean isProven(WorkloadId id, String directory) {
        LastKnownGood lastKnownGood = store.remembered(id).lastKnownGood();
        Installation installation = disk.installs(id).get(directory);
        return lastKnownGood != null
                && installation != null
                && installation.isWhole()
                && installation.revision().equals(lastKnownGood.workload().revision())
                && lastKnownGood.workload().source() != null
                && installation
                        .sha256()
                        .equals(lastKnownGood.workload().source().sha256());
    }

    private boolean noneRunsFrom(WorkloadId id, String directory) {
        return processes.present(id).stream().noneMatch(process -> directory.equals(process.launched.directory()));
    }

    /** Those of a look that succeeded. */
    static ImmutableList<ObservedInstance> instances(ObservedWorkload seen) {
        return switch (seen.instances()) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(var all) -> all;
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) ->
                throw new Invariant.Violation(Invariant.BLIND_DOES_NOTHING, "a step although blind: " + seen.id());
        };
    }
}
