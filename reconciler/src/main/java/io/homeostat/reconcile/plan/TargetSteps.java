package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Liveness.Orphaned;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.Preconditions.Aftermath;
import io.homeostat.reconcile.plan.Relations.Parent;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import io.homeostat.reconcile.plan.Traits.LaunchFile;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Adds to a plan the steps that bring one target about from wherever the workload is, with the reason for them. */
final class TargetSteps {
    private final Situation situation;
    private final Declaration declared;
    private final PlanBuilder plan;
    private final Target target;
    private final Preconditions preconditions;
    private final LaunchReasons reasons;
    /** Where the symlink points to, once the steps so far are done. */
    private @Nullable String link;
    /** Whether the target has completed once the steps so far are done, because its process has, and only its children are left. */
    private boolean completes;
    /** Installations that the steps so far remove. */
    private ImmutableSet<String> collected = ImmutableSet.of();
    /** Whether the steps so far wait for what it depends on. */
    private boolean waitedForDependencies;

    TargetSteps(Situation situation, Declaration declared, PlanBuilder plan, Target target) {
        this.situation = situation;
        this.declared = declared;
        this.plan = plan;
        this.target = target;
        this.preconditions = new Preconditions(situation, declared, target);
        this.reasons = new LaunchReasons(situation, declared, plan, target, preconditions);
        this.link = situation.active().orElse(null);
    }

    Target target() {
        return target;
    }

    Preconditions preconditions() {
        return preconditions;
    }

    /**
     * Never two at once: of several instances only the newest one that lives may stay, and nothing that is left of one that is over.
     *
     * @param orphans gives the reason when an instance is over and has left children behind
     * @return the one that may stay; null when none runs
     */
    @Nullable
    ObservedInstance stopSurplus(Consumer<Orphaned> orphans) {
        ObservedInstance newest = null;
        for (ObservedInstance instance : situation.instances()) {
            if (instance.liveness() instanceof Orphaned orphaned) {
                if (completes(instance.instance(), orphaned)) {
                    completes = true;
                    plan.because(Action.STOP, Reason.RUN_OVER, "its work is done, the " + words(orphaned));
                }
                orphans.accept(orphaned);
                reasons.endIsSaid();
                plan.stop(instance.instance(), Cause.SURPLUS);
                continue;
            }
            if (newest != null) {
                plan.because(Action.STOP, Reason.PROCESS_SURPLUS, "more than one instance of it runs");
                if (!plan.waitIf(Planner.pending(situation, newest))) {
                    plan.stop(newest.instance(), Cause.SURPLUS);
                }
            }
            newest = instance;
        }
        completes &= newest == null;
        return newest;
    }

    private boolean completes(Instance instance, Orphaned orphaned) {
        return CleanEnd.completes(situation, instance, orphaned.exit())
                .filter(done -> Work.of(done).equals(Work.of(target.workload())))
                .isPresent();
    }

    /** Whether the target is not to be launched: it has ended well, and is to be launched again only after a failure. */
    boolean hasCompleted() {
        return completes
                || CleanEnd.rests(target.workload(), situation.history().run(), situation.host());
    }

    /** Of a target that has completed: only its files are kept in order. */
    void rest() {
        Completed completed = situation.history().run().completed();
        if (completed != null) {
            plan.atRestBecause(
                    Reason.COMPLETED,
                    "completed: process " + completed.exit().words() + ", at "
                            + completed.exit().at().truncatedTo(ChronoUnit.SECONDS));
        }
        if (needsActivation()) {
            if (preconditions.isUndoing()) {
                reasons.giveUndoing();
            }
            plan.because(Action.ACTIVATE, Drift.LINK);
            activate();
        }
    }

    /** "process exited with status 1 and left 2 of its children behind". */
    static String words(Orphaned orphaned) {
        return orphaned.exit().reason().isOfGuest()
                ? orphaned.exit().words()
                : orphaned.exit().sentence() + " and left " + orphaned.survivors() + " of its children behind";
    }

