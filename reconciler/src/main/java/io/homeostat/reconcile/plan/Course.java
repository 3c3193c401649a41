package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailedRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.Trial;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The way of one target: from wherever the workload is to the target running. Writes its steps into a draft. */
final class Course {
    private final Situation situation;
    private final Declaration declared;
    private final Draft draft;
    private final Causes causes;
    private final Target target;
    private final Gates gates;
    private final LaunchPauses launches;
    /** Where the symlink points to, once the steps so far are done. */
    private @Nullable String link;
    /** Whether the steps so far wait for what it depends on. */
    private boolean othersHaveCome;

    Course(Situation situation, Declaration declared, Draft draft, Target target, Optional<String> active) {
        this.situation = situation;
        this.declared = declared;
        this.draft = draft;
        this.causes = new Causes(situation.history().proven(), target, draft);
        this.target = target;
        this.gates = new Gates(
                target.hash().equals(declared.hash())
                        ? situation
                        : situation.withCompany(situation.company().of(target.workload())),
                declared,
                draft);
        this.launches = new LaunchPauses(situation, draft, target, causes.isProven(), gates);
        this.link = active.orElse(null);
    }

    Target target() {
        return target;
    }

    /** Steps until the target runs and has started. */
    void bring(@Nullable ObservedInstance current) {
        Optional<Reason> difference = current == null
                ? Optional.empty()
                : LaunchInputs.difference(current.instance(), target.workload(), target.directory())
                        .or(() -> needsAnotherTrial(current.instance()));
        if (!target.installed() && !fetch(current)) {
            return;
        }
        if (current == null) {
            if (mustNotLaunch() || mustNotChange() || launches.mustWait() || gates.isBlocked()) {
                return;
            }
            relaunch();
        } else if (Planner.waitIfPending(draft, situation, current)) {
            return;
        } else if (difference.isPresent()) {
            replace(current, difference.get());
        } else if (current.liveness() instanceof Running running) {
            new Upkeep(situation, draft, this).maintain(current.instance(), running);
        }
    }

    /** What may not run without its limits is not launched where there can be none; and what would run instead of it is not stopped. */
    boolean mustNotLaunch() {
        Optional<String> obstacle = new Confinement(situation, target.workload()).obstacle();
        obstacle.ifPresent(
                why -> draft.waitFor(Reason.LIMITS_NOT_ENFORCEABLE, why, Instant.MAX, Wait.Kind.DECLARATION));
        return obstacle.isPresent();
    }

    /** Outside its maintenance window what is down is brought back as it was, and not as it is to become. */
    boolean mustNotChange() {
        return !isUndoing() && target.hash().equals(declared.hash()) && gates.awaitWindow();
    }

    /** What runs well is not changed before its time, and not replaced by what could not be started then. */
    private boolean mustNotDisturb(Instance instance, boolean repairs) {
        boolean changes = !repairs && !instance.target().equals(declared.hash());
        return (repairs || !isUndoing())
                && situation.runsWell(instance)
                && ((changes && gates.awaitWindow()) || gates.isBlocked() || (changes && gates.awaitOthers()));
    }

    /** Whether what runs may not be given limits or a configuration now. */
    boolean mustNotChange(Instance instance) {
        return !instance.target().equals(declared.hash()) && mustNotChange();
    }

    /** Whether it may not be restarted now to take its configuration. */
    boolean mustNotRestart() {
        return gates.isBlocked() || gates.awaitOthers();
    }

    boolean isBlocked() {
        return gates.isBlocked();
    }

    private Optional<Reason> needsAnotherTrial(Instance instance) {
        boolean again =
                target.hash().equals(declared.hash()) && Judgement.broughtBack(declared, situation.history(), instance);
        return again ? Optional.of(Reason.CONFIG_CHANGED) : Optional.empty();
    }

    /**
     * Brings the target's files here.
     *
     * @return false when that has to wait
     */
    boolean fetch(@Nullable ObservedInstance current) {
        Source source = Objects.requireNonNull(target.workload().source());
        String key = Objects.requireNonNull(target.key());
        if (Signatures.isMissing(situation.policy(), source)) {
            draft.waitFor(
                    Reason.SIGNATURE_MISSING,
                    Signatures.missing(target.workload().revision()),
                    Instant.MAX,
                    Wait.Kind.DECLARATION);
            return false;
        }
        Trial trial = situation.history().trial();
        // The trial's failures are those of the declaration; the last good revision has once been installed well.
        Attempts failures = target.hash().equals(trial.hash()) ? trial.install() : trial.upkeep();
        if (failures.count() > 0) {
            String words = "could not install " + target.workload().revision() + ": " + failures.error();
            if (failures.fatal()) {
                draft.waitFor(Reason.INSTALL_FAILED, words, Instant.MAX, Wait.Kind.DECLARATION);
                return false;
            }
            Instant retry =
                    Pauses.afterInstall(situation, failures, target.lifecycle().restart());
            if (situation.now().isBefore(retry)) {
                draft.waitFor(Reason.INSTALL_FAILED, words, retry, Wait.Kind.RETRY);
                return false;
            }
        }
        if (target.damaged() != null && current != null && isWellEnough() && pauseBeforeRepair()) {
            return false;
        }
        causes.name(current);
        if (!situation.archives().contains(key)) {
            draft.add(new Step.Download(situation.id(), key, source));
        }
        draft.add(new Step.Unpack(
                situation.id(),
                key,
                source.signature(),
                target.workload().revision(),
                Objects.requireNonNull(target.directory()),
                Objects.requireNonNull(target.traits().entryPoint())));
        return true;
    }

