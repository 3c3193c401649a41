package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.Traits.LaunchFile;
import java.time.Instant;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Why a target is to be brought about, as the plan says it: why it is not there, how what ran has ended, what differs. */
final class LaunchReasons {
    private final Situation situation;
    private final Declaration declared;
    private final PlanBuilder plan;
    private final Target target;
    private final Preconditions preconditions;
    /** Whether the plan says already how what ran last has ended. */
    private boolean isEndSaid;

    LaunchReasons(
            Situation situation, Declaration declared, PlanBuilder plan, Target target, Preconditions preconditions) {
        this.situation = situation;
        this.declared = declared;
        this.plan = plan;
        this.target = target;
        this.preconditions = preconditions;
    }

    /** How what ran last has ended. */
    private enum LastEnd {
        /** Nobody knows. */
        GONE,
        BY_ITSELF,
        /** It was stopped because it did not work. */
        FAILED,
        /** It was stopped for another reason. */
        STOPPED;

        static LastEnd of(RunRecord run) {
            Exit exit = run.lastExit();
            if (exit == null) {
                return GONE;
            }
            if (exit.reason() != Exit.Reason.STOPPED && exit.reason() != Exit.Reason.TIMED_OUT) {
                return BY_ITSELF;
            }
            Instant failed = run.crashes().last();
            // A stop by request comes after any failure.
            return failed != null && !failed.isBefore(exit.at()) ? FAILED : STOPPED;
        }

        boolean isByUs() {
            return this == FAILED || this == STOPPED;
        }
    }

    void endIsSaid() {
        isEndSaid = true;
    }

    /**
     * Why the target is launched where nothing runs any more, or not yet.
     *
     * @param activates whether its symlink is to be moved for that
     */
    void giveLaunch(boolean activates) {
        LastEnd end = LastEnd.of(situation.history().run());
        Completed completed = situation.history().run().completed();
        boolean hasFailed = lastRan() && end != LastEnd.STOPPED;
        if (preconditions.isRollingBack() || (preconditions.isGoingBack() && (end.isByUs() || activates))) {
            giveUndoing();
        } else if (completed != null && CleanEnd.isOf(target.workload(), completed)) {
            giveReasonToGoOn(completed);
        } else if (!target.isLastKnownGood(situation)
                && !preconditions.runsOn()
                && (!hasFailed || takesAnotherLaunch())) {
            giveAbsence(null);
            if (hasFailed) {
                giveEnd(end);
            }
        } else if (end.isByUs() && target.damaged() != null) {
            giveDamage();
        } else if (end.isByUs() && isEnabledSince()) {
            plan.because(Action.RESTART, Reason.ENABLED, enablement().words());
        } else {
            giveEnd(end);
            if (end != LastEnd.STOPPED) {
                takeAlong();
            }
        }
    }

    private void giveEnd(LastEnd end) {
        if (isEndSaid) {
            return;
        }
        RunRecord run = situation.history().run();
        String crash = run.crashes().error();
        switch (end) {
            case GONE -> plan.and(Action.RESTART, Reason.PROCESS_MISSING, "its process is gone");
            case BY_ITSELF ->
                plan.and(
                        Action.RESTART,
                        Objects.requireNonNull(run.lastExit()).reason().isOfGuest()
                                ? Reason.GUEST_LOST
                                : Reason.PROCESS_EXITED,
                        crash.isEmpty() ? run.lastExit().sentence() : crash);
            case FAILED -> plan.and(Action.RESTART, Reason.UNHEALTHY, "it was stopped: " + crash);
            case STOPPED -> plan.because(Action.RESTART, Reason.START_NOT_FINISHED, "it was stopped, and is to run");
        }
    }

    /** Whether it differs from what was last seen well in more than what can be changed in place. */
    private boolean takesAnotherLaunch() {
        LastKnownGood good = situation.history().lastKnownGood();
        return good == null
                || target.damaged() != null
                || preconditions.isRolledBack()
                || good.workload().isOneShot()
                || !LaunchInputs.differences(good, target.workload(), target.directory())
                        .isEmpty();
    }

    /** Whether what ended last is what was last seen well, and not another try of the target or something that need not go on. */
    private boolean lastRan() {
        LastKnownGood good = situation.history().lastKnownGood();
        return good != null
                && !good.workload().isOneShot()
                && situation.history().run().completed() == null
                && situation.history().attempts().start().count() == 0;
    }

    /** Why what has completed is launched all the same. */
    private void giveReasonToGoOn(Completed completed) {
        if (completed.launchId().equals(situation.history().run().again())) {
            plan.because(Action.RESTART, Reason.RESTART_REQUESTED, "it had completed, and somebody asked for it");
        } else if (!CleanEnd.isThisBoot(completed, situation.host())) {
            plan.because(Action.RESTART, Reason.RUN_DUE, "the machine has booted since it completed");
        } else {
            plan.because(Action.RESTART, Reason.EXECUTION_CHANGED, "it had completed, and is to run always now");
        }
    }

    private Enablement enablement() {
        return Enablement.of(declared.workload().lifecycle().execution(), situation);
    }

    /** Whether it was stopped because it was disabled, and no longer is. */
    private boolean isEnabledSince() {
        Instant since = enablement().since();
        Exit end = situation.history().run().lastExit();
        return since != null && end != null && !since.isBefore(end.at());
    }

