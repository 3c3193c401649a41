package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Computes what has to be done from what is wanted, what is there and what happened before. Pure: no file, no process, no clock,
 * no randomness. `plan` prints the result; the loop executes the first step of it, looks at the machine and plans again, so a dry
 * run and a real run are one computation, and a crash at any point is just another state to start from.
 */
public final class Planner {
    private static final Duration LOOK_AGAIN_AFTER_BLINDNESS = Duration.ofSeconds(5);
    private static final Duration PENDING_POLL = Duration.ofMillis(100);

    private Planner() {}

    /** A plan for one workload, whose history already knows all that its observation shows. */
    public static WorkloadPlan plan(Situation situation) {
        ObservedWorkload seen = situation.seen();
        Optional<String> blind = whatCanNotBeSeen(seen);
        if (blind.isPresent()) {
            PlanBuilder plan = new PlanBuilder(situation);
            plan.waitFor(
                    Reason.CANNOT_OBSERVE,
                    "could not look: " + blind.get(),
                    situation.now().plus(LOOK_AGAIN_AFTER_BLINDNESS),
                    Step.Wait.Kind.RETRY);
            return plan.build();
        }
        ImmutableList<ObservedInstance> unknown = situation.instances().stream()
                .filter(one -> one.instance().isUnknown())
                .collect(ImmutableList.toImmutableList());
        Pause pause = situation.pause();
        if (pause != null && !pause.stopped()) {
            return paused(situation, pause, unknown);
        }
        return unknown.isEmpty() ? planOfKnown(situation) : stopping(unknown, situation);
    }

    /** What the state does not know ends before anything else is done, whatever is declared: nothing is launched beside it. */
    private static WorkloadPlan stopping(ImmutableList<ObservedInstance> unknown, Situation situation) {
        Situation rest = situation.withSeen(situation
                .seen()
                .withInstances(situation.instances().stream()
                        .filter(one -> !one.instance().isUnknown())
                        .collect(ImmutableList.toImmutableList())));
        WorkloadPlan next = planOfKnown(rest);
        PlanBuilder plan = new PlanBuilder(rest);
        plan.because(
                next.action() == Action.NONE || next.action() == Action.WAIT ? Action.STOP : next.action(),
                Reason.PROCESS_UNKNOWN,
                words(unknown));
        unknown.forEach(one -> plan.stop(one.instance(), Step.Stop.Cause.SURPLUS));
        WorkloadPlan first = plan.build();
        return first.reason() != Reason.PROCESS_UNKNOWN || next.steps().isEmpty() ? first : first.followedBy(next);
    }

    private static String words(ImmutableList<ObservedInstance> unknown) {
        return unknown.stream()
                .map(one -> one.instance().words())
                .collect(Collectors.joining("; ", "running, but unknown to the state: ", ""));
    }

    private static WorkloadPlan planOfKnown(Situation situation) {
        Pause pause = situation.pause();
        Declaration declared = situation.declared();
        if (pause != null && declared != null) {
            return stopped(situation, pause);
        }
        if (declared == null) {
            return withdrawn(situation);
        }
        Execution execution = declared.workload().lifecycle().execution();
        Enablement enablement = Enablement.of(execution, situation);
        if (enablement.state() == Execution.State.DISABLED) {
            return disabled(situation, enablement);
        }
        Optional<WorkloadPlan> goingFirst = goingFirst(situation);
        if (goingFirst.isPresent()) {
            return goingFirst.get();
        }
        if (enablement.state() == null) {
            return undecided(situation, enablement);
        }
        return declared.workload().isOneShot()
                ? new OneShotPlanner(situation, declared).plan()
                : new DaemonPlanner(situation, declared).plan();
    }

    /**
     * As {@link #plan}, while an instance is being told to start. Only who tells it knows that: for anybody else it is an instance of which
     * nobody knows whether it has started.
     */
    public static WorkloadPlan planDuringStart(Situation situation) {
        WorkloadPlan afterwards = plan(situation);
        if (afterwards.reason() != Reason.START_NOT_FINISHED) {
            return afterwards;
        }
        PlanBuilder plan = new PlanBuilder(situation);
        plan.waitFor(
                Reason.START_NOT_FINISHED,
                "starting: it has not answered Start",
                situation.now().plus(PENDING_POLL),
                Step.Wait.Kind.PROGRESS);
        return plan.build();
    }

    /**
     * Removes only what is known to have been wanted once. What is merely found on the machine may be somebody's whom a lost
     * database has forgotten: it goes on running until it is declared again or deleted by name.
     */
    private static WorkloadPlan withdrawn(Situation situation) {
        PlanBuilder plan = new PlanBuilder(situation);
        if (!isHere(situation)) {
            return plan.build();
        }
        if (!situation.history().isOfSomethingDeclared()) {
            plan.waitFor(
                    Reason.UNCLAIMED,
                    "it is here, but nothing is remembered of it; apply its document again, or delete "
                            + situation.id(),
                    Instant.MAX,
                    Step.Wait.Kind.DECLARATION);
            return plan.build();
        }
        plan.because(Action.REMOVE, Reason.NO_LONGER_DECLARED, "no longer declared");
        if (!situation.instances().isEmpty()) {
            Preconditions.dependants(situation).ifPresent(first -> {
                plan.also(first.words());
                plan.waitFor(first);
            });
        }
        for (ObservedInstance process : situation.instances()) {
            if (!plan.waitIf(pending(situation, process))) {
                plan.stop(process.instance(), Step.Stop.Cause.REMOVED);
            }
        }
        plan.add(new Step.Remove(situation.id()));
        return plan.build();
    }

