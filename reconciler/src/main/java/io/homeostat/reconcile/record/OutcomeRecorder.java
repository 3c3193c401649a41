package io.homeostat.reconcile.record;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.reconcile.plan.BackoffPolicies;
import io.homeostat.reconcile.plan.Confinement;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.WatchedFiles;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/** Turns the outcome of a step into a change of what is remembered. Pure, like {@link ObservationRecorder}. */
public final class OutcomeRecorder {
    private OutcomeRecorder() {}

    public static Change stepped(Situation situation, WorkloadPlan plan, Step step, Outcome outcome) {
        Notes notes = new Notes(situation);
        switch (step) {
            case Step.Download download -> fetching(situation, notes, download.key(), outcome, false);
            case Step.Unpack unpack -> {
                fetching(situation, notes, unpack.key(), outcome, true);
                if (plan.reason() == Reason.INSTALL_DAMAGED && outcome instanceof Outcome.Done) {
                    repaired(situation, plan, notes);
                }
            }
            case Step.Launch launch -> launching(notes, launch, outcome);
            case Step.Start start -> starting(situation, notes, start, outcome);
            case Step.ApplyConfig apply -> configuring(situation, notes, apply, outcome);
            case Step.Reload reload -> reloading(situation, plan, notes, reload, outcome);
            case Step.Reboot reboot -> repaired(situation, plan, notes);
            case Step.Stop stop -> stopping(situation, plan, notes, stop, outcome);
            case Step.Remove remove -> removing(situation, notes, outcome);
            case Step.Activate activate -> upkeep(situation, notes, outcome);
            case Step.SetLimits limits -> limiting(situation, plan, notes, limits, outcome);
            case Step.CollectGarbage garbage -> upkeep(situation, notes, outcome);
            case Step.Wait waiting -> throw new IllegalArgumentException("a wait is not executed");
        }
        return notes.change();
    }

    /** What repairs the same again and again has to wait longer each time. */
    private static void repaired(Situation situation, WorkloadPlan plan, Notes notes) {
        notes.run(run -> run.withRepairs(
                BackoffPolicies.recentRepairs(situation).failed(situation.now(), plan.message(), false)));
    }

