package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.Change;
import io.homeostat.desired.store.Condition;
import io.homeostat.desired.store.Event;
import io.homeostat.desired.store.EventType;
import io.homeostat.desired.store.StateStore;
import io.homeostat.desired.store.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.reconcile.plan.Bookkeeping;
import io.homeostat.reconcile.plan.Conditions;
import io.homeostat.reconcile.plan.Outcome;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.StepLedger;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.InstantSource;
import java.util.Objects;

/**
 * One pass over one workload, the heart of the loop: look, write down what was learned, plan, do the first step, write down how
 * it ended. Keeps nothing between passes, so that it makes no difference whether the next one runs in this process or, after a
 * crash, in another.
 */
public final class WorkloadPass {
    private final DesiredSource desired;
    private final Observer observer;
    private final StepExecutor executor;
    private final StateStore store;
    private final InstantSource clock;
    private final LogTails logs;
    private final PassListener listener;

    public WorkloadPass(
            DesiredSource desired,
            Observer observer,
            StepExecutor executor,
            StateStore store,
            InstantSource clock,
            LogTails logs,
            PassListener listener) {
        this.desired = desired;
        this.observer = observer;
        this.executor = executor;
        this.store = store;
        this.clock = clock;
        this.logs = logs;
        this.listener = listener;
    }

    public Next run(WorkloadId id) {
        Bookkeeping.Learned learned = Bookkeeping.observed(look(id));
        WorkloadPlan plan = Planner.plan(learned.situation());
        Situation situation = remember(learned, plan);
        Next next = plan.next().<Next>map(step -> go(situation, plan, step)).orElseGet(() -> new Next.Settled(plan));
        listener.finished(id, next);
        return next;
    }

    private Situation look(WorkloadId id) {
        Declaration declared = desired.declaration(id).orElse(null);
        WorkloadHistory history = store.history(id);
        ObservedWorkload seen = observer.look(id, store.handles(id), Bookkeeping.checks(declared, history));
        ImmutableSet<String> archives = switch (observer.archives()) {
            case Observation.Seen<ImmutableSet<String>>(var keys) -> keys;
            // An archive that can't be seen is fetched again, or the fetch says what is wrong with the directory.
            case Observation.Unseen<ImmutableSet<String>>(String why) -> ImmutableSet.of();
        };
        return new Situation(declared, seen, archives, history, store.seed(), clock.instant());
    }

    private Situation remember(Bookkeeping.Learned learned, WorkloadPlan plan) {
        Situation situation = learned.situation();
        Change change = learned.change();
        ImmutableList<Condition> conditions = Conditions.of(situation, plan);
        WorkloadHistory history = situation.history();
        if (situation.declared() == null) {
            boolean gone =
                    plan.steps().isEmpty() && !store.history(situation.id()).equals(WorkloadHistory.NONE);
            commit(new Change(
                    change.workload(),
                    gone ? null : change.history(),
                    gone,
                    change.handles(),
                    change.ended(),
                    change.events()));
            return situation;
        }
        if (!conditions.equals(history.conditions())) {
            history = history.withConditions(conditions);
            change = new Change(change.workload(), history, false, change.handles(), change.ended(), change.events());
        }
        commit(change);
        return situation.withHistory(history);
    }

    private Next go(Situation situation, WorkloadPlan plan, Step step) {
        if (step instanceof Step.Wait wait) {
            return new Next.Later(plan, wait);
        }
        listener.starting(step);
        Outcome outcome = executor.execute(step, situation.seen());
        Situation after = new Situation(
                situation.declared(),
                situation.seen(),
                situation.archives(),
                situation.history(),
                situation.seed(),
                clock.instant());
        commit(StepLedger.stepped(after, plan, step, outcome));
        return new Next.Again(plan, step, outcome);
    }

    private void commit(Change change) {
        boolean nothing = change.history() == null
                && !change.dropHistory()
                && change.handles().isEmpty()
                && change.ended().isEmpty()
                && change.events().isEmpty();
        if (!nothing) {
            store.commit(withLogTails(change));
        }
    }

    private Change withLogTails(Change change) {
        ImmutableList<Event> events = change.events().stream()
                .map(event -> tellsOfAnEnd(event.type()) ? withLogTail(event) : event)
                .collect(ImmutableList.toImmutableList());
        return new Change(
                change.workload(), change.history(), change.dropHistory(), change.handles(), change.ended(), events);
    }

    private Event withLogTail(Event event) {
        String lines = logs.lastLines(Objects.requireNonNull(event.workload()));
        return lines.isEmpty()
                ? event
                : new Event(
                        event.time(), event.workload(), event.revision(), event.type(), event.message() + "\n" + lines);
    }

    private static boolean tellsOfAnEnd(EventType type) {
        return type == EventType.PLUGIN_CRASHED
                || type == EventType.PLUGIN_START_FAILED
                || type == EventType.AGENT_ROLLED_BACK;
    }
}
