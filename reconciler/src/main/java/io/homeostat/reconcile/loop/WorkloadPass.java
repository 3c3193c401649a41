package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.VirtualThreads;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer;
import io.homeostat.reconcile.logs.LogTails;
import io.homeostat.reconcile.loop.Fetches.Fetch;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Remembered;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Conditions;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.record.OutcomeRecorder;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One pass over one workload, the heart of the loop: look, store what was learned, plan, execute the first step, store its outcome.
 * Keeps nothing between passes but what is being fetched, which may take long and can be resumed, and how often steps were repeated, so
 * the next one may as well run in another process, after a crash.
 */
public final class WorkloadPass implements AutoCloseable {
    private static final Duration LOOK_AGAIN_FOR_A_PLACE = Duration.ofSeconds(1);

    private final DesiredSource desired;
    private final Observer observer;
    private final StepExecutor executor;
    private final StateStore store;
    private final InstantSource clock;
    private final LogTails logs;
    private final Journal journal;
    private final PassListener listener;
    private final DisruptionBudget disruptions;
    private final Situations situations;
    /** Shared by passes, exclusive for {@link #amend}. Fair, so that passes can't starve it. */
    private final ReadWriteLock notes = new ReentrantReadWriteLock(true);

    private final Fetches fetches;
    private final RepeatedSteps repeated = new RepeatedSteps();

    public WorkloadPass(
            DesiredSource desired,
            Observer observer,
            StepExecutor executor,
            StateStore store,
            InstantSource clock,
            LogTails logs,
            PassListener listener) {
        this(
                desired,
                observer,
                executor,
                store,
                clock,
                logs,
                listener,
                Executors.newThreadPerTaskExecutor(VirtualThreads.factory("fetch-")));
    }

    /** @param fetching where archives are fetched; {@code Runnable::run} makes that part of the pass, as a simulation has to have it */
    public WorkloadPass(
            DesiredSource desired,
            Observer observer,
            StepExecutor executor,
            StateStore store,
            InstantSource clock,
            LogTails logs,
            PassListener listener,
            Executor fetching) {
        this.desired = desired;
        this.observer = observer;
        this.executor = executor;
        this.store = store;
        this.clock = clock;
        this.logs = logs;
        this.journal = new Journal(store, logs, clock);
        this.listener = listener;
        this.disruptions = new DisruptionBudget(desired, store, observer);
        this.fetches = new Fetches(executor, fetching);
        this.situations = new Situations(observer, id -> Remembered.by(store, id), store::seed, clock);
    }

    public PassResult run(WorkloadId id) {
        return run(id, others -> {}, () -> {});
    }

    /**
     * @param concerned hears, before the pass is over, which workloads its changes may concern
     * @param fetched called when a fetch is over that this pass has begun, and another pass is due
     */
    PassResult run(WorkloadId id, Consumer<ImmutableSet<WorkloadId>> concerned, Runnable fetched) {
        Optional<PassResult> ended = ended(id);
        if (ended.isPresent()) {
            listener.finished(id, ended.get());
            return ended.get();
        }
        Situation seen = look(id);
        if (Thread.currentThread().isInterrupted() && seen.seen().instances() instanceof Observation.Unseen) {
            // Whoever interrupts ends all passes. That it could not be looked at for that is no news of the workload.
            return new PassResult.Later(
                    Planner.plan(seen), new Step.Wait(id, seen.now(), Step.Wait.Kind.PROGRESS, "interrupted"));
        }
        Planned planned = holding(
                notes.readLock(),
                () -> isDeclaredStill(seen)
                        ? plan(seen.withHistory(store.history(id)).withPause(pause(id)))
                        : null);
        if (planned == null) {
            return lookAgain(seen);
        }
        disruptions.looked(
                id,
                planned.plan().reason() == Reason.CANNOT_OBSERVE,
                planned.situation().now());
        if (mayDestroyEnded(planned.situation())) {
            executor.destroyEnded(id);
        }
        WorkloadPlan plan = planned.plan();
        listener.looked(planned.situation(), plan);
        awaitParts(planned.situation(), plan);
        // A look may take seconds, and what ended during it comes first: the plan may see what it did, and would not
        // count it.
        PassResult next = ended(id)
                .orElseGet(() -> plan.next()
                        .map(step -> go(planned.situation(), plan, step, fetched))
                        .orElseGet(() -> settled(id, plan)));
        ImmutableSet<WorkloadId> others = ImmutableSet.<WorkloadId>builder()
                .addAll(disruptions.concernedBy(id))
                .addAll(
                        next instanceof PassResult.Again again && again.step() instanceof Step.Reboot reboot
                                ? reboot.hosts()
                                : ImmutableList.of())
                .addAll(lostWith(seen))
                .build();
        if (!others.isEmpty()) {
            listener.concerned(others);
            concerned.accept(others);
        }
        listener.finished(id, next);
        return next;
    }