    /** A process that runs keeps running from damaged files while its repair waits; one that has to be replaced does not. */
    private boolean isWellEnough() {
        return situation.history().run().healthFailures()
                < target.lifecycle().health().failureThreshold();
    }

    private boolean pauseBeforeRepair() {
        return gates.pauseUntil(
                Repairs.next(situation),
                Reason.INSTALL_DAMAGED,
                causes.damage() + "; it was put back just before, so the workload may change it itself",
                Wait.Kind.RETRY);
    }

    boolean pauseUntil(Instant until, Reason why, String words, Wait.Kind kind) {
        return gates.pauseUntil(until, why, words, kind);
    }

    private void relaunch() {
        Exit lastExit = situation.history().run().lastExit();
        boolean stoppedByUs = lastExit != null
                && (lastExit.reason() == Exit.Reason.STOPPED || lastExit.reason() == Exit.Reason.TIMED_OUT);
        if (isUndoing() && (stoppedByUs || needsActivation())) {
            nameUndoing();
        } else if (!causes.isProven()) {
            causes.name(null);
        } else if (stoppedByUs && target.damaged() != null) {
            causes.nameDamage();
        } else if (stoppedByUs && isEnabledSince(lastExit)) {
            draft.because(Action.RESTART, Reason.ENABLED, ruling().words());
        } else if (stoppedByUs) {
            draft.because(Action.RESTART, Reason.START_NOT_FINISHED, "it was stopped to be started again");
        } else if (lastExit == null) {
            draft.because(Action.RESTART, Reason.PROCESS_MISSING, "its process is gone");
        } else {
            draft.because(Action.RESTART, Reason.PROCESS_EXITED, "process " + lastExit.words());
        }
        launch();
    }

    private Ruling ruling() {
        return Ruling.of(declared.workload().lifecycle().execution(), situation);
    }

    /** Whether it was stopped because it was disabled, and no longer is. */
    private boolean isEnabledSince(@Nullable Exit end) {
        Instant since = ruling().since();
        return since != null && end != null && !since.isBefore(end.at());
    }

    private void replace(ObservedInstance current, Reason difference) {
        Instance instance = current.instance();
        boolean damaged = target.isDamaged(instance.directory());
        boolean repairs = damaged && LaunchInputs.matches(instance, target.workload());
        if (mustNotLaunch() || mustNotChange(instance) || mustNotDisturb(instance, repairs)) {
            return;
        }
        if (isUndoing() && !repairs) {
            nameUndoing();
            draft.stop(instance, Cause.UNDONE);
        } else {
            if (damaged) {
                causes.nameDamage();
            }
            causes.nameChange(difference);
            letOthersComeFirst();
            draft.stop(instance, repairs ? Cause.REPAIRED : Cause.REPLACED);
        }
        launch();
    }

    /** Whether the target is the last good revision, because what is declared has failed. */
    private boolean isUndoing() {
        FailedRevision failed = situation.history().failed();
        return failed != null
                && failed.hash().equals(declared.hash())
                && !target.hash().equals(declared.hash());
    }

    private void nameUndoing() {
        FailedRevision failed = Objects.requireNonNull(situation.history().failed());
        draft.because(
                Action.ROLLBACK,
                Reason.REVISION_FAILED,
                "revision " + failed.revision() + " failed: " + failed.error());
        draft.after(target.workload().revision());
    }

    /** Stops the process and launches another. */
    void restart(Instance instance, Cause cause) {
        if (mustNotLaunch()) {
            return;
        }
        if (cause == Cause.REPLACED || cause == Cause.DRIFTED) {
            letOthersComeFirst();
        }
        draft.stop(instance, cause);
        launch();
    }

    /** Before what runs is stopped, so that it is not down while it waits. */
    private void letOthersComeFirst() {
        if (!othersHaveCome) {
            othersHaveCome = true;
            gates.letOthersComeFirst();
        }
    }

    void launch() {
        letOthersComeFirst();
        activate();
        draft.add(new Step.Launch(target.workload(), target.hash(), target.directory()));
        start();
    }

    /** Points the symlink to the target, unless it does; of a program that is local there is none. */
    void activate() {
        if (needsActivation()) {
            draft.add(new Step.Activate(situation.id(), target.directory()));
            link = target.directory();
        }
    }

    boolean needsActivation() {
        return !Objects.equals(target.directory(), link);
    }

    void start() {
        if (target.traits().isStartedExplicitly()) {
            draft.add(new Step.Start(
                    situation.id(),
                    target.traits().config(),
                    target.lifecycle().start().timeout()));
        }
    }
}
