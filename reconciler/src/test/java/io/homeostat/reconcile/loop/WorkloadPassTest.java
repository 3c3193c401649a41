package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.MemoryStore;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One pass, while others change what it goes by. Its one step is a download that takes until it is released or interrupted. */
@Timeout(60)
class WorkloadPassTest {
    private static final WorkloadId ID = WorkloadId.plugin("a");

    private final Declarations desired = new Declarations();
    private final MemoryStore store = new MemoryStore();
    private final Semaphore downloading = new Semaphore(0);
    private final AtomicInteger interrupted = new AtomicInteger();
    private final CountDownLatch fetched = new CountDownLatch(1);
    private final CountDownLatch release = new CountDownLatch(1);
    private final WorkloadPass pass = new WorkloadPass(
            desired, new BareMachine(), this::execute, store, InstantSource.system(), id -> "", new Listener());
    private final List<WorkloadPass> passes = new ArrayList<>();
    private volatile Runnable duringTheLook = () -> {};
    private volatile boolean blind;
    private volatile Checks checks = Checks.NONE;
    private volatile @Nullable RuntimeException defect;

    WorkloadPassTest() {
        desired.declare(ID, "A", ImmutableList.of(), null);
    }

    @AfterEach
    void close() {
        pass.close();
    }

    @Test
    void whatWasAmendedDuringAFetchIsNotOverwrittenByItsOutcome() throws Exception {
        assertInstanceOf(PassResult.UnderWay.class, run());
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));

        pass.amend(
                ImmutableList.of(),
                () -> commit(store.history(ID).withRun(store.history(ID).run().withRestart())));
        release.countDown();
        assertTrue(fetched.await(30, TimeUnit.SECONDS));
        assertInstanceOf(PassResult.Again.class, run());

        assertEquals(1, store.history(ID).run().restarts());
        assertEquals(1, store.history(ID).attempts().install().count());
    }

    @Test
    void passesGoOnWhileTheSameIsFetched() throws Exception {
        run();
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));

        assertInstanceOf(PassResult.UnderWay.class, run());

        assertEquals(0, downloading.availablePermits(), "begun once");
        assertEquals(0, interrupted.get());
    }

    @Test
    void whatIsNotWantedAnyMoreIsBrokenOffAndNothingCountsAgainstTheWorkload() throws Exception {
        run();
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));

        desired.declare(ID, "B", ImmutableList.of(), null);

        assertInstanceOf(PassResult.UnderWay.class, run());
        assertEquals(1, interrupted.get());
        assertEquals(0, store.history(ID).attempts().install().count());
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS), "the other one is fetched");
    }

    @Test
    void whatFailsDuringALookIsCountedBeforeAnythingElseIsDone() throws Exception {
        run();
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));
        duringTheLook = () -> {
            release.countDown();
            awaitFetched();
            pass.amend(ImmutableList.of(), () -> store.pause(ID, "a test", Instant.EPOCH));
        };

        assertInstanceOf(PassResult.Again.class, run());

        assertEquals(1, store.history(ID).attempts().install().count());
        assertEquals(0, interrupted.get());
    }

    @Test
    void whatHasFailedBeforeSomebodyWantsItTriedAgainIsNoAnswerToThat() throws Exception {
        run();
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));
        release.countDown();
        assertTrue(fetched.await(30, TimeUnit.SECONDS));

        pass.amend(ImmutableList.of(ID), () -> {});
        run();

        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS), "it is tried again in the same pass");
    }

    @Test
    void aLookThatSeesNothingBreaksNothingOff() throws Exception {
        run();
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));
        blind = true;

        assertEquals(Reason.CANNOT_OBSERVE, run().plan().reason());

        assertEquals(0, interrupted.get());
    }

    @Test
    void whatFailedForAnotherDeclarationCountsForNothing() throws Exception {
        run();
        release.countDown();
        assertTrue(fetched.await(30, TimeUnit.SECONDS));

        desired.declare(ID, "B", ImmutableList.of(), null);
        run();

        assertNotEquals("no archive A", store.history(ID).attempts().install().error());
    }

    @Test
    void nothingIsFetchedForWhatIsPaused() throws Exception {
        run();
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));
        pass.amend(ImmutableList.of(), () -> store.pause(ID, "a test", Instant.EPOCH));

        assertEquals(Reason.PAUSED, run().plan().reason());

        assertEquals(1, interrupted.get());
    }

    @Test
    void closingBreaksOffWhatIsFetched() throws Exception {
        run();
        assertTrue(downloading.tryAcquire(30, TimeUnit.SECONDS));

        pass.close();

        assertEquals(1, interrupted.get());
    }

    @Test
    void aDefectOfAFetchIsOneOfThePass() throws Exception {
        defect = new IllegalStateException("a defect");
        run();
        release.countDown();
        assertTrue(fetched.await(30, TimeUnit.SECONDS));

        assertEquals(
                "a defect", assertThrows(IllegalStateException.class, this::run).getMessage());
        defect = null;
        run();
        assertTrue(downloading.tryAcquire(2, 30, TimeUnit.SECONDS), "it is tried again");
    }

    @Test
    void whatWasDeclaredOtherwiseDuringTheLookIsLookedAtAgainAndNothingIsStored() throws Exception {
        duringTheLook = () -> desired.withdraw(ID);

        PassResult next = run();

        PassResult.Later later = assertInstanceOf(PassResult.Later.class, next);
        assertEquals(Step.Wait.Kind.PROGRESS, later.until().kind());
        assertEquals(WorkloadHistory.NONE, store.history(ID));
        assertEquals(0, downloading.availablePermits());
    }

    @Test
    void aLookThatIsInterruptedIsNoNewsOfTheWorkload() {
        blind = true;
        duringTheLook = () -> Thread.currentThread().interrupt();

        PassResult next = pass.run(ID);

        assertTrue(Thread.interrupted());
        assertInstanceOf(PassResult.Later.class, next);
        assertEquals(WorkloadHistory.NONE, store.history(ID));
    }

    @Test
    void aPauseThatComesDuringTheLookHoldsForThisPassToo() throws Exception {
        duringTheLook = () -> pass.amend(ImmutableList.of(), () -> store.pause(ID, "a test", Instant.EPOCH));

        PassResult next = run();

        assertEquals(Reason.PAUSED, next.plan().reason());
        assertEquals(0, downloading.availablePermits());
    }

    @Test
    void aStepThatIsDueAgainAsSoonAsItIsDoneIsBackedOffFrom() {
        AtomicInteger done = new AtomicInteger();
        AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
        passes.add(new WorkloadPass(
                desired,
                new BareMachine(),
                (step, seen) -> {
                    done.incrementAndGet();
                    return Outcome.done();
                },
                store,
                now::get,
                id -> "",
                new Listener(),
                Runnable::run));
        WorkloadPass undone = passes.getFirst();

        for (int i = 0; i < RepeatedSteps.AT_ONCE; i++) {
            assertInstanceOf(PassResult.Again.class, undone.run(ID));
        }
        for (int round = 0; round < 10; round++) {
            PassResult.Later later = assertInstanceOf(PassResult.Later.class, undone.run(ID));
            assertEquals(Step.Wait.Kind.RETRY, later.until().kind());
            assertEquals(RepeatedSteps.AT_ONCE + round, done.get());
            Duration pause = Duration.between(now.get(), later.until().until());
            assertEquals(Math.min(1 << round, 300), pause.toSeconds());
            now.set(later.until().until());
            assertInstanceOf(PassResult.Again.class, undone.run(ID));
        }
        undone.close();
    }

    @Test
    void eventsOfPassesThatOverlapAreStoredInTheOrderOfTheirTimes() {
        WorkloadId other = WorkloadId.plugin("b");
        desired.declare(other, "A", ImmutableList.of(), null);
        AtomicInteger seconds = new AtomicInteger();
        AtomicBoolean overtaken = new AtomicBoolean();
        DesiredSource overtaking = new DesiredSource() {
            @Override
            public DesiredState now() {
                return desired.now();
            }

            /** Asked after the look. */
            @Override
            public Optional<Declaration> declaration(WorkloadId id) {
                if (id.equals(ID) && overtaken.compareAndSet(false, true)) {
                    passes.getFirst().run(other);
                }
                return desired.declaration(id);
            }
        };
        passes.add(new WorkloadPass(
                overtaking,
                new BareMachine(),
                this::execute,
                store,
                () -> Instant.EPOCH.plusSeconds(seconds.incrementAndGet()),
                id -> "",
                new Listener()));

        passes.getFirst().run(ID);
        passes.getFirst().close();

        List<Event> events =
                store.events(0, 10).stream().map(StoredEvent::event).toList();
        assertEquals(List.of(other, ID), events.stream().map(Event::workload).toList());
        assertEquals(
                events,
                events.stream().sorted(Comparator.comparing(Event::time)).toList());
    }

    @Test
    void whoIsDeclaredMayReturnAndForWhatIsDeclaredOrPausedEverybody() throws Exception {
        WorkloadId other = WorkloadId.plugin("b");
        WorkloadId nobody = WorkloadId.plugin("c");
        desired.declare(other, "B", ImmutableList.of(), null);
        run();
        assertTrue(checks.mayReturn(nobody), "declared");

        desired.withdraw(ID);
        store.pause(ID, "a test", Instant.EPOCH);
        run();
        assertTrue(checks.mayReturn(nobody), "paused");

        store.stop(ID, "a test", Instant.EPOCH);
        run();
        assertFalse(checks.mayReturn(nobody));
        assertTrue(checks.mayReturn(other));
    }

    private PassResult run() {
        return pass.run(ID, others -> {}, fetched::countDown);
    }

    private void awaitFetched() {
        try {
            assertTrue(fetched.await(30, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void commit(WorkloadHistory history) {
        store.commit(new Change(ID, history, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
    }

    private Outcome execute(Step step, ObservedWorkload seen) {
        downloading.release();
        try {
            release.await();
        } catch (InterruptedException e) {
            interrupted.incrementAndGet();
            Thread.currentThread().interrupt();
            return new Outcome.Interrupted();
        }
        if (defect != null) {
            throw defect;
        }
        return new Outcome.Failed(
                FailureCause.of(FailureCause.Kind.FILE_MISSING),
                "no archive " + ((Step.Download) step).source().sha256(),
                false);
    }

    private final class BareMachine implements Observer {
        @Override
        public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
            WorkloadPassTest.this.checks = checks;
            duringTheLook.run();
            ObservedWorkload absent = ObservedWorkload.absent(id);
            return blind
                    ? new ObservedWorkload(
                            id,
                            absent.installations(),
                            absent.active(),
                            Observation.unseen("a test"),
                            absent.limits(),
                            absent.residue())
                    : absent;
        }

        @Override
        public boolean isGone(Instance instance) {
            return false;
        }

        @Override
        public Observation<ImmutableSet<String>> archives() {
            return Observation.seen(ImmutableSet.of());
        }

        @Override
        public ImmutableMap<String, FileContent> files(@Nullable ProgramUser user, ImmutableSet<String> paths) {
            return ImmutableMap.of();
        }

        @Override
        public HostFacts host(ImmutableSet<HostFact> asked) {
            return HostFacts.of("boot", "instance");
        }

        @Override
        public Observation<ImmutableSet<WorkloadId>> traces() {
            return Observation.seen(ImmutableSet.of());
        }
    }

    private static final class Listener implements PassListener {}
}