    /** What it was part of, when it has ended with the machine of that: it can't have looked since. Its end is noted, so once only. */
    private static ImmutableSet<WorkloadId> lostWith(Situation seen) {
        boolean isLost =
                seen.seen().instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances)
                        && instances.stream()
                                .filter(ObservedInstance::remembered)
                                .anyMatch(one -> one.liveness() instanceof Liveness.Ended(Exit exit)
                                        && exit.reason().isOfGuest());
        return Stream.ofNullable(seen.declared())
                .filter(_ -> isLost)
                .flatMap(declared -> Traits.of(declared.workload()).parent().stream())
                .collect(ImmutableSet.toImmutableSet());
    }

    /**
     * Has what is part of a workload end when that waits for it. The workload takes its place among those that may be down before any of
     * these is stopped, and is on its way down until it is stopped itself.
     */
    private void awaitParts(Situation situation, WorkloadPlan plan) {
        Step next = plan.next().orElse(null);
        boolean waits = next instanceof Step.Wait wait && !wait.parts().isEmpty();
        if (waits) {
            boolean mayEnd = plan.steps().stream()
                    .filter(Step.Stop.class::isInstance)
                    .findFirst()
                    .filter(stop -> mayDisturb(stop, situation))
                    .isPresent();
            disruptions.ends(situation.id(), mayEnd);
        } else if (!(next instanceof Step.Stop)) {
            disruptions.ends(situation.id(), false);
        }
    }

    /**
     * What was declared otherwise after the look is neither planned for nor stored, or what its removal has just made forgotten would be
     * remembered again. Not in the same pass: who declared it hears of passes only that begin after that.
     */
    private PassResult lookAgain(Situation seen) {
        PassResult next = new PassResult.Later(
                Planner.plan(seen),
                new Step.Wait(seen.id(), seen.now(), Step.Wait.Kind.PROGRESS, "something else was declared"));
        listener.finished(seen.id(), next);
        return next;
    }

    /** Whoever has paused a workload may want to see what a crash has left; whoever has stopped it does not. */
    private boolean mayDestroyEnded(Situation situation) {
        WorkloadId id = situation.id();
        Pause pause = situation.pause();
        return KindTraits.of(id.kind()).leavesRemains()
                && (pause == null || pause.stopped())
                && store.instances(id).stream().anyMatch(Instance::isOver);
    }

    /**
     * Changes what is remembered from outside of passes: none of them then writes back what it read before.
     *
     * @param change must not block: until it returns no pass can store anything. Returns what somebody wants tried now: a fetch of that
     *     which began before and fails does not count, and is begun again
     */
    public void amend(Supplier<? extends ImmutableCollection<WorkloadId>> change) {
        holding(notes.writeLock(), () -> {
            fetches.retried(change.get());
            return true;
        });
    }

    /** As {@link #amend(Supplier)}, of workloads that are known before. */
    public void amend(ImmutableCollection<WorkloadId> ids, Runnable change) {
        amend(() -> {
            change.run();
            return ids;
        });
    }

    /** A situation that has been stored, and the plan for it. */
    private record Planned(Situation situation, WorkloadPlan plan) {}

    private Planned plan(Situation seen) {
        ObservationRecorder.Learned learned = ObservationRecorder.observed(seen, logs.lastWords(seen));
        WorkloadPlan plan = Planner.plan(learned.situation());
        return new Planned(remember(ObservationRecorder.planned(learned, plan), plan), plan);
    }

    /** From reading a history until writing the next one, nobody else may write it. Never held while waiting. */
    private static <T extends @Nullable Object> T holding(Lock lock, Supplier<T> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }

    private Situation look(WorkloadId id) {
        ImmutableSet<String> archives = switch (observer.archives()) {
            case Observation.Seen<ImmutableSet<String>>(var keys) -> keys;
            // An archive that can't be seen is fetched again; the fetch then says what is wrong with the directory.
            case Observation.Unseen<ImmutableSet<String>>(String why) -> ImmutableSet.of();
        };
        executor.clearSight(id);
        // One state for all that is asked of it: it may be replaced during the look.
        DesiredState wanted = desired.now();
        return situations.look(
                id, wanted, (host, own) -> disruptions.of(id, wanted, host, own), archives, Situations.Depth.HEALTH);
    }

    private @Nullable Pause pause(WorkloadId id) {
        return store.pause(id).orElse(null);
    }

    private Situation remember(ObservationRecorder.Learned learned, WorkloadPlan plan) {
        Situation situation = learned.situation();
        Change change = learned.change();
        ImmutableList<Condition> conditions = Conditions.of(situation, plan);
        WorkloadHistory history = situation.history();
        if (situation.declared() == null) {
            boolean gone =
                    plan.steps().isEmpty() && !store.history(situation.id()).equals(WorkloadHistory.NONE);
            journal.write(new Change(
                    change.workload(),
                    gone ? null : change.history(),
                    gone,
                    change.instances(),
                    change.ended(),
                    ImmutableList.<Event>builder()
                            .addAll(change.events())
                            .addAll(gone ? ObservationRecorder.gone(situation) : ImmutableList.of())
                            .build()));
            return situation;
        }
        if (!conditions.equals(history.conditions())) {
            WorkloadHistory next = plan.steps().isEmpty() ? history.settled() : history;
            history = next.withConditions(conditions);
            ImmutableList<Event> events = ImmutableList.<Event>builder()
                    .addAll(change.events())
                    .addAll(ObservationRecorder.drift(situation, plan).stream().iterator())
                    .addAll(ObservationRecorder.givenUp(situation, plan).stream()
                            .iterator())
                    .build();
            change = new Change(change.workload(), history, false, change.instances(), change.ended(), events);
        }
        journal.write(change);
        return situation.withHistory(history);
    }

    private PassResult settled(WorkloadId id, WorkloadPlan plan) {
        fetches.of(id).ifPresent(fetches::end);
        repeated.atRest(id);
        return new PassResult.Settled(plan);
    }

    private PassResult go(Situation situation, WorkloadPlan plan, Step step, Runnable fetched) {
        Fetch fetch = fetches.of(situation.id()).orElse(null);
        if (fetch != null && fetch.step().equals(step)) {
            return new PassResult.UnderWay(plan, step);
        }
        if (fetch != null && !goesOn(fetch, plan, step)) {
            fetches.end(fetch);
        }
        if (step instanceof Step.Wait wait) {
            repeated.atRest(situation.id());
            return new PassResult.Later(plan, wait);
        }
        Optional<Step.Wait> pause = repeated.pause(plan, step, clock.instant());
        if (pause.isPresent()) {
            return new PassResult.Later(plan, pause.get());
        }
        if (!mayDisturb(step, situation)) {
            // Another workload has just taken the last place, or something else was declared: the next look tells.
            Instant soon = situation.now().plus(LOOK_AGAIN_FOR_A_PLACE);
            return new PassResult.Later(
                    plan, new Step.Wait(situation.id(), soon, Step.Wait.Kind.PROGRESS, "others are being changed"));
        }
        listener.starting(step);
        if (step instanceof Step.Stop stop) {
            disruptions.stopping(situation.id());
            noteStop(situation, stop.instance(), OutcomeRecorder.meaning(situation, plan, stop));
        }
        if (Fetches.isFetch(step)) {
            Fetch begun = fetches.begin(situation, plan, step, fetched);
            return begun.isOver() ? stepped(begun) : new PassResult.UnderWay(plan, step);
        }
        Outcome outcome =
                step instanceof Step.Reboot reboot ? boot(reboot.hosts()) : executor.execute(step, situation.seen());
        return stepped(situation, plan, step, outcome);
    }

    /** What a machine runs in belongs to other passes: they are told, as by who asks for a restart. */
    private Outcome boot(ImmutableList<WorkloadId> hosts) {
        amend(hosts, () -> store.launchAgain(hosts));
        return Outcome.done();
    }

    private boolean goesOn(Fetch fetch, WorkloadPlan plan, Step step) {
        return isDeclaredStill(fetch.situation())
                && (Fetches.goesOnBeside(step, fetch.step()) || plan.reason() == Reason.CANNOT_OBSERVE);
    }

    /** Of a fetch that is over; empty when there is none, or nothing follows from how it ended. */
    private Optional<PassResult> ended(WorkloadId id) {
        Optional<Fetch> over = fetches.of(id).filter(Fetch::isOver);
        if (over.isEmpty()) {
            return Optional.empty();
        }
        Fetch fetch = over.get();
        if (isDeclaredStill(fetch.situation()) && !fetch.failedBeforeRetry()) {
            return Optional.of(stepped(fetch));
        }
        fetches.end(fetch);
        return Optional.empty();
    }

    private PassResult stepped(Fetch fetch) {
        fetches.forget(fetch);
        return stepped(fetch.situation(), fetch.plan(), fetch.step(), fetch.outcome());
    }

    private PassResult stepped(Situation situation, WorkloadPlan plan, Step step, Outcome outcome) {
        repeated.done(step, clock.instant());
        return holding(notes.readLock(), () -> {
            Situation after =
                    situation.withHistory(store.history(situation.id())).at(clock.instant());
            journal.write(OutcomeRecorder.stepped(after, plan, step, outcome));
            return new PassResult.Again(plan, step, outcome);
        });
    }

    /** Before it is asked to end, so that its end, if we die meanwhile, is taken neither for a crash nor for a completion. */
    private void noteStop(Situation situation, Instance instance, RunRecord.Stop.Meaning meaning) {
        boolean runs = situation.instances().stream()
                .anyMatch(one -> one.instance().equals(instance) && one.liveness() instanceof Liveness.Running);
        if (!runs) {
            return;
        }
        holding(notes.readLock(), () -> {
            WorkloadHistory history = store.history(situation.id());
            WorkloadHistory next =
                    history.withRun(history.run().withStop(new RunRecord.Stop(instance.launchId(), meaning)));
            if (!next.equals(history)) {
                store.commit(Change.ofHistory(situation.id(), next));
            }
            return true;
        });
    }

    /** To stop a healthy workload for a change takes one of the places of its {@code maxDisruption}, if it has one. */
    private boolean mayDisturb(Step step, Situation situation) {
        return situation
                .disruptionBy(step)
                // Places are counted by what is declared now, and nothing is stopped for an older declaration.
                .map(disruption -> isStillWanted(situation)
                        && disruptions.takePlace(situation.id(), situation.host(), disruption.count()))
                .orElse(true);
    }

    private boolean isStillWanted(Situation situation) {
        return isDeclaredStill(situation) && Objects.equals(pause(situation.id()), situation.pause());
    }

    private boolean isDeclaredStill(Situation situation) {
        return Objects.equals(desired.declaration(situation.id()).orElse(null), situation.declared());
    }

    /** Breaks off what is being fetched; the next program to do so resumes it. */
    @Override
    public void close() {
        fetches.close();
    }

    /**
     * Stores what passes learn. Events about the end of a process get the last lines of its log, and all of them the time at which they
     * are stored: passes of several workloads overlap, and events are to be in the order of their times.
     */
    private static final class Journal {
        private final StateStore store;
        private final LogTails logs;
        private final InstantSource clock;

        Journal(StateStore store, LogTails logs, InstantSource clock) {
            this.store = store;
            this.logs = logs;
            this.clock = clock;
        }

        /** Stores a change in one transaction, unless it is empty. */
        void write(Change change) {
            if (change.isEmpty()) {
                return;
            }
            ImmutableList<Event> told = change.events().stream()
                    .map(event -> tellsOfAnEnd(event.type(), change) ? withLogTail(event) : event)
                    .collect(ImmutableList.toImmutableList());
            store.commit(change.withEvents(told), clock);
        }

        private Event withLogTail(Event event) {
            String lines = logs.lastLines(Objects.requireNonNull(event.workload()));
            return lines.isEmpty() ? event : event.withMessage(event.message() + "\n" + lines);
        }

        private static boolean tellsOfAnEnd(EventType type, Change change) {
            return type == EventType.PLUGIN_CRASHED
                    || type == EventType.PLUGIN_START_FAILED
                    || (type == EventType.PLUGIN_INSTALL_FAILED && isOfALaunch(change))
                    || type == EventType.PLUGIN_EXECUTION_FAILED
                    || (type == EventType.AGENT_ROLLED_BACK && !isByRequest(change.history()))
                    || type == EventType.AGENT_GIVEN_UP;
        }

        /** What was launched in vain has logged why, what could not be fetched has logged nothing. */
        private static boolean isOfALaunch(Change change) {
            WorkloadHistory after = change.history();
            if (after == null
                    || after.attempts().install().count() > 0
                    || after.attempts().restore().count() > 0) {
                return false;
            }
            return after.attempts().start().count() > 0
                    || !change.ended().isEmpty()
                    || change.events().stream().anyMatch(event -> event.type() == EventType.AGENT_ROLLED_BACK);
        }

        private static boolean isByRequest(@Nullable WorkloadHistory history) {
            FailedRevision undone = history == null ? null : history.failed();
            return undone != null && undone.byRequest();
        }
    }
}