    /** Why the target is not there: compared with the instance that is, else with the last good revision. */
    void giveAbsence(@Nullable ObservedInstance current) {
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        if (target.damaged() != null) {
            giveDamage();
        } else if (preconditions.isRolledBack()) {
            giveUndoing();
        } else if (target.isLastKnownGood(situation)) {
            plan.and(Action.REINSTALL, Reason.INSTALL_MISSING, "its installation is gone");
        } else if (current != null) {
            giveChanges(
                    orElse(
                            LaunchInputs.differences(current.instance(), target.workload(), target.directory()),
                            Reason.CONTENT_CHANGED),
                    false);
            takeAlong();
        } else if (lastKnownGood != null) {
            giveChanges(
                    orElse(
                            LaunchInputs.differences(lastKnownGood, target.workload(), target.directory()),
                            Reason.CONFIG_CHANGED),
                    false);
            takeAlong();
        } else {
            plan.because(
                    Action.INSTALL,
                    Reason.NOT_INSTALLED,
                    (target.key() == null ? "not running" : "not installed") + failedBefore());
        }
    }

    private String failedBefore() {
        String error = situation.history().problem();
        return error.isEmpty() ? "" : "; it failed before: " + error;
    }

    void giveDamage() {
        plan.and(Action.REINSTALL, Reason.INSTALL_DAMAGED, damage());
    }

    String damage() {
        Installation damaged = target.damaged();
        return damaged == null ? "" : "its installation is damaged: " + damaged.damage();
    }

    void giveUndoing() {
        FailedRevision failed = Objects.requireNonNull(situation.history().failed());
        String revision = BriefText.of(target.workload().revision());
        plan.because(
                Action.ROLLBACK,
                failed.byRequest() ? Reason.ROLLED_BACK : Reason.REVISION_FAILED,
                (failed.byRequest() ? "" : "revision " + BriefText.of(failed.revision()) + " failed: ")
                        + failed.error()
                        + (preconditions.runsOn() ? "; " + revision + " runs until that is here" : ""));
    }

    private static ImmutableList<Reason> orElse(ImmutableList<Reason> differences, Reason other) {
        return differences.isEmpty() ? ImmutableList.of(other) : differences;
    }

    /** @param damaged the other directory is that of the same archive's repair */
    void giveChanges(ImmutableList<Reason> differences, boolean damaged) {
        differences.stream()
                .filter(difference -> !damaged || difference != Reason.CONTENT_CHANGED)
                .forEach(this::giveChange);
    }

    /**
     * What somebody has changed on the machine, which another launch puts right, too.
     *
     * @param link where the symlink points to
     * @param changedFiles that it was launched with
     */
    void giveDrift(ObservedInstance observed, @Nullable String link, ImmutableList<LaunchFile> changedFiles) {
        Instance instance = observed.instance();
        if (!Objects.equals(link, instance.directory())) {
            plan.and(Action.RESTART, Drift.LINK_OF_RUNNING);
        }
        if (observed.liveness() instanceof Liveness.Running running) {
            running.lost().forEach(loss -> plan.and(Action.RESTART, Drift.of(loss)));
        }
        if (!changedFiles.isEmpty()) {
            plan.and(Action.RESTART, Reason.ENVIRONMENT_CHANGED, contentChanged(changedFiles));
        }
        LastKnownGood good = situation.history().lastKnownGood();
        String limits = good == null || !LaunchInputs.matches(instance, good.workload())
                ? ""
                : new Confinement(situation, good.workload()).differences(" instead of ");
        if (!limits.isEmpty()) {
            plan.and(Action.RESTART, Drift.ofLimits(limits));
        }
    }

    static String contentChanged(ImmutableList<LaunchFile> files) {
        return "content of " + files.stream().map(LaunchFile::path).distinct().collect(Collectors.joining(", "))
                + " changed";
    }

    /** What could be changed in place is changed by the launch, too. */
    void takeAlong() {
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        if (lastKnownGood == null) {
            return;
        }
        Workload good = lastKnownGood.workload();
        if (!good.lifecycle().limits().equals(target.lifecycle().limits())) {
            plan.and(Action.RESTART, Reason.LIMITS_CHANGED, "limits changed");
        }
        if (!Traits.of(good).configHash().equals(target.traits().configHash())) {
            plan.and(Action.RESTART, Reason.CONFIG_CHANGED, "config changed");
        }
    }

    private void giveChange(Reason difference) {
        switch (difference) {
            case REVISION_CHANGED -> plan.and(Action.UPGRADE, difference, "revision changed");
            case CONTENT_CHANGED -> plan.and(Action.REINSTALL, difference, "the archive of this revision changed");
            case PARENT_CHANGED -> plan.and(Action.RESTART, difference, "what it is part of was launched anew");
            case EXECUTION_CHANGED, CONFIG_CHANGED -> plan.and(Action.RESTART, difference, "its declaration changed");
            // A launch input of some kind: "entry point changed".
            default ->
                plan.and(
                        Action.RESTART,
                        difference,
                        difference.name().toLowerCase(Locale.ROOT).replace('_', ' '));
        }
    }
}
