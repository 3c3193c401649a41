package io.homeostat.reconcile.loop;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.MemoryStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The loop with threads, on a machine on which every archive is slow, broken or impossible as the test says. */
@Timeout(60)
class ReconcilerTest {
    private static final WorkloadId SLOW = WorkloadId.plugin("slow");
    private static final WorkloadId QUICK = WorkloadId.plugin("quick");

    private static final ImmutableSet<WorkloadId> ALL = ImmutableSet.of(SLOW, QUICK);

    private final Declarations desired = new Declarations();
    private final ConcurrentMap<WorkloadId, AtomicInteger> looks = new ConcurrentHashMap<>();
    private final List<String> events = new CopyOnWriteArrayList<>();
    private final CountDownLatch release = new CountDownLatch(1);
    private final Convergence convergence =
            new Convergence(List.of(SLOW, QUICK), new Recorder(), Ticker.systemTicker());
    private volatile Runnable onLook = () -> {};
    private final Reconciler reconciler = new Reconciler(
            new WorkloadPass(
                    desired,
                    new BareMachine(),
                    this::execute,
                    new MemoryStore(),
                    InstantSource.system(),
                    id -> "",
                    convergence,
                    Runnable::run),
            ALL::contains,
            convergence,
            Reconciler.untilSettled(InstantSource.system()),
            () -> {});

    ReconcilerTest() {
        desired.declare(SLOW, "A", ImmutableList.of(), null);
        desired.declare(QUICK, "A", ImmutableList.of(), null);
    }

    @AfterEach
    void close() {
        release.countDown();
        reconciler.close();
    }

    private Outcome execute(Step step, ObservedWorkload seen) {
        if (step.workload().equals(SLOW)) {
            try {
                release.await();
            } catch (InterruptedException e) {
                events.add("interrupted");
                return new Outcome.Interrupted();
            }
        }
        return new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no such archive", true);
    }

    @Test
    void aSlowStepOfOneWorkloadDelaysNoOther() throws InterruptedException {
        reconciler.start();
        reconciler.hint(SLOW, Trigger.REQUEST);
        reconciler.hint(QUICK, Trigger.REQUEST);

        await().atMost(Duration.ofSeconds(30))
                .until(() -> convergence.await(Duration.ZERO).get(QUICK) instanceof Convergence.Progress.Stuck);
        assertInstanceOf(
                Convergence.Progress.UnderWay.class,
                convergence.await(Duration.ZERO).get(SLOW));
    }

    @Test
    void whoWaitsForConvergenceHearsWhatEachWorkloadFailedOf() throws InterruptedException {
        release.countDown();
        reconciler.start();
        reconciler.hint(SLOW, Trigger.REQUEST);
        reconciler.hint(QUICK, Trigger.REQUEST);

        ImmutableSortedMap<WorkloadId, Convergence.Progress> progress = convergence.await(Duration.ofSeconds(30));

        assertTrue(
                progress.get(SLOW) instanceof Convergence.Progress.Stuck(String why)
                        && why.startsWith("could not install A: no such archive; ")
                        && why.endsWith(" " + SLOW),
                progress::toString);
        assertInstanceOf(Convergence.Progress.Stuck.class, progress.get(QUICK));
    }

    @Test
    void closingInterruptsWhatIsUnderWay() {
        reconciler.start();
        reconciler.hint(SLOW, Trigger.REQUEST);
        await().atMost(Duration.ofSeconds(30)).until(() -> events.contains("starting download"));

        reconciler.close();

        assertTrue(events.contains("interrupted"), events.toString());
    }

    @Test
    void drainingLetsWhatIsUnderWayEndAndBeginsNothingElse() throws InterruptedException {
        reconciler.start();
        reconciler.hint(SLOW, Trigger.REQUEST);
        await().atMost(Duration.ofSeconds(30)).until(() -> events.contains("starting download"));
        Thread drain = Thread.ofVirtual().start(() -> reconciler.drain(Duration.ofSeconds(30)));
        release.countDown();

        drain.join();
        reconciler.close();

        assertTrue(events.contains("finished download"), events.toString());
        assertFalse(events.contains("interrupted"), events.toString());
    }