    /**
     * Brings the target's files here.
     *
     * @return false when that has to wait
     */
    boolean fetch(@Nullable ObservedInstance current) {
        if (plan.waitIf(missingSignature().or(this::failedInstall).or(() -> tooManyRepairs(current)))) {
            return false;
        }
        Source source = Objects.requireNonNull(target.workload().source());
        String key = Objects.requireNonNull(target.key());
        reasons.giveAbsence(current);
        collectDamaged(current);
        if (!situation.archives().contains(key)) {
            plan.add(new Step.Download(situation.id(), key, source));
        }
        plan.add(new Step.Unpack(
                situation.id(),
                key,
                source.signature(),
                target.workload().revision(),
                Objects.requireNonNull(target.directory()),
                target.traits().entryPoint()));
        return true;
    }

    private Optional<Hold> missingSignature() {
        return situation
                .policy()
                .refusal(target.workload())
                .map(words -> Hold.forDeclaration(Reason.SIGNATURE_MISSING, words));
    }

    private Optional<Hold> failedInstall() {
        Attempts attempts = situation.history().attempts();
        // The attempts are those of the declaration; the last good revision has once been installed well.
        Failures failures = target.hash().equals(attempts.hash()) ? attempts.install() : attempts.restore();
        String words =
                "could not install " + BriefText.of(target.workload().revision()) + runsOn() + ": " + failures.error();
        return failures.fatal()
                ? Optional.of(Hold.forDeclaration(Reason.INSTALL_FAILED, words))
                : Hold.until(
                        BackoffPolicies.afterInstall(
                                situation, failures, target.lifecycle().restart()),
                        situation,
                        Reason.INSTALL_FAILED,
                        words,
                        Wait.Kind.RETRY);
    }

    /** ", 2 runs on": what is there meanwhile, when it is something else. */
    private String runsOn() {
        return situation.instances().stream()
                .filter(one -> one.liveness() instanceof Liveness.Running)
                .map(one -> one.instance().revision())
                .filter(revision -> !revision.equals(target.workload().revision()))
                .findFirst()
                .map(revision -> ", " + BriefText.of(revision) + " runs on")
                .orElse("");
    }

    /**
     * What is well keeps running from damaged files while their repair waits. What is not gets whole files at once, but only once for each
     * launch: files that are damaged before anything has run from them would be unpacked in a loop.
     */
    private Optional<Hold> tooManyRepairs(@Nullable ObservedInstance current) {
        RunRecord run = situation.history().run();
        boolean wellEnough = current != null
                && run.healthFailures() < target.lifecycle().health().failureThreshold();
        if (target.damaged() == null || (!wellEnough && hasRunSinceRepair(current, run))) {
            return Optional.empty();
        }
        return Hold.until(
                wellEnough
                        ? BackoffPolicies.afterRepair(situation)
                        : BackoffPolicies.afterInstall(
                                situation,
                                BackoffPolicies.recentRepairs(situation),
                                target.lifecycle().restart()),
                situation,
                Reason.INSTALL_DAMAGED,
                reasons.damage() + "; it was put back just before, so "
                        + (wellEnough ? "the workload may change it itself" : "another program may change it"),
                Wait.Kind.RETRY);
    }

    private static boolean hasRunSinceRepair(@Nullable ObservedInstance current, RunRecord run) {
        Instant repaired = run.repairs().last();
        Exit exit = run.lastExit();
        Instant ran = current != null ? current.instance().launchedAt() : exit == null ? null : exit.at();
        return repaired == null || (ran != null && !ran.isBefore(repaired));
    }

    /** Removes what was put back before and was damaged before it ran, so that such repairs leave one installation behind and not many. */
    private void collectDamaged(@Nullable ObservedInstance current) {
        if (target.damaged() == null
                || hasRunSinceRepair(current, situation.history().run())) {
            return;
        }
        collected = situation.installations().stream()
                .filter(installation -> !installation.isWhole())
                .map(Installation::directory)
                .filter(directory -> situation.instances().stream()
                        .noneMatch(one -> directory.equals(one.instance().directory())))
                .collect(ImmutableSet.toImmutableSet());
        if (!collected.isEmpty()) {
            plan.add(new Step.CollectGarbage(situation.id(), collected.asList()));
        }
    }

    /** All why an instance can't stay and become what the target is, the weightiest first; none when it can. */
    ImmutableList<Reason> differences(Instance instance) {
        ImmutableList<Reason> declared = LaunchInputs.differences(instance, target.workload(), target.directory());
        if (!declared.isEmpty()) {
            return declared;
        }
        if (needsAnotherTrial(instance)) {
            return ImmutableList.of(Reason.CONFIG_CHANGED);
        }
        return hasLostParent(instance) ? ImmutableList.of(Reason.PARENT_CHANGED) : ImmutableList.of();
    }