    private static void fetching(Situation situation, Notes notes, String key, Outcome outcome, boolean complete) {
        Declaration declared = situation.declared();
        Source source = declared == null ? null : declared.workload().source();
        boolean wanted = declared != null
                && source != null
                && source.archiveKey(declared.id(), declared.workload().revision())
                        .equals(key);
        switch (outcome) {
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) -> {
                if (wanted) {
                    Failures before = notes.history().attempts().install();
                    notes.failure(EventType.PLUGIN_INSTALL_FAILED, wantedRevision(situation), cause, error);
                    notes.attempts(attempts -> attempts.withInstall(before.failed(situation.now(), error, fatal)));
                } else {
                    LastKnownGood good = notes.history().lastKnownGood();
                    String revision = good == null
                            ? wantedRevision(situation)
                            : good.workload().revision();
                    notes.failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, error);
                    // It has once been installed well: nothing is fatal.
                    notes.attempts(
                            attempts -> attempts.withRestore(attempts.restore().failed(situation.now(), error, false)));
                }
            }
            case Outcome.Done done -> {
                if (complete) {
                    notes.attempts(attempts ->
                            wanted ? attempts.withInstall(Failures.NONE) : attempts.withRestore(Failures.NONE));
                }
            }
            case Outcome.Unsupported unsupported -> throw notPossible(outcome);
            case Outcome.Interrupted interrupted -> {
                // Nothing was learned: a download goes on from where it is.
            }
        }
    }

    private static void launching(Notes notes, Step.Launch step, Outcome outcome) {
        switch (outcome) {
            case Outcome.Done(Instance instance, String note) -> {
                notes.put(Objects.requireNonNull(instance, "a launch without a handle"));
                Attempts attempts = notes.history().attempts();
                boolean again =
                        attempts.hash().equals(step.hash()) && attempts.start().count() > 0;
                boolean ranBefore = notes.history().standIns().stream()
                        .anyMatch(good -> good.hash().equals(step.hash()));
                if ((ranBefore || again) && !step.declared().isOneShot()) {
                    notes.run(run -> run.withRestart());
                }
            }
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) -> {
                notes.failure(EventType.PLUGIN_START_FAILED, step.declared().revision(), cause, error);
                notes.launchFailed(step.hash(), cause, error, fatal);
            }
            case Outcome.Unsupported unsupported -> throw notPossible(outcome);
            case Outcome.Interrupted interrupted -> {
                // Whether there is an instance shows at the next look.
            }
        }
    }

    private static void starting(Situation situation, Notes notes, Step.Start step, Outcome outcome) {
        Instance instance = onlyInstance(situation);
        switch (outcome) {
            case Outcome.Done done -> {
                notes.put(instance.withPhase(Phase.STARTED, step.configHash()));
                notes.event(EventType.PLUGIN_STARTED, instance.revision(), words(instance));
                String config = step.configHash();
                if (notes.history().attempts().restartToConfigure()) {
                    notes.event(EventType.PLUGIN_CONFIG_APPLIED, instance.revision(), "by a restart");
                    notes.applied(config);
                    notes.attempts(
                            attempts -> attempts.withRestartToConfigure(false).withConfigure(Failures.NONE));
                } else if (wasRefused(situation, config)) {
                    notes.event(
                            EventType.PLUGIN_CONFIG_APPLIED,
                            instance.revision(),
                            "it was started with this configuration, after Apply had failed");
                    notes.applied(config);
                    notes.attempts(attempts -> attempts.withConfigure(Failures.NONE));
                }
                notes.startedWith(config, instance.revision());
            }
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) -> {
                notes.put(instance.withPhase(Phase.START_SENT, ""));
                notes.failure(EventType.PLUGIN_START_FAILED, instance.revision(), cause, error);
                notes.launchFailed(instance.target(), cause, error, fatal);
            }
            case Outcome.Unsupported unsupported -> throw notPossible(outcome);
            case Outcome.Interrupted interrupted -> notes.put(instance.withPhase(Phase.START_SENT, ""));
        }
    }

    /** Whether it was told that this configuration, which is declared, could not be applied. */
    private static boolean wasRefused(Situation situation, String config) {
        Declaration declared = situation.declared();
        return declared != null
                && situation.history().attempts().configure().count() > 0
                && config.equals(Traits.of(declared.workload()).configHash());
    }

    private static void configuring(Situation situation, Notes notes, Step.ApplyConfig step, Outcome outcome) {
        Instance instance = onlyInstance(situation);
        switch (outcome) {
            case Outcome.Done done -> {
                tellOfApply(notes, notes.history().attempts().configure(), instance.revision(), "");
                notes.event(EventType.PLUGIN_CONFIG_APPLIED, instance.revision(), "the running instance has taken it");
                notes.applied(step.configHash());
                notes.put(instance.withPhase(Phase.STARTED, step.configHash()));
                notes.attempts(attempts -> attempts.withConfigure(Failures.NONE));
            }
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) -> {
                tellOfApply(notes, notes.history().attempts().configure(), instance.revision(), "");
                notes.failure(EventType.PLUGIN_CONFIG_APPLY_FAILED, instance.revision(), cause, error);
                notes.applied(step.configHash());
                notes.installFailed(instance.revision(), cause, error);
                notes.attempts(
                        attempts -> attempts.withConfigure(attempts.configure().failed(situation.now(), error, fatal)));
            }
            case Outcome.Unsupported unsupported -> {
                tellOfApply(
                        notes,
                        notes.history().attempts().configure(),
                        instance.revision(),
                        "the plugin takes it only at Start");
                notes.attempts(attempts -> attempts.withRestartToConfigure(true));
            }
            case Outcome.Interrupted interrupted -> {
                // Apply is repeated.
            }
        }
    }

    /** Once for all tries. */
    private static void tellOfApply(Notes notes, Failures before, String revision, String message) {
        if (before.count() == 0) {
            notes.event(EventType.PLUGIN_CONFIG_APPLY, revision, message);
        }
    }

    private static void reloading(
            Situation situation, WorkloadPlan plan, Notes notes, Step.Reload step, Outcome outcome) {
        Instance instance = onlyInstance(situation);
        switch (outcome) {
            case Outcome.Done(Instance none, String note) -> {
                notes.put(instance.withWatched(step.files()));
                notes.event(EventType.AGENT_RELOADED, instance.revision(), plan.message() + "; " + note);
                Failures before = BackoffPolicies.recentReloads(situation);
                notes.attempts(attempts -> attempts.withReload(ReloadFailures.succeeded(before, situation.now())));
            }
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) -> {
                notes.failure(EventType.AGENT_RELOAD_FAILED, instance.revision(), cause, error);
                notes.attempts(attempts -> attempts.withReload(
                        attempts.reload().failed(WatchedFiles.hash(step.files()), situation.now(), error)));
            }
            case Outcome.Unsupported unsupported -> throw notPossible(outcome);
            case Outcome.Interrupted interrupted -> {
                // It is made to read them again.
            }
        }
    }

    private static void limiting(
            Situation situation, WorkloadPlan plan, Notes notes, Step.SetLimits step, Outcome outcome) {
        switch (outcome) {
            case Outcome.Done done -> {
                if (plan.reason() == Reason.LIMITS_CHANGED) {
                    String limits = "limits are " + Confinement.words(step.limits());
                    tellOfApply(notes, notes.history().attempts().limits(), wantedRevision(situation), limits);
                    notes.event(EventType.PLUGIN_CONFIG_APPLIED, wantedRevision(situation), limits);
                }
                notes.attempts(attempts -> attempts.withLimits(Failures.NONE));
            }
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) -> {
                if (plan.reason() == Reason.LIMITS_CHANGED) {
                    tellOfApply(notes, notes.history().attempts().limits(), wantedRevision(situation), "");
                    notes.failure(EventType.PLUGIN_CONFIG_APPLY_FAILED, wantedRevision(situation), cause, error);
                    notes.installFailed(wantedRevision(situation), cause, error);
                }
                notes.attempts(
                        attempts -> attempts.withLimits(attempts.limits().failed(situation.now(), error, fatal)));
            }
            case Outcome.Unsupported unsupported -> throw notPossible(outcome);
            case Outcome.Interrupted interrupted -> {
                // They are set again.
            }
        }
    }

    private static void stopping(Situation situation, WorkloadPlan plan, Notes notes, Step.Stop step, Outcome outcome) {
        if (!(outcome instanceof Outcome.Done(Instance none, String note))) {
            upkeep(situation, notes, outcome);
            return;
        }
        Instance instance = step.instance();
        notes.attempts(attempts -> attempts.withUpkeep(Failures.NONE));
        if (instance.isUnknown()) {
            notes.ended(instance);
            notes.event(
                    EventType.DRIFT_DETECTED,
                    "",
                    "stopped an instance that the state does not know: " + instance.words() + "; it " + note);
            return;
        }
        Optional<Exit> end = endOfOrphan(situation, instance);
        if (end.isPresent()) {
            ObservationRecorder.noteEnd(situation, notes, instance, end.get());
            return;
        }
        notes.ended(instance);
        String words = plan.message() + "; " + note;
        switch (step.cause()) {
            case REMOVED, DISABLED, REQUESTED -> notes.event(EventType.PLUGIN_STOPPED, instance.revision(), words);
            case UNDONE, SURPLUS, DRIFTED, REPAIRED -> {
                // Of one that has not started, START_FAILED has told already.
                if (instance.phase() == Phase.STARTED) {
                    notes.event(EventType.PLUGIN_STOPPED, instance.revision(), words);
                }
            }
            case REPLACED -> tellOfStop(notes, instance, meaning(situation, plan, step), words);
            case UNHEALTHY -> notes.event(EventType.PLUGIN_CRASHED, instance.revision(), words);
            case START_FAILED ->
                notes.failure(
                        EventType.PLUGIN_START_FAILED,
                        instance.revision(),
                        FailureCause.of(FailureCause.Kind.TIMED_OUT),
                        words);
            case RUN_OVER -> {
                // The end of the run has been told.
            }
        }
        OneShotRecorder.stopped(situation, notes, step);
        if (step.cause() == Step.Stop.Cause.DRIFTED || renews(situation, plan, step)) {
            repaired(situation, plan, notes);
        }
        boolean late = step.cause() == Step.Stop.Cause.START_FAILED;
        boolean tookTooLong = late || plan.reason() == Reason.RUN_TIMED_OUT;
        notes.run(run -> run.withExit(
                new Exit(null, null, tookTooLong ? Exit.Reason.TIMED_OUT : Exit.Reason.STOPPED, situation.now())));
        if (late || step.cause() == Step.Stop.Cause.UNHEALTHY) {
            FailureCause cause = FailureCause.of(
                    late || plan.reason() == Reason.HUNG ? FailureCause.Kind.TIMED_OUT : FailureCause.Kind.UNHEALTHY);
            notes.launchFailed(instance.target(), cause, plan.message(), false);
        }
    }

    /** What the end of an instance that is to be stopped will have been. */
    public static RunRecord.Stop.Meaning meaning(Situation situation, WorkloadPlan plan, Step.Stop step) {
        return switch (step.cause()) {
            case UNHEALTHY, START_FAILED -> RunRecord.Stop.Meaning.FAILED;
            case REPLACED ->
                step.instance().revision().equals(wantedRevision(situation))
                                || plan.reason() == Reason.RESTART_REQUESTED
                        ? RunRecord.Stop.Meaning.STOPPED
                        : RunRecord.Stop.Meaning.SUPERSEDED;
            case REMOVED, DISABLED, REQUESTED, REPAIRED, UNDONE, DRIFTED, RUN_OVER, SURPLUS ->
                RunRecord.Stop.Meaning.STOPPED;
        };
    }

    static void tellOfStop(Notes notes, Instance instance, RunRecord.Stop.Meaning meaning, String words) {
        boolean superseded = meaning == RunRecord.Stop.Meaning.SUPERSEDED;
        if (superseded) {
            notes.event(EventType.PLUGIN_CONFIG_REMOVE, instance.revision(), "superseded");
        }
        notes.event(EventType.PLUGIN_STOPPED, instance.revision(), words);
        if (superseded) {
            notes.event(EventType.PLUGIN_REMOVED, instance.revision(), "superseded");
        }
    }

    /** Whether it is stopped for what is in a file, and for nothing else. */
    private static boolean renews(Situation situation, WorkloadPlan plan, Step.Stop step) {
        Declaration declared = situation.declared();
        return step.cause() == Step.Stop.Cause.REPLACED
                && plan.reason() == Reason.ENVIRONMENT_CHANGED
                && declared != null
                && LaunchInputs.matches(step.instance(), declared.workload());
    }

    /** How the process ended whose left-over children were stopped; empty when the process itself was. */
    private static Optional<Exit> endOfOrphan(Situation situation, Instance instance) {
        return situation.instances().stream()
                .filter(process -> process.instance().launchId().equals(instance.launchId()))
                .flatMap(process ->
                        process.liveness() instanceof ObservedInstance.Liveness.Orphaned(Exit exit, int survivors)
                                ? Stream.of(exit)
                                : Stream.empty())
                .findFirst();
    }

    private static void removing(Situation situation, Notes notes, Outcome outcome) {
        LastKnownGood lastKnownGood = notes.history().lastKnownGood();
        String revision = lastKnownGood == null
                ? notes.history().attempts().reported().revision()
                : lastKnownGood.workload().revision();
        if (outcome instanceof Outcome.Done) {
            Exit last = notes.history().run().lastExit();
            notes.event(
                    EventType.PLUGIN_REMOVED,
                    revision,
                    last != null && last.reason() == Exit.Reason.DRIVER_GONE
                            ? "nothing of it that can be seen is left on this machine"
                            : "nothing of it is left on this machine");
            notes.drop();
            return;
        }
        if (outcome instanceof Outcome.Failed(FailureCause cause, String error, boolean fatal)) {
            notes.failure(EventType.PLUGIN_REMOVE_FAILED, revision, cause, error);
        }
        upkeep(situation, notes, outcome);
    }

    private static void upkeep(Situation situation, Notes notes, Outcome outcome) {
        switch (outcome) {
            case Outcome.Done done -> notes.attempts(attempts -> attempts.withUpkeep(Failures.NONE));
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) ->
                notes.attempts(
                        attempts -> attempts.withUpkeep(attempts.upkeep().failed(situation.now(), error, false)));
            case Outcome.Unsupported unsupported -> throw notPossible(outcome);
            case Outcome.Interrupted interrupted -> {
                // The step is planned again.
            }
        }
    }

    private static String words(Instance instance) {
        return instance.identity() == null ? "" : instance.identity().words();
    }

    private static Instance onlyInstance(Situation situation) {
        if (situation.seen().instances() instanceof Observation.Seen<?>
                && situation.instances().size() == 1) {
            ObservedInstance process = situation.instances().get(0);
            return process.instance();
        }
        throw new IllegalStateException("not exactly one instance of " + situation.id());
    }

    private static String wantedRevision(Situation situation) {
        Declaration declared = situation.declared();
        return declared == null ? "" : declared.workload().revision();
    }

    private static IllegalArgumentException notPossible(Outcome outcome) {
        return new IllegalArgumentException("not an outcome of this step: " + outcome);
    }
}