    @Test
    void aPassThatBreaksOffIsToldOfAndDoesNotStopTheLoop() {
        onLook = () -> {
            throw new IllegalStateException("a bug");
        };
        reconciler.start();
        reconciler.hint(SLOW, Trigger.REQUEST);
        await().atMost(Duration.ofSeconds(30)).until(() -> events.contains("broken a bug"));
        onLook = () -> {};

        reconciler.hint(QUICK, Trigger.REQUEST);

        await().atMost(Duration.ofSeconds(30)).until(() -> events.contains("starting download"));
    }

    @Test
    void aPassThatBreaksOffAgainAndAgainIsRepeatedAfterLongerPauses() {
        onLook = () -> {
            throw new IllegalStateException("a bug that stays");
        };
        reconciler.start();
        try (HeardLog log = HeardLog.ofLines(line -> line.contains("a bug that stays"), Reconciler.class)) {
            for (int pause : new int[] {5, 10, 20}) {
                reconciler.hint(SLOW, Trigger.REQUEST);
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> log.lines().stream().anyMatch(line -> line.endsWith(" in " + pause + " s")));
            }
        }
    }

    @Test
    void whoWaitsForConvergenceHearsOfADefectInsteadOfWaiting() throws InterruptedException {
        onLook = () -> {
            throw new IllegalStateException("a bug");
        };
        reconciler.start();
        ALL.forEach(id -> reconciler.hint(id, Trigger.REQUEST));

        Convergence.Progress progress =
                convergence.await(Duration.ofSeconds(30)).get(SLOW);

        assertTrue(
                progress instanceof Convergence.Progress.Stuck(String why)
                        && why.contains(" java.lang.IllegalStateException: a bug (ReconcilerTest.java:"),
                () -> String.valueOf(progress));
    }

    @Test
    void anErrorLosesNoWorkload() {
        onLook = () -> {
            throw new AssertionError("worse than a bug");
        };
        reconciler.start();
        reconciler.hint(SLOW, Trigger.REQUEST);
        await().atMost(Duration.ofSeconds(30)).until(() -> events.contains("broken worse than a bug"));
        onLook = () -> {};

        await().atMost(Duration.ofSeconds(30)).until(() -> events.contains("starting download"));
    }

    @Test
    void hintsDuringAPassAreOneMorePass() throws InterruptedException {
        CountDownLatch looking = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        onLook = () -> {
            looking.countDown();
            try {
                assertTrue(goOn.await(30, TimeUnit.SECONDS));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        desired.withdraw(QUICK);
        reconciler.start();
        reconciler.hint(QUICK, Trigger.REQUEST);
        assertTrue(looking.await(30, TimeUnit.SECONDS));
        for (int i = 0; i < 100; i++) {
            reconciler.hint(QUICK, Trigger.REQUEST);
        }
        goOn.countDown();

        await().atMost(Duration.ofSeconds(30)).until(() -> looks(QUICK) == 2);
        await().during(Duration.ofMillis(200)).atMost(Duration.ofSeconds(30)).until(() -> looks(QUICK) == 2);
    }

    private int looks(WorkloadId id) {
        return looks.getOrDefault(id, new AtomicInteger()).get();
    }

    /** Nothing is there, and nothing ever comes to be. */
    private final class BareMachine implements Observer {
        @Override
        public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
            looks.computeIfAbsent(id, any -> new AtomicInteger()).incrementAndGet();
            onLook.run();
            return ObservedWorkload.absent(id);
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

    private final class Recorder implements PassListener {
        @Override
        public void starting(Step step) {
            events.add("starting " + step.word());
        }

        @Override
        public void finished(WorkloadId id, PassResult next) {
            Optional<Step> step = next.plan().next();
            events.add("finished " + step.map(Step::word).orElse("nothing"));
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            events.add("broken " + problem.getMessage());
        }
    }
}
