package io.homeostat.reconcile.record;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Confinement;
import io.homeostat.reconcile.plan.Enablement;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Target;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.WatchedFiles;
import io.homeostat.reconcile.plan.Work;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Turns an observation into a change of what is remembered: a new declaration, an end, a start, health, a revision seen well. Pure, like
 * the planner that goes by the result.
 */
public final class ObservationRecorder {
    /** What has lived for as long has hardly ended the machine that it was in. */
    private static final Duration UNSUSPICIOUS_LIFE = Duration.ofMinutes(1);

    private ObservationRecorder() {}

    /**
     * What was learned.
     *
     * @param situation the same situation with the new history, without the processes that are over
     */
    public record Learned(Change change, Situation situation) {}

    public static Learned observed(Situation situation) {
        return observed(situation, "");
    }

    /**
     * What an observation tells.
     *
     * @param lastWords the end of its log, in one line, in case an instance has ended
     */
    public static Learned observed(Situation situation, String lastWords) {
        Declaration declared = situation.declared();
        Notes notes = new Notes(situation, lastWords);
        noteDeclaration(situation, notes);
        noteDecision(situation, notes);
        if (declared != null) {
            OneShotRecorder.count(situation, declared, notes);
        }
        ObservedWorkload seen = situation.seen();
        if (seen.instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances)) {
            if (declared != null) {
                OneShotRecorder.forget(declared, notes, instances);
            }
            CompletionRecorder.forget(situation, notes, instances);
            List<ObservedInstance> alive = new ArrayList<>();
            for (ObservedInstance process : instances) {
                notes.launched(process.instance().target());
                if (process.liveness() instanceof Liveness.Ended(Exit exit)) {
                    // What only the machine remembers of an end has been written down before, or nobody knows what it
                    // was the end of.
                    if (process.remembered()) {
                        noteEnd(situation, notes, process.instance(), exit);
                    }
                } else {
                    alive.add(noteLife(situation, notes, process));
                }
            }
            seen = seen.withInstances(ImmutableList.copyOf(alive));
            if (notes.leavesRemains()) {
                seen = seen.withResidue();
            }
            if (declared != null && declared.workload().isOneShot()) {
                OneShotRecorder.prove(situation, notes);
            } else if (alive.size() == 1) {
                noteKnownGood(situation, notes, alive.get(0));
            } else if (alive.isEmpty()) {
                CompletionRecorder.prove(situation, notes);
            }
        }
        return new Learned(
                notes.change(), situation.withHistory(notes.history()).withSeen(seen));
    }

    private static void noteDeclaration(Situation situation, Notes notes) {
        Declaration declared = situation.declared();
        WorkloadHistory history = notes.history();
        if (declared == null) {
            if (!history.attempts().hash().isEmpty()) {
                LastKnownGood lastKnownGood = history.lastKnownGood();
                String revision = lastKnownGood == null
                        ? history.attempts().reported().revision()
                        : lastKnownGood.workload().revision();
                notes.event(EventType.PLUGIN_CONFIG_REMOVE, revision, "no longer declared");
                notes.history(history.withoutRollback()
                        .withAttempts(Attempts.NONE.withReported(Reported.of(revision)))
                        .withFailed(null)
                        .withRun(history.run()
                                .withOneShot(null)
                                .withCalendar(null)
                                .withoutCompleted()));
            }
            return;
        }
        if (declared.hash().equals(history.attempts().hash())) {
            if (declared.generation() != history.observedGeneration()) {
                // Withdrawn and declared again before anybody looked, or another source wants just the same.
                notes.history(history.withAttempts(declared.generation(), history.attempts()));
            }
            return;
        }
        String removed = removed(situation);
        if (!removed.isEmpty()) {
            notes.event(EventType.PLUGIN_REMOVE_FAILED, removed, "declared again before it was removed");
        }
        FailedRevision undone = history.undone(declared.hash()).orElse(null);
        notes.history((undone == null ? history.withoutRollback() : history)
                .withAttempts(
                        declared.generation(),
                        Attempts.of(declared.hash())
                                .withReported(Reported.of(declared.workload().revision())))
                .withFailed(undone)
                .withRun(history.run().withCrashes(Failures.NONE)));
        if (!removed.isEmpty()) {
            // What is there may be no new program, and then nothing else would tell that it works.
            notes.history(notes.history().withAsked(notes.history().asked().withInstall(true)));
        }
        boolean wasWithdrawn = history.attempts().hash().isEmpty();
        Apply apply = history.asked().apply();
        // The program was told when it was declared.
        boolean onlyConfigured =
                apply != null && apply.base().equals(history.attempts().hash());
        if (wasWithdrawn || (!onlyConfigured && isNewProgram(history.lastKnownGood(), declared.workload()))) {
            notes.event(
                    EventType.PLUGIN_CONFIG_INSTALL,
                    declared.workload().revision(),
                    "declared by " + declared.source().word());
        }
    }

    /**
     * The revision of which a control plane was told that it is being removed; empty when nothing is. Of what no control plane hears of,
     * nobody waits for the end of that.
     */
    private static String removed(Situation situation) {
        Attempts attempts = situation.history().attempts();
        return situation.id().kind().isReported() && attempts.hash().isEmpty()
                ? attempts.reported().revision()
                : "";
    }

    private static void noteDecision(Situation situation, Notes notes) {
        Declaration declared = situation.declared();
        if (declared == null) {
            notes.history(notes.history().withDecision(null));
            return;
        }
        Decision decided = Enablement.of(declared.workload().lifecycle().execution(), situation)
                .decided();
        if (decided != null) {
            notes.history(notes.history().withDecision(decided));
        }
    }

    /** Whether a declaration asks for another program than the one that was last seen well, not just another configuration. */
    public static boolean isNewProgram(@Nullable LastKnownGood lastKnownGood, Workload wanted) {
        return lastKnownGood == null
                || !lastKnownGood.workload().revision().equals(wanted.revision())
                || !LaunchInputs.of(lastKnownGood.workload()).equals(LaunchInputs.of(wanted));
    }

    /** Of what was withdrawn nothing is left, and nothing was there that a step could have removed and told so. */
    public static ImmutableList<Event> gone(Situation situation) {
        String revision = situation.history().attempts().reported().revision();
        return revision.isEmpty()
                ? ImmutableList.of()
                : ImmutableList.of(new Event(
                        situation.now(),
                        situation.id(),
                        revision,
                        EventType.PLUGIN_REMOVED,
                        "nothing of it was on this machine"));
    }

    /** Writes down that an instance is over by itself; a daemon's that ended with its parent was stopped and has not crashed. */
    static void noteEnd(Situation situation, Notes notes, Instance instance, Exit exit) {
        notes.ended(instance);
        if (instance.isUnknown() || (situation.declared() != null && neverWas(instance, exit))) {
            // Nobody knows what it was the end of, or the agent ended before its launch, which is no fault of what was
            // to be launched.
            return;
        }
        notes.run(run -> run.withExit(exit));
        String words = exit.sentence();
        if (exit.reason() == Exit.Reason.DRIVER_GONE) {
            // Nobody has seen it end, so nobody is told that it has stopped.
            String remedy = instance.identity() instanceof Identity.Task task
                    ? "; driver " + task.driver() + " had started it as " + task.taskId()
                            + ": if that still runs, stop it by hand"
                    : "";
            notes.failure(EventType.PLUGIN_REMOVE_FAILED, instance.revision(), FailureCause.of(exit), words + remedy);
            return;
        }
        if (situation.declared() == null) {
            notes.event(EventType.PLUGIN_STOPPED, instance.revision(), words);
            return;
        }
        if (Work.isOneShot(instance)) {
            OneShotRecorder.ended(situation, notes, instance, exit);
            return;
        }
        if (situation.relations().endedWithParent(instance)) {
            notes.run(run -> run.withExit(new Exit(exit.code(), exit.signal(), Exit.Reason.STOPPED, exit.at())));
            if (instance.isStarted()) {
                notes.event(EventType.PLUGIN_STOPPED, instance.revision(), "it ended with what it is part of");
            }
            return;
        }
        RunRecord.Stop stop = situation.history().run().stop();
        if (stop != null
                && stop.launchId().equals(instance.launchId())
                && stop.meaning() != RunRecord.Stop.Meaning.FAILED) {
            noteStopped(notes, instance, exit, stop.meaning());
            return;
        }
        boolean wasLeftAlone = stop == null || !stop.launchId().equals(instance.launchId());
        if (wasLeftAlone && isOfGuestAlone(instance, exit)) {
            notes.event(EventType.PLUGIN_STOPPED, instance.revision(), words);
            return;
        }
        if (CompletionRecorder.ended(situation, notes, instance, exit)) {
            return;
        }
        if (instance.phase() == Phase.STARTED) {
            notes.event(EventType.PLUGIN_CRASHED, instance.revision(), words);
        } else if (!isSuperseded(situation, instance)) {
            notes.failure(EventType.PLUGIN_START_FAILED, instance.revision(), FailureCause.of(exit), words);
        }
        String cause = words + remedy(situation.declared(), instance, exit);
        notes.launchFailed(instance.target(), FailureCause.of(exit), notes.explained(cause), false);
    }

    /** Whether its machine has ended and it has no part in that, as far as can be told: what ends machines soon is slowed down. */
    private static boolean isOfGuestAlone(Instance instance, Exit exit) {
        Duration lived = Duration.between(instance.launchedAt(), exit.at());
        return exit.reason().isOfGuest() && instance.isStarted() && lived.compareTo(UNSUSPICIOUS_LIFE) >= 0;
    }

    /** Writes down the end of what was being stopped when whoever did so ended. */
    private static void noteStopped(Notes notes, Instance instance, Exit exit, RunRecord.Stop.Meaning meaning) {
        notes.run(run -> run.withExit(new Exit(exit.code(), exit.signal(), Exit.Reason.STOPPED, exit.at())));
        if (instance.isStarted() || meaning == RunRecord.Stop.Meaning.SUPERSEDED) {
            OutcomeRecorder.tellOfStop(notes, instance, meaning, "it was being stopped; process " + exit.words());
        }
    }

    /** What to do about an end that its declaration is the reason for, as far as that can be told; empty when it can't. */
    private static String remedy(Declaration declared, Instance instance, Exit exit) {
        if (!LaunchInputs.matches(instance, declared.workload())) {
            return "";
        }
        Lifecycle lifecycle = declared.workload().lifecycle();
        Size memory = lifecycle.limits().memory();
        if (exit.reason().isOutOfMemory() && memory != null) {
            return "; limits.memory is " + Notation.text(memory) + ": raise it, or have the program use less";
        }
        return exit.isSuccess()
                        && lifecycle.restart().policy() != Policy.ON_FAILURE
                        && lifecycle.restart().policy() != Policy.NEVER
                ? "; what is to stay has to run in the foreground, and what is to end is declared with restart.policy"
                        + " onFailure or execution.type oneShot"
                : "";
    }

    /** Nobody waits any more for the start of what is neither declared nor stands in for that. */
    private static boolean isSuperseded(Situation situation, Instance instance) {
        Declaration declared = situation.declared();
        return declared != null
                && !instance.target().equals(declared.hash())
                && situation.history().standIns().stream()
                        .noneMatch(good -> instance.target().equals(good.hash()));
    }

    /** Whether it is on its way to be another one: how that one is asked says nothing of it. */
    private static boolean isReplaced(Situation situation, Instance instance) {
        Declaration declared = situation.declared();
        return declared != null
                && isSuperseded(situation, instance)
                && !LaunchInputs.matches(instance, declared.workload());
    }

    /** A launch that was written down and of which nothing came. One that failed while the agent lived was told by its step. */
    private static boolean neverWas(Instance instance, Exit exit) {
        return instance.identity() == null && exit.reason() == Exit.Reason.UNKNOWN;
    }

    private static ObservedInstance noteLife(Situation situation, Notes notes, ObservedInstance process) {
        Instance instance = process.instance();
        if (!(process.liveness() instanceof Liveness.Running running)) {
            return process;
        }
        if (instance.isUnknown()) {
            // Remembered from now on, so that whoever comes after us goes on with its stop.
            if (!process.remembered()) {
                notes.put(instance);
            }
            return new ObservedInstance(instance, true, running);
        }
        if (!process.remembered()) {
            notes.event(
                    EventType.AGENT_ADOPTED,
                    instance.revision(),
                    "found running with " + running.identity().words());
        }
        Instance known = instance.identity() == null ? instance.withIdentity(running.identity()) : instance;
        WorkloadSpec spec = situation.checks().of(known);
        if (Work.isOneShot(known)) {
            known = OneShotRecorder.alive(situation, notes, known, running);
        } else if (spec != null) {
            known = known.withWatched(WatchedFiles.read(
                    known, traits(situation, spec), situation.seen().files()));
            if (known.phase().isBeforeStart()
                    && !isReplaced(situation, known)
                    && traits(situation, spec).readiness().canBeSeen(running)) {
                known = known.withPhase(Phase.STARTED, known.configHash());
                notes.event(
                        EventType.PLUGIN_STARTED,
                        known.revision(),
                        running.identity().words());
            }
            if (known.phase() == Phase.STARTED) {
                noteHealth(situation, notes, spec, running.health());
            }
        }
        if (known.isStarted() && isAsDeclared(situation, known)) {
            notes.startedWith(known.configHash(), known.revision());
        }
        if (!known.equals(instance) || !process.remembered()) {
            notes.put(known);
        }
        return new ObservedInstance(known, true, running);
    }

    private static boolean isAsDeclared(Situation situation, Instance instance) {
        Declaration declared = situation.declared();
        return declared != null
                && instance.configHash().equals(Traits.of(declared.workload()).configHash())
                && LaunchInputs.matches(instance, declared.workload());
    }

    private static Traits traits(Situation situation, WorkloadSpec spec) {
        return Traits.of(situation.id().kind(), spec);
    }

    private static void noteHealth(Situation situation, Notes notes, WorkloadSpec spec, @Nullable Health health) {
        RunRecord run = notes.history().run();
        boolean unknown = health == null
                // A dry run does not ask, so what was known before stays.
                ? traits(situation, spec).hasHealth()
                : health.verdict() == Health.Verdict.UNKNOWN;
        if (unknown) {
            return;
        }
        if (health != null && health.verdict() == Health.Verdict.DEGRADED) {
            notes.run(RunRecord::degraded);
            return;
        }
        if (health != null && health.verdict() != Health.Verdict.HEALTHY) {
            Instant last = run.lastHealthFailure();
            Duration interval = spec.lifecycle().health().interval();
            boolean due = last == null
                    || last.isAfter(situation.now())
                    || !situation.now().isBefore(last.plus(interval));
            if (due) {
                notes.run(r -> r.unhealthy(situation.now()));
            }
            return;
        }
        Instant since = run.healthySince();
        Restart policy = spec.lifecycle().restart();
        if (since == null || since.isAfter(situation.now())) {
            notes.run(r -> r.healthy(situation.now()));
        } else if (run.crashes().count() == 0 || !situation.now().isBefore(since.plus(policy.resetAfter()))) {
            notes.run(r -> r.withCrashes(Failures.NONE));
        }
    }

    /**
     * Notes which revision the instance shows to work: the declared one, which is then known to be good, or the last good one in the
     * place of one that was undone.
     */
    private static void noteKnownGood(Situation situation, Notes notes, ObservedInstance process) {
        Declaration declared = situation.declared();
        if (declared == null
                || !(process.liveness() instanceof Liveness.Running running)
                || !(situation.seen().installations() instanceof Observation.Seen<?>)) {
            return;
        }
        Target wanted = Target.of(declared.workload(), declared.hash(), situation.installations());
        if (isWell(situation, notes, process.instance(), running, wanted)) {
            notes.knownGood(declared, wanted);
        }
        notes.standIn(situation.installations())
                .filter(target -> runsAs(target, process.instance()))
                .ifPresent(target -> {
                    // What differs only in place from what ran until now takes no launch.
                    notes.launched(target.hash());
                    if (isWell(situation, notes, process.instance(), running, target)) {
                        notes.replaced(target);
                    }
                });
    }

    /** Whether an instance is as the target, for whatever it was launched: what can be changed while it runs is. */
    private static boolean runsAs(Target target, Instance instance) {
        return LaunchInputs.difference(instance, target.workload(), target.directory())
                        .isEmpty()
                && Traits.of(target.workload()).configHash().equals(instance.configHash());
    }

    /**
     * A revision works when its instance runs, has started, has its configuration and its limits, and has not failed a health check
     * since: one that this revision asks for, not the other one.
     */
    private static boolean isWell(
            Situation situation, Notes notes, Instance instance, Liveness.Running running, Target target) {
        Workload workload = target.workload();
        return target.installed()
                && instance.phase() == Phase.STARTED
                && runsAs(target, instance)
                && new Confinement(situation, workload).holds()
                && workload.spec().equals(situation.checks().of(instance))
                && (running.health() == null || running.health().verdict() == Health.Verdict.HEALTHY)
                && notes.history().run().healthFailures() == 0;
    }

    /**
     * Adds what the plan does not even try, told as if it had failed: there is no step whose outcome would tell it. And what was to be
     * stopped and goes on after all is not being stopped any more.
     */
    public static Learned planned(Learned learned, WorkloadPlan plan) {
        Situation situation = learned.situation();
        Declaration declared = situation.declared();
        if (declared == null) {
            return learned;
        }
        Notes notes = new Notes(situation);
        String revision = declared.workload().revision();
        boolean limits = plan.reason() == Reason.LIMITS_NOT_ENFORCEABLE;
        if ((limits || plan.reason() == Reason.FILE_UNUSABLE || plan.reason() == Reason.CONFIG_REFUSED)
                && !runs(situation, declared)) {
            FailureCause cause = FailureCause.of(
                    limits
                            ? FailureCause.Kind.LIMITS
                            : plan.reason() == Reason.CONFIG_REFUSED
                                    ? FailureCause.Kind.REFUSED
                                    : FailureCause.Kind.FILE_MISSING);
            notes.failure(EventType.PLUGIN_START_FAILED, revision, cause, plan.message());
            LastKnownGood lastKnownGood = situation.history().lastKnownGood();
            if (lastKnownGood == null || !lastKnownGood.hash().equals(declared.hash())) {
                notes.failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, plan.message());
            }
        } else if (plan.reason() == Reason.SIGNATURE_MISSING) {
            FailureCause cause = FailureCause.of(FailureCause.Kind.UNSIGNED);
            notes.failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, plan.message());
        }
        if (goesOnAfterAll(situation, plan)) {
            notes.run(run -> run.withStop(null));
        }
        Change before = learned.change();
        Change more = notes.change();
        if (more.isEmpty()) {
            return learned;
        }
        return new Learned(
                new Change(
                        before.workload(),
                        more.history() == null ? before.history() : more.history(),
                        before.dropHistory(),
                        before.instances(),
                        before.ended(),
                        ImmutableList.<Event>builder()
                                .addAll(before.events())
                                .addAll(more.events())
                                .build()),
                situation.withHistory(notes.history()));
    }

    private static boolean goesOnAfterAll(Situation situation, WorkloadPlan plan) {
        RunRecord.Stop stop = situation.history().run().stop();
        boolean waits = plan.steps().stream().anyMatch(Step.Wait.class::isInstance);
        return stop != null
                && situation.seen().instances()
                        instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances)
                && instances.stream()
                        .anyMatch(one -> one.liveness() instanceof Liveness.Running
                                && one.instance().launchId().equals(stop.launchId()))
                // A stop that has failed is repeated.
                && plan.reason() != Reason.STEP_FAILED
                && plan.steps().stream()
                        .noneMatch(step -> step instanceof Step.Stop next
                                // What is ill may get well before that.
                                && !(waits && next.cause() == Step.Stop.Cause.UNHEALTHY)
                                && next.instance().launchId().equals(stop.launchId()));
    }

    private static boolean runs(Situation situation, Declaration declared) {
        return situation.instances().stream()
                .anyMatch(process -> LaunchInputs.matches(process.instance(), declared.workload()));
    }

    /**
     * The event of a machine that moved, where no end of an instance tells of it already. Only the pass that finds the drift tells it:
     * not the steps of the repair, and not the tries of one that fails.
     *
     * @param situation with the conditions as the pass before has left them
     */
    public static Optional<Event> drift(Situation situation, WorkloadPlan plan) {
        boolean told = situation.history().conditions().stream()
                .filter(condition -> condition.type() == Condition.Type.CONVERGED)
                .anyMatch(before -> isToldBy(before.reason(), plan.reason()));
        if (told || !hasNoOtherEvent(plan.reason(), situation.history().attempts())) {
            return Optional.empty();
        }
        // What has moved is what is there, whatever is to come after it.
        WorkloadPlan.Facts moved = plan.before() == null ? plan.after() : plan.before();
        return Optional.of(new Event(
                situation.now(),
                situation.id(),
                moved == null ? "" : moved.revision(),
                EventType.DRIFT_DETECTED,
                plan.message()));
    }

    /** What is told once when a workload is not started any more. */
    public static Optional<Event> givenUp(Situation situation, WorkloadPlan plan) {
        boolean told = situation.history().conditions().stream()
                .anyMatch(
                        before -> before.type() == Condition.Type.GIVEN_UP && before.status() == Condition.Status.TRUE);
        Declaration declared = situation.declared();
        return told || plan.reason() != Reason.GIVEN_UP || declared == null
                ? Optional.empty()
                : Optional.of(new Event(
                        situation.now(),
                        situation.id(),
                        plan.before() == null
                                ? declared.workload().revision()
                                : plan.before().revision(),
                        EventType.AGENT_GIVEN_UP,
                        plan.message()));
    }

    private static boolean isToldBy(Reason before, Reason reason) {
        boolean installs = reason == Reason.INSTALL_MISSING || reason == Reason.INSTALL_DAMAGED;
        return before == reason || (installs && before == Reason.INSTALL_FAILED);
    }

    private static boolean hasNoOtherEvent(Reason reason, Attempts attempts) {
        return switch (reason) {
            case INSTALL_MISSING, INSTALL_DAMAGED, PROCESS_MISSING, PROCESS_SURPLUS, SOCKET_MISSING, LOG_MISSING ->
                true;
            case CONFIG_DRIFTED -> attempts.configure().count() == 0;
            case LINK_MOVED -> attempts.upkeep().count() == 0;
            case LIMITS_DRIFTED -> attempts.limits().count() == 0;
            // The process's own event tells what happened, or nothing did.
            default -> false;
        };
    }
}
