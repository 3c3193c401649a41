package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
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
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One pass, while others change what it goes by. Its one step is a download that takes until it is released or interrupted. */
@Timeout(60)
class WorkloadPassTest {
    private static final WorkloadId ID = WorkloadId.plugin("a");

    private final Declarations desired = new Declarations();
    private final MemoryStore store = new MemoryStore();
    private final CountDownLatch downloading = new CountDownLatch(1);
    private final CountDownLatch release = new CountDownLatch(1);
    private final WorkloadPass pass = new WorkloadPass(
            desired, new BareMachine(), this::execute, store, InstantSource.system(), id -> "", new Listener());
    private volatile Runnable duringTheLook = () -> {};
    private volatile Runnable beforeTheStep = () -> {};
    private final ExecutorService worker = Executors.newSingleThreadExecutor();

    WorkloadPassTest() {
        desired.declare(ID, "A", ImmutableList.of(), null);
    }

    @AfterEach
    void close() {
        worker.shutdownNow();
    }

    @Test
    void whatWasAmendedDuringAStepIsNotOverwrittenByItsOutcome() throws Exception {
        Future<PassResult> running = worker.submit(() -> pass.run(ID));
        assertTrue(downloading.await(30, TimeUnit.SECONDS));

        pass.amend(
                () -> commit(store.history(ID).withRun(store.history(ID).run().withRestart())));
        release.countDown();
        running.get();

        assertEquals(1, store.history(ID).run().restarts());
        assertEquals(1, store.history(ID).attempts().install().count());
    }

    @Test
    void abandonedFetchingEndsTheStepAndNothingCountsAgainstTheWorkload() throws Exception {
        Future<PassResult> running = worker.submit(() -> pass.run(ID));
        assertTrue(downloading.await(30, TimeUnit.SECONDS));

        pass.abandonFetching(ID);

        PassResult.Again again = assertInstanceOf(PassResult.Again.class, running.get());
        assertInstanceOf(Outcome.Interrupted.class, again.outcome());
        assertEquals(0, store.history(ID).attempts().install().count());
        assertFalse(worker.submit(() -> Thread.currentThread().isInterrupted()).get());
    }

    @Test
    void aDeclarationThatChangesBetweenThePlanAndTheFetchingBreaksItOffToo() throws Exception {
        beforeTheStep = () -> {
            desired.declare(ID, "B", ImmutableList.of(), null);
            pass.abandonFetching(ID);
        };

        PassResult next = worker.submit(() -> pass.run(ID)).get(30, TimeUnit.SECONDS);

        assertInstanceOf(
                Outcome.Interrupted.class,
                assertInstanceOf(PassResult.Again.class, next).outcome());
        assertEquals(0, store.history(ID).attempts().install().count());
    }

    @Test
    void whatEndsBetweenTheLookAndTheFetchingBreaksItOffToo() throws Exception {
        beforeTheStep = () -> pass.abandonFetching(ID);

        PassResult next = worker.submit(() -> pass.run(ID)).get(30, TimeUnit.SECONDS);

        assertInstanceOf(
                Outcome.Interrupted.class,
                assertInstanceOf(PassResult.Again.class, next).outcome());
        assertFalse(worker.submit(() -> Thread.currentThread().isInterrupted()).get());
    }

    @Test
    void whatWasDeclaredOtherwiseDuringTheLookIsLookedAtAgainAndNothingIsStored() throws Exception {
        duringTheLook = () -> desired.withdraw(ID);

        PassResult next = worker.submit(() -> pass.run(ID)).get(30, TimeUnit.SECONDS);

        PassResult.Later later = assertInstanceOf(PassResult.Later.class, next);
        assertEquals(Step.Wait.Kind.PROGRESS, later.until().kind());
        assertEquals(WorkloadHistory.NONE, store.history(ID));
        assertEquals(1, downloading.getCount());
    }

    @Test
    void aPauseThatComesDuringTheLookHoldsForThisPassToo() throws Exception {
        duringTheLook = () -> pass.amend(() -> store.pause(ID, "a test", Instant.EPOCH));

        PassResult next = worker.submit(() -> pass.run(ID)).get(30, TimeUnit.SECONDS);

        assertEquals(Reason.PAUSED, next.plan().reason());
        assertEquals(1, downloading.getCount());
    }

    @Test
    void whereNothingIsFetchedThereIsNothingToAbandon() throws Exception {
        release.countDown();
        worker.submit(() -> pass.run(ID)).get();

        pass.abandonFetching(ID);

        assertFalse(worker.submit(() -> Thread.currentThread().isInterrupted()).get());
    }

    private void commit(WorkloadHistory history) {
        store.commit(new Change(ID, history, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
    }

    private Outcome execute(Step step, ObservedWorkload seen) {
        downloading.countDown();
        try {
            release.await();
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no such archive", false);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Outcome.Interrupted();
        }
    }

    private final class BareMachine implements Observer {
        @Override
        public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
            duringTheLook.run();
            return ObservedWorkload.absent(id);
        }

        @Override
        public Observation<ImmutableSet<String>> archives() {
            return Observation.seen(ImmutableSet.of());
        }

        @Override
        public ImmutableMap<String, FileContent> files(ImmutableSet<String> paths) {
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

    private final class Listener implements PassListener {
        @Override
        public void starting(Step step) {
            beforeTheStep.run();
        }

        @Override
        public void finished(WorkloadId id, PassResult next) {}

        @Override
        public void broken(WorkloadId id, Throwable problem) {}
    }
}