    /** Whether it is part of an instance that another one has taken the place of. */
    private boolean hasLostParent(Instance instance) {
        Parent parent = preconditions.relations().parent();
        return parent != null && parent.isAnotherThan(instance);
    }

    private boolean needsAnotherTrial(Instance instance) {
        return target.hash().equals(declared.hash())
                && Judgement.wasBroughtBack(declared, situation.history(), instance);
    }

    /** Stops an instance that is not what the target is, and launches another one. */
    void replace(ObservedInstance observed, ImmutableList<Reason> differences) {
        Instance instance = observed.instance();
        boolean damaged = target.isDamaged(instance.directory());
        boolean repairs = differences.contains(Reason.PARENT_CHANGED)
                || (damaged && LaunchInputs.matches(instance, target.workload()));
        if (plan.waitIf(preconditions
                .limits()
                .or(() -> preconditions.change(instance))
                .or(() -> preconditions.replacement(instance, repairs))
                .or(preconditions::files))) {
            return;
        }
        if ((preconditions.isUndoing() || preconditions.runsOn()) && !repairs) {
            reasons.giveUndoing();
            plan.stop(instance, Cause.UNDONE);
        } else {
            if (damaged) {
                reasons.giveDamage();
            }
            reasons.giveChanges(differences, damaged);
            reasons.takeAlong();
            reasons.giveDrift(observed, link, changedFiles(instance));
            waitForDependencies();
            plan.stop(instance, repairs ? Cause.REPAIRED : Cause.REPLACED);
        }
        launch();
    }

    /**
     * Stops an instance that somebody wants to be launched again, and does so.
     *
     * @return false when nobody does, or when that has to wait; what waits is maintained meanwhile
     */
    boolean launchAgain(Instance instance) {
        if (!isAskedFor(instance) || preconditions.request(instance).isPresent()) {
            return false;
        }
        plan.because(Action.RESTART, Reason.RESTART_REQUESTED, "a restart was asked for");
        waitForDependencies();
        plan.stop(instance, Cause.REPLACED);
        launch();
        return true;
    }

    private boolean isAskedFor(Instance instance) {
        return instance.launchId().equals(situation.history().run().again());
    }

    /** Says what a restart that was asked for waits for, when there is nothing else to do. */
    void awaitRequest(Instance instance) {
        if (plan.isEmpty() && isAskedFor(instance)) {
            plan.waitIf(preconditions.request(instance));
        }
    }

    /**
     * Stops an instance whose files have another content by now, and launches the same again.
     *
     * @return false when there is none such, or when that has to wait; what waits is maintained meanwhile
     */
    boolean renew(Instance instance) {
        ImmutableList<LaunchFile> changed = changedFiles(instance);
        if (changed.isEmpty() || preconditions.renewal(instance).isPresent()) {
            return false;
        }
        plan.and(Action.RESTART, Reason.ENVIRONMENT_CHANGED, LaunchReasons.contentChanged(changed));
        reasons.takeAlong();
        waitForDependencies();
        plan.stop(instance, Cause.REPLACED);
        launch();
        return true;
    }

    private ImmutableList<LaunchFile> changedFiles(Instance instance) {
        return LaunchInputs.changedFiles(
                instance, target.workload(), situation.seen().files());
    }

    /** Says what files keep a running instance of the target from being as declared, when nothing else does. */
    void awaitFiles(Instance instance) {
        if (plan.isEmpty()
                && !plan.waitIf(preconditions.filesOfNextLaunch())
                && !changedFiles(instance).isEmpty()) {
            plan.waitIf(preconditions.renewal(instance));
        }
    }

    /** Says that what a running instance of the target is part of is wanted by nobody, when there is nothing else to say. */
    void awaitParent() {
        if (plan.isEmpty()) {
            plan.waitIf(preconditions.parentOfNextLaunch());
        }
    }