    private static boolean isHere(Situation situation) {
        return !situation.installations().isEmpty()
                || situation.active().isPresent()
                || situation.residue()
                || !situation.instances().isEmpty();
    }

    /**
     * Whatever there would be to do: it is not even forecast, because by the time of the resumption it may be something else. That it
     * would be removed is said, because whoever resumes it may mean to keep it.
     */
    private static WorkloadPlan paused(Situation situation, Pause pause, ImmutableList<ObservedInstance> unknown) {
        boolean withdrawn = situation.declared() == null
                && isHere(situation)
                && situation.history().isOfSomethingDeclared();
        String words = withdrawn
                ? pause.words() + "; no longer declared, to be removed once it is resumed (homeostat resume "
                        + situation.id() + ")"
                : pause.wordsWithRemedy();
        PlanBuilder plan = new PlanBuilder(situation);
        plan.waitFor(
                Reason.PAUSED,
                unknown.isEmpty() ? words : words + "; " + words(unknown),
                Instant.MAX,
                Step.Wait.Kind.DECLARATION);
        return plan.build();
    }

    /** As little as for what is paused, once it does not run. What nobody declares any more is removed all the same. */
    private static WorkloadPlan stopped(Situation situation, Pause pause) {
        PlanBuilder plan = new PlanBuilder(situation);
        if (!situation.instances().isEmpty()) {
            Preconditions.dependants(situation).ifPresent(first -> {
                plan.because(Action.STOP, Reason.STOPPED, pause.wordsWithRemedy());
                plan.also(first.words());
                plan.waitFor(first);
            });
        }
        for (ObservedInstance process : situation.instances()) {
            plan.because(Action.STOP, Reason.STOPPED, pause.wordsWithRemedy());
            if (!plan.waitIf(pending(situation, process))) {
                plan.stop(process.instance(), Step.Stop.Cause.REQUESTED);
            }
        }
        plan.waitFor(Reason.STOPPED, pause.wordsWithRemedy(), Instant.MAX, Step.Wait.Kind.DECLARATION);
        return plan.build();
    }

    /** What it is part of is to be stopped, and waits for that: it ends as it wants to, and is launched again with the next one. */
    private static Optional<WorkloadPlan> goingFirst(Situation situation) {
        PlanBuilder plan = new PlanBuilder(situation);
        for (ObservedInstance one : situation.instances()) {
            situation.relations().endingParent(one.instance()).ifPresent(parent -> {
                boolean comesBack = parent.need().state() == Relations.Need.State.COMING;
                plan.because(
                        comesBack ? Action.RESTART : Action.STOP,
                        Reason.PARENT_CHANGED,
                        parent.need().id() + " is to be stopped, and it is stopped before"
                                + (comesBack ? "; it is launched again when that is well" : ""));
                if (!plan.waitIf(pending(situation, one))) {
                    plan.stop(one.instance(), Step.Stop.Cause.REPAIRED);
                }
            });
        }
        return plan.isEmpty() ? Optional.empty() : Optional.of(plan.build());
    }

    /** What runs runs on, and what does not is not started, until it is known whether it is to run. */
    private static WorkloadPlan undecided(Situation situation, Enablement enablement) {
        PlanBuilder plan = new PlanBuilder(situation);
        plan.waitFor(
                Reason.FACTS_UNKNOWN,
                "its rules have never been decided: " + enablement.unknown(),
                situation.now().plus(LOOK_AGAIN_AFTER_BLINDNESS),
                Step.Wait.Kind.RETRY);
        return plan.build();
    }

    private static WorkloadPlan disabled(Situation situation, Enablement enablement) {
        PlanBuilder plan = new PlanBuilder(situation);
        plan.atRestBecause(Reason.DISABLED, enablement.words());
        for (ObservedInstance process : situation.instances()) {
            plan.because(Action.STOP, Reason.DISABLED, enablement.words());
            if (!plan.waitIf(pending(situation, process))) {
                plan.stop(process.instance(), Step.Stop.Cause.DISABLED);
            }
        }
        return plan.build();
    }

    /** An instance that has not said yet who it is can't be signalled; soon it will have, or be known never to. */
    static Optional<Hold> pending(Situation situation, ObservedInstance instance) {
        return instance.liveness() instanceof Liveness.Pending
                ? Optional.of(new Hold(
                        Reason.START_NOT_FINISHED,
                        "waiting for the launched process to report its identity",
                        situation.now().plus(PENDING_POLL),
                        Step.Wait.Kind.PROGRESS))
                : Optional.empty();
    }

    private static Optional<String> whatCanNotBeSeen(ObservedWorkload seen) {
        for (Observation<?> look : List.of(seen.installations(), seen.active(), seen.instances(), seen.residue())) {
            if (look instanceof Observation.Unseen<?>(String why)) {
                return Optional.of(why);
            }
        }
        return Optional.empty();
    }
}
