package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.lifecycle.Execution;
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

/**
 * Computes what has to be done from what is wanted, what is there and what happened before. Pure: no file, no process, no clock,
 * no randomness. `plan` prints the result; the loop executes the first step of it, looks at the machine and plans again, so a dry
 * run and a real run are one computation, and a crash at any point is just another state to start from.
 */
public final class Planner {
    private static final Duration LOOK_AGAIN_AFTER_BLINDNESS = Duration.ofSeconds(5);
    private static final Duration PENDING_POLL = Duration.ofMillis(100);

    private Planner() {}

    /** A plan for one workload, whose history already knows all that its observation shows (see {@link Bookkeeping#observed}). */
    public static WorkloadPlan plan(Situation situation) {
        ObservedWorkload seen = situation.seen();
        Optional<String> blind = whatCanNotBeSeen(seen);
        if (blind.isPresent()) {
            Draft draft = new Draft(situation);
            draft.waitFor(
                    Reason.CANNOT_OBSERVE,
                    "could not look: " + blind.get(),
                    situation.now().plus(LOOK_AGAIN_AFTER_BLINDNESS),
                    Step.Wait.Kind.RETRY);
            return draft.build();
        }
        Pause pause = situation.pause();
        if (pause != null && !pause.stopped()) {
            return paused(situation, pause);
        }
        List<ObservedInstance> processes = seen(seen.processes());
        Declaration declared = situation.declared();
        if (pause != null && declared != null) {
            return stopped(situation, pause, processes);
        }
        if (declared == null) {
            return withdrawn(situation, processes);
        }
        Execution execution = declared.workload().lifecycle().execution();
        Ruling ruling = Ruling.of(execution, situation);
        if (ruling.state() == null) {
            return undecided(situation, ruling);
        }
        if (ruling.state() == Execution.State.DISABLED) {
            return disabled(situation, ruling, processes);
        }
        return Work.isOneShot(declared.workload())
                ? new OneShotPursuit(situation, declared, processes, seen(seen.installations()), seen(seen.active()))
                        .plan()
                : new Pursuit(situation, declared, processes, seen(seen.installations()), seen(seen.active())).plan();
    }

    /**
     * Removes only what is known to have been wanted once. What is merely found on the machine may be somebody's whom a lost
     * database has forgotten: it goes on running until it is declared again or deleted by name.
     */
    private static WorkloadPlan withdrawn(Situation situation, List<ObservedInstance> processes) {
        Draft draft = new Draft(situation);
        boolean leftovers = !seen(situation.seen().installations()).isEmpty()
                || seen(situation.seen().active()).isPresent()
                || seen(situation.seen().residue());
        if (!leftovers && processes.isEmpty()) {
            return draft.build();
        }
        if (!situation.history().isOfSomethingDeclared()) {
            draft.waitFor(
                    Reason.UNCLAIMED,
                    "it is here, but nothing is remembered of it; apply its document again, or delete "
                            + situation.id(),
                    Instant.MAX,
                    Step.Wait.Kind.DECLARATION);
            return draft.build();
        }
        draft.because(Action.REMOVE, Reason.NO_LONGER_DECLARED, "no longer declared");
        if (!processes.isEmpty()) {
            Gates.awaitDependants(situation, draft);
        }
        for (ObservedInstance process : processes) {
            if (!waitIfPending(draft, situation, process)) {
                draft.stop(process.instance(), Step.Stop.Cause.REMOVED);
            }
        }
        draft.add(new Step.Remove(situation.id()));
        return draft.build();
    }

    /** Whatever there would be to do: it is not even forecast, because by the time of the resumption it may be something else. */
    private static WorkloadPlan paused(Situation situation, Pause pause) {
        Draft draft = new Draft(situation);
        draft.waitFor(Reason.PAUSED, pause.words(), Instant.MAX, Step.Wait.Kind.DECLARATION);
        return draft.build();
    }

    /** As little as for what is paused, once it does not run. What nobody declares any more is removed all the same. */
    private static WorkloadPlan stopped(Situation situation, Pause pause, List<ObservedInstance> processes) {
        Draft draft = new Draft(situation);
        for (ObservedInstance process : processes) {
            draft.because(Action.STOP, Reason.STOPPED, pause.words());
            if (!waitIfPending(draft, situation, process)) {
                draft.stop(process.instance(), Step.Stop.Cause.REQUESTED);
            }
        }
        draft.waitFor(Reason.STOPPED, pause.words(), Instant.MAX, Step.Wait.Kind.DECLARATION);
        return draft.build();
    }

    /** What runs runs on, and what does not is not started, until it is known whether it is to run. */
    private static WorkloadPlan undecided(Situation situation, Ruling ruling) {
        Draft draft = new Draft(situation);
        draft.waitFor(
                Reason.FACTS_UNKNOWN,
                "its rules have never been decided: " + ruling.unknown(),
                situation.now().plus(LOOK_AGAIN_AFTER_BLINDNESS),
                Step.Wait.Kind.RETRY);
        return draft.build();
    }

    private static WorkloadPlan disabled(Situation situation, Ruling ruling, List<ObservedInstance> processes) {
        Draft draft = new Draft(situation);
        draft.atRestBecause(Reason.DISABLED, ruling.words());
        for (ObservedInstance process : processes) {
            draft.because(Action.STOP, Reason.DISABLED, ruling.words());
            if (!waitIfPending(draft, situation, process)) {
                draft.stop(process.instance(), Step.Stop.Cause.DISABLED);
            }
        }
        return draft.build();
    }

    /** A process that has not said yet who it is can't be signalled; soon it will have, or be known never to. */
    static boolean waitIfPending(Draft draft, Situation situation, ObservedInstance process) {
        if (!(process.liveness() instanceof Liveness.Pending)) {
            return false;
        }
        draft.waitFor(
                Reason.START_NOT_FINISHED,
                "waiting for the launched process to report its identity",
                situation.now().plus(PENDING_POLL),
                Step.Wait.Kind.PROGRESS);
        return true;
    }

    private static Optional<String> whatCanNotBeSeen(ObservedWorkload seen) {
        for (Observation<?> look : List.of(seen.installations(), seen.active(), seen.processes(), seen.residue())) {
            if (look instanceof Observation.Unseen<?>(String why)) {
                return Optional.of(why);
            }
        }
        return Optional.empty();
    }

    static <T> T seen(Observation<T> look) {
        return switch (look) {
            case Observation.Seen<T>(T value) -> value;
            case Observation.Unseen<T>(String why) -> throw new IllegalStateException("planned although blind: " + why);
        };
    }
}