    /** Stops an instance and launches the same again, unless that is not possible. */
    void restart(Instance instance, Cause cause, Reason why, String words) {
        Optional<Hold> obstacle = preconditions.anotherLaunch();
        if (obstacle.isPresent()) {
            Hold hold = obstacle.get();
            String whole = words + leftAlone(hold);
            plan.and(Action.WAIT, why, whole);
            plan.waitFor(hold.reason(), whole, hold.until(), hold.kind());
            return;
        }
        plan.and(Action.RESTART, why, words);
        if (cause == Cause.REPLACED || cause == Cause.DRIFTED) {
            waitForDependencies();
        }
        plan.stop(instance, cause);
        launch();
    }

    /** Waits for the next check of an instance that is ill, and foretells what follows when it is still ill after a number of them. */
    void restartUnlessWell(Instance instance, Reason why, String words, int checks, Instant nextCheck) {
        Optional<Hold> obstacle = preconditions.anotherLaunch();
        Aftermath aftermath = preconditions.afterFailure(instance);
        String whole = words
                + obstacle.map(TargetSteps::leftAlone)
                        .orElse((situation.policy().continuous() ? "; " : "; with homeostat apply ")
                                + aftermath.words() + " if " + checks + " more "
                                + (checks == 1 ? "fails" : "fail"));
        plan.and(Action.WAIT, why, whole);
        plan.waitFor(why, whole, nextCheck, Wait.Kind.PROGRESS);
        if (obstacle.isPresent()) {
            return;
        }
        plan.stop(instance, Cause.UNHEALTHY);
        if (aftermath == Aftermath.RESTARTED) {
            launch();
        }
    }

    private static String leftAlone(Hold obstacle) {
        return "; it is not stopped, because it could not be launched again: " + obstacle.words();
    }

    /** Before what runs is stopped, so that it is not down in the meantime. */
    private void waitForDependencies() {
        if (!waitedForDependencies) {
            waitedForDependencies = true;
            preconditions.comingDependencies().ifPresent(coming -> {
                plan.also(coming.words());
                plan.waitFor(coming);
            });
        }
    }

    /** Launches the target where nothing runs any more, or not yet. */
    void relaunch() {
        reasons.giveLaunch(needsActivation());
        launch();
    }

    void launch() {
        if (hasCompleted()) {
            rest();
            return;
        }
        waitForDependencies();
        activate();
        Parent parent = preconditions.relations().parent();
        plan.add(new Step.Launch(
                target.workload(), target.hash(), target.directory(), parent == null ? null : parent.instance()));
        start();
    }

    /** Points the symlink to the target, unless it does; what is local has none. */
    void activate() {
        if (needsActivation()) {
            plan.add(new Step.Activate(situation.id(), target.directory()));
            link = target.directory();
        }
    }

    boolean needsActivation() {
        return !Objects.equals(target.directory(), link);
    }

    void start() {
        if (target.isStartedExplicitly()) {
            boolean trial = situation.history().lastKnownGood() != null && !target.isLastKnownGood(situation);
            plan.add(new Step.Start(target.workload(), trial));
        }
    }

    /** Removes the installations that nothing refers to once the target runs. */
    void collectGarbage(@Nullable String alsoKept) {
        ImmutableSet<String> kept = kept();
        ImmutableList<String> garbage = situation.installations().stream()
                .filter(installation -> !kept.contains(installation.directory()) || !installation.isWhole())
                .map(Installation::directory)
                .filter(directory -> !directory.equals(target.directory())
                        && !directory.equals(alsoKept)
                        && !collected.contains(directory))
                .collect(ImmutableList.toImmutableList());
        if (!garbage.isEmpty()) {
            plan.because(Action.CLEANUP, Reason.SUPERSEDED_REVISION, "a superseded revision is left on disk");
            plan.add(new Step.CollectGarbage(situation.id(), garbage));
        }
    }

    /** Where former good revisions are that somebody may want to go back to. */
    private ImmutableSet<String> kept() {
        WorkloadHistory history = situation.history();
        return Stream.concat(
                        Stream.ofNullable(history.lastKnownGood()).map(LastKnownGood::directory),
                        history.former().stream())
                .filter(directory -> directory != null && !directory.equals(target.directory()))
                .filter(directory -> situation.installations().stream()
                        .anyMatch(one -> one.directory().equals(directory) && one.isWhole()))
                .limit(declared.workload().lifecycle().keptRevisions() - 1L)
                .collect(ImmutableSet.toImmutableSet());
    }
}
