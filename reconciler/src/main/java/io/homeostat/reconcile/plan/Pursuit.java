package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.ConfigHash;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.HealthCheck;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Restart;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.store.Attempts;
import io.homeostat.desired.store.Exit;
import io.homeostat.desired.store.FailedRevision;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.desired.store.RunRecord;
import io.homeostat.desired.store.Trial;
import io.homeostat.observe.Health;
import io.homeostat.observe.Installation;
import io.homeostat.observe.ObservedProcess;
import io.homeostat.observe.ObservedProcess.Liveness.Running;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The plan for one workload that somebody wants to run. Read from {@link #plan} downwards: which revision is to run now, then
 * what that takes from where the workload is.
 */
final class Pursuit {
    private final Situation situation;
    private final Declaration declared;
    private final List<ObservedProcess> processes;
    private final List<Installation> installations;
    private final Draft draft;
    /** Where the symlink points to, once the steps so far are done. */
    private @Nullable String link;

    Pursuit(
            Situation situation,
            Declaration declared,
            List<ObservedProcess> processes,
            List<Installation> installations,
            Optional<String> active) {
        this.situation = situation;
        this.declared = declared;
        this.processes = processes;
        this.installations = installations;
        this.link = active.orElse(null);
        this.draft = new Draft(situation);
    }

    WorkloadPlan plan() {
        Target wanted = Target.of(declared.workload(), declared.hash(), installations);
        Target lastGood = lastGood();
        ObservedProcess current = stopSurplus();
        FailedRevision failed = situation.history().failed();
        if (lastGood != null && failed != null && failed.hash().equals(declared.hash())) {
            Instant retry = Pauses.afterUndone(situation, failed);
            if (situation.now().isBefore(retry)) {
                holdAtLastGood(lastGood, current, failed, retry);
                return draft.build();
            }
        }
        boolean lastGoodIsQuicker = lastGood != null
                && !wanted.installed()
                && (lastGood.installed() || situation.history().trial().install().count() > 0);
        if (lastGoodIsQuicker && !runs(lastGood, current)) {
            // The old revision is kept running until the new one is ready to take its place.
            bring(Objects.requireNonNull(lastGood), current);
            return draft.build();
        }
        bring(wanted, current);
        collectGarbage(wanted, null);
        return draft.build();
    }

    private @Nullable Target lastGood() {
        ProvenRevision proven = situation.history().proven();
        return proven == null || proven.hash().equals(declared.hash()) ? null : Target.of(proven, installations);
    }

    private boolean isProven(Target target) {
        ProvenRevision proven = situation.history().proven();
        return proven != null && proven.hash().equals(target.hash());
    }

    /** Never two at once: of several processes only the newest one that lives may stay. */
    private @Nullable ObservedProcess stopSurplus() {
        ObservedProcess newest = null;
        for (ObservedProcess process : processes) {
            if (process.liveness() instanceof ObservedProcess.Liveness.Orphaned(Exit exit, int survivors)) {
                draft.because(
                        Action.RESTART,
                        Reason.PROCESS_EXITED,
                        "process " + exit.words() + " and left " + survivors + " of its children behind");
                draft.stop(process.handle(), Cause.SURPLUS);
                continue;
            }
            if (newest != null) {
                draft.because(Action.STOP, Reason.PROCESS_SURPLUS, "more than one process of it runs");
                draft.stop(newest.handle(), Cause.SURPLUS);
            }
            newest = process;
        }
        return newest;
    }

    private void holdAtLastGood(Target lastGood, @Nullable ObservedProcess current, FailedRevision failed, Instant retry) {
        bring(lastGood, current);
        Target wanted = Target.of(declared.workload(), declared.hash(), installations);
        collectGarbage(lastGood, wanted.directory());
        if (draft.isEmpty()) {
            draft.waitFor(
                    Reason.REVISION_FAILED,
                    "revision " + failed.revision() + " failed and was undone, " + lastGood.workload().revision()
                            + " runs instead: " + failed.error(),
                    retry,
                    Wait.Kind.RETRY);
        }
    }

    private static boolean runs(@Nullable Target target, @Nullable ObservedProcess current) {
        return target != null
                && current != null
                && current.handle().start() == Handle.StartState.SUCCEEDED
                && LaunchInputs.difference(current.handle(), target.program(), target.directory())
                        .isEmpty();
    }

    /** Steps until the target runs and has started. */
    private void bring(Target target, @Nullable ObservedProcess current) {
        Optional<Reason> difference = current == null
                ? Optional.empty()
                : LaunchInputs.difference(current.handle(), target.program(), target.directory());
        if (!target.installed() && !fetch(target, current)) {
            return;
        }
        if (current == null) {
            if (pauseBeforeLaunch(target)) {
                return;
            }
            relaunch(target);
        } else if (Planner.waitIfPending(draft, situation, current)) {
            return;
        } else if (difference.isPresent()) {
            replace(target, current, difference.get());
        } else if (current.liveness() instanceof Running running) {
            maintain(target, current.handle(), running);
        }
    }

    /** @return false when fetching has to wait */
    private boolean fetch(Target target, @Nullable ObservedProcess current) {
        Source source = Objects.requireNonNull(target.program().source());
        String key = Objects.requireNonNull(target.key());
        Trial trial = situation.history().trial();
        // The trial's failures are those of the declaration; the last good revision has once been installed well.
        Attempts failures = target.hash().equals(trial.hash()) ? trial.install() : trial.upkeep();
        if (failures.count() > 0) {
            String words = "could not install " + target.workload().revision() + ": " + failures.error();
            if (failures.fatal()) {
                draft.waitFor(Reason.INSTALL_FAILED, words, Instant.MAX, Wait.Kind.DECLARATION);
                return false;
            }
            Instant retry = Pauses.afterInstall(situation, failures, target.program().restart());
            if (situation.now().isBefore(retry)) {
                draft.waitFor(Reason.INSTALL_FAILED, words, retry, Wait.Kind.RETRY);
                return false;
            }
        }
        nameFetch(target, current);
        if (!situation.archives().contains(key)) {
            draft.add(new Step.Download(situation.id(), key, source));
        }
        draft.add(new Step.Unpack(
                situation.id(),
                key,
                target.program().revision(),
                Objects.requireNonNull(target.directory()),
                target.program().entryPoint()));
        return true;
    }

    private void nameFetch(Target target, @Nullable ObservedProcess current) {
        ProvenRevision proven = situation.history().proven();
        if (proven != null && proven.hash().equals(target.hash())) {
            draft.because(Action.REINSTALL, Reason.INSTALL_MISSING, "its installation is gone");
        } else if (current != null) {
            nameChange(LaunchInputs.difference(current.handle(), target.program(), target.directory())
                    .orElse(Reason.CONTENT_CHANGED));
        } else if (proven != null) {
            nameChange(LaunchInputs.difference(proven, target.program(), target.directory())
                    .orElse(Reason.PROCESS_MISSING));
        } else if (target.key() == null) {
            draft.because(Action.INSTALL, Reason.NOT_INSTALLED, "not running");
        } else {
            draft.because(Action.INSTALL, Reason.NOT_INSTALLED, "not installed");
        }
    }

    private void nameChange(Reason difference) {
        switch (difference) {
            case REVISION_CHANGED -> draft.because(Action.UPGRADE, difference, "revision changed");
            case CONTENT_CHANGED -> draft.because(Action.REINSTALL, difference, "the archive of this revision changed");
            case ARGUMENTS_CHANGED -> draft.because(Action.RESTART, difference, "arguments changed");
            case ENVIRONMENT_CHANGED -> draft.because(Action.RESTART, difference, "environment changed");
            case USER_CHANGED -> draft.because(Action.RESTART, difference, "user changed");
            case ENTRY_POINT_CHANGED -> draft.because(Action.RESTART, difference, "entry point changed");
            default -> draft.because(Action.RESTART, difference, "its process is gone");
        }
    }

    /** @return true when the launch has to wait */
    private boolean pauseBeforeLaunch(Target target) {
        RunRecord run = situation.history().run();
        Restart policy = target.program().restart();
        if (isProven(target)) {
            Attempts crashes = run.crashes();
            if (policy.giveUpAfter() > 0 && crashes.count() > policy.giveUpAfter()) {
                draft.waitFor(
                        Reason.GIVEN_UP,
                        "given up after " + crashes.count() + " failures in a row: " + crashes.error(),
                        Instant.MAX,
                        Wait.Kind.DECLARATION);
                return true;
            }
            return pauseUntil(
                    Pauses.afterCrash(situation, crashes, policy),
                    Reason.CRASH_LOOP,
                    "failed " + times(crashes.count()) + " in a row: " + crashes.error(),
                    Wait.Kind.RETRY);
        }
        Attempts starts = situation.history().trial().start();
        int allowed = target.program().start().attempts();
        if (starts.fatal()) {
            draft.waitFor(Reason.START_FAILED, "could not start: " + starts.error(), Instant.MAX, Wait.Kind.DECLARATION);
            return true;
        }
        if (starts.count() >= allowed) {
            return pauseUntil(
                    Pauses.afterLastStart(situation, starts, policy, allowed),
                    Reason.START_FAILED,
                    "start failed " + times(starts.count()) + ": " + starts.error(),
                    Wait.Kind.RETRY);
        }
        return pauseUntil(
                Pauses.betweenStarts(situation, starts, target.program().start()),
                Reason.START_FAILED,
                "start failed " + times(starts.count()) + " of " + allowed + ": " + starts.error(),
                Wait.Kind.PROGRESS);
    }

    private boolean pauseUntil(Instant until, Reason why, String words, Wait.Kind kind) {
        if (!situation.now().isBefore(until)) {
            return false;
        }
        draft.waitFor(why, words, until, kind);
        return true;
    }

    private void relaunch(Target target) {
        Exit lastExit = situation.history().run().lastExit();
        if (isProven(target) && lastExit != null && lastExit.reason() == Exit.Reason.STOPPED) {
            draft.because(Action.RESTART, Reason.PROCESS_MISSING, "it does not run");
        } else if (isProven(target)) {
            draft.because(
                    Action.RESTART,
                    lastExit == null ? Reason.PROCESS_MISSING : Reason.PROCESS_EXITED,
                    lastExit == null ? "its process is gone" : "process " + lastExit.words());
        } else {
            nameFetch(target, null);
        }
        launch(target);
    }

    private void replace(Target target, ObservedProcess current, Reason difference) {
        nameChange(difference);
        draft.stop(current.handle(), target.hash().equals(declared.hash()) ? Cause.REPLACED : Cause.UNDONE);
        launch(target);
    }

    private void restart(Target target, Handle handle, Cause cause) {
        draft.stop(handle, cause);
        launch(target);
    }

    private void launch(Target target) {
        activate(target);
        draft.add(new Step.Launch(target.workload(), target.hash(), target.directory()));
        start(target);
    }

    private void activate(Target target) {
        String directory = target.directory();
        if (directory != null && !directory.equals(link)) {
            draft.add(new Step.Activate(situation.id(), directory));
            link = directory;
        }
    }

    private void start(Target target) {
        if (target.workload().spec() instanceof PluginSpec plugin) {
            draft.add(new Step.Start(
                    situation.id(), plugin.config(), target.program().start().timeout()));
        }
    }

    /** Steps for a process that is the right one. */
    private void maintain(Target target, Handle handle, Running running) {
        if (target.directory() != null && !target.directory().equals(link)) {
            draft.because(Action.ACTIVATE, Reason.LINK_MOVED, "its symlink does not point to the running revision");
            activate(target);
        }
        switch (handle.start()) {
            case NOT_SENT -> awaitReadiness(target, handle, running);
            case SENT -> {
                draft.because(
                        Action.RESTART,
                        Reason.START_NOT_FINISHED,
                        "whether the plugin was started is not known, and Start is sent only once");
                restart(target, handle, Cause.SURPLUS);
            }
            case SUCCEEDED -> {
                if (!recover(target, handle)) {
                    configure(target, handle);
                }
            }
        }
    }

    private void awaitReadiness(Target target, Handle handle, Running running) {
        if (target.workload().spec() instanceof PluginSpec && running.listening()) {
            draft.because(Action.RESTART, Reason.START_NOT_FINISHED, "it is launched but not started");
            start(target);
            return;
        }
        String missing = Readiness.missing(target.workload().spec(), running);
        if (Readiness.isOverdue(target.workload().spec(), running)) {
            Duration timeout = target.program().start().timeout();
            draft.because(Action.RESTART, Reason.START_FAILED, missing + " within " + timeout.toMillis() + " ms");
            restart(target, handle, Cause.START_FAILED);
            return;
        }
        draft.waitFor(
                Reason.START_NOT_FINISHED,
                "starting: " + missing,
                situation.now().plus(Readiness.poll(target.workload().spec(), running)),
                Wait.Kind.PROGRESS);
        start(target);
    }

    /** @return true when the process has to be replaced or watched because its health is in doubt */
    private boolean recover(Target target, Handle handle) {
        RunRecord run = situation.history().run();
        HealthCheck policy = target.program().health();
        Instant lastFailure = run.lastHealthFailure();
        if (run.healthFailures() == 0 || lastFailure == null) {
            return false;
        }
        Health health = processes.stream()
                .filter(p -> p.handle().equals(handle))
                .map(p -> p.liveness() instanceof Running running ? running.health() : null)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
        boolean hung = health != null && health.verdict() == Health.Verdict.HUNG;
        String problem = health == null ? "it is not well" : health.problem();
        String words = problem + " (" + run.healthFailures() + " of " + policy.failureThreshold() + " failed checks)";
        if (run.healthFailures() >= policy.failureThreshold()) {
            draft.because(Action.RESTART, hung ? Reason.HUNG : Reason.UNHEALTHY, words);
            restart(target, handle, Cause.UNHEALTHY);
            return true;
        }
        draft.waitFor(
                hung ? Reason.HUNG : Reason.UNHEALTHY, words, lastFailure.plus(policy.interval()), Wait.Kind.PROGRESS);
        return true;
    }

    private void configure(Target target, Handle handle) {
        if (!(target.workload().spec() instanceof PluginSpec plugin)) {
            return;
        }
        Config config = plugin.config();
        if (ConfigHash.of(config).equals(handle.configHash())) {
            return;
        }
        Trial trial = situation.history().trial();
        if (trial.restartToConfigure()) {
            draft.because(Action.RESTART, Reason.CONFIG_CHANGED, "config changed, and the plugin takes it only at Start");
            restart(target, handle, Cause.REPLACED);
            return;
        }
        Attempts failures = trial.configure();
        if (failures.count() > 0) {
            Instant retry = Pauses.afterInstall(situation, failures, target.program().restart());
            String words = "the plugin did not accept its configuration: " + failures.error();
            if (pauseUntil(retry, Reason.CONFIGURE_FAILED, words, Wait.Kind.RETRY)) {
                return;
            }
        }
        draft.because(Action.CONFIGURE, Reason.CONFIG_CHANGED, "config changed");
        draft.add(new Step.ApplyConfig(situation.id(), config));
    }

    /** What nothing refers to once {@code running} runs: a forecast while there is something else to do before. */
    private void collectGarbage(Target running, @Nullable String alsoKept) {
        if (draft.isHeld() || (draft.isEmpty() && !isProven(running))) {
            return;
        }
        Set<String> kept = new HashSet<>();
        if (running.directory() != null) {
            kept.add(running.directory());
        }
        if (alsoKept != null) {
            kept.add(alsoKept);
        }
        ImmutableList<String> garbage = installations.stream()
                .map(Installation::directory)
                .filter(directory -> !kept.contains(directory))
                .collect(ImmutableList.toImmutableList());
        if (!garbage.isEmpty()) {
            draft.because(Action.CLEANUP, Reason.SUPERSEDED_REVISION, "a superseded revision is left on disk");
            draft.add(new Step.CollectGarbage(situation.id(), garbage));
        }
    }

    private static String times(int count) {
        return count == 1 ? "once" : count + " times";
    }
}
