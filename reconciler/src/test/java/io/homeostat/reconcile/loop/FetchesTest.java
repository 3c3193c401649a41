package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.loop.Fetches.Fetch;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FetchesTest {
    private static final WorkloadId A = WorkloadId.plugin("a");
    private static final Situation SITUATION = Example.plugin().wants("A").situation();

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Semaphore begun = new Semaphore(0);

    /** Takes until it is interrupted. */
    private final StepExecutor hanging = new StepExecutor() {
        @Override
        public Outcome execute(Step step, ObservedWorkload seen) {
            begun.release();
            try {
                new Semaphore(0).acquire();
                throw new AssertionError("never released");
            } catch (InterruptedException e) {
                return new Outcome.Interrupted();
            }
        }

        @Override
        public void destroyEnded(WorkloadId id) {}
    };

    @AfterEach
    void close() {
        threads.close();
    }

    @Test
    void aDownloadGoesOnBesideWhateverIsDoneToWhatRunsAndAnUnpackBesideAllButALink() {
        Declaration declared = Objects.requireNonNull(SITUATION.declared());
        Step.Launch launch = new Step.Launch(declared.workload(), declared.hash(), "a_A");
        Step.SetLimits limits = new Step.SetLimits(A, Limits.NONE);
        Step.Activate link = new Step.Activate(A, "a_A");

        assertTrue(Stream.of(launch, limits, link).allMatch(step -> Fetches.goesOnBeside(step, download(A))));
        assertTrue(Stream.of(launch, limits).allMatch(step -> Fetches.goesOnBeside(step, unpack())));
        assertFalse(Fetches.goesOnBeside(link, unpack()));
    }

    @Test
    void nothingGoesOnForWhatIsRemovedOrWaitsOrNeedsAnotherArchive() {
        Stream.of(
                        new Step.Remove(A),
                        new Step.CollectGarbage(A, ImmutableList.of("a_B")),
                        new Step.Wait(A, Instant.EPOCH, Step.Wait.Kind.DECLARATION, "a test"),
                        download(A),
                        unpack())
                .forEach(step -> {
                    assertFalse(Fetches.goesOnBeside(step, download(A)), step::word);
                    assertFalse(Fetches.goesOnBeside(step, unpack()), step::word);
                });
    }

    @Test
    void closingInterruptsAllBeforeItWaitsForOne() throws Exception {
        Fetches fetches = new Fetches(hanging, threads);
        Fetch one = begin(fetches, A);
        Fetch other = begin(fetches, WorkloadId.plugin("b"));
        assertTrue(begun.tryAcquire(2, 30, TimeUnit.SECONDS));

        fetches.close();

        assertInstanceOf(Outcome.Interrupted.class, one.outcome());
        assertInstanceOf(Outcome.Interrupted.class, other.outcome());
    }

    @Test
    void nothingIsBegunOnceItIsClosed() {
        Fetches fetches = new Fetches(hanging, threads);
        fetches.close();

        Fetch late = begin(fetches, A);

        assertInstanceOf(Outcome.Interrupted.class, late.outcome());
        assertEquals(0, begun.availablePermits());
    }

    @Test
    void whatFindsNoThreadIsNotUnderWay() {
        Fetches fetches = new Fetches(hanging, work -> {
            throw new RejectedExecutionException("a test");
        });

        assertThrows(RejectedExecutionException.class, () -> begin(fetches, A));

        assertTrue(fetches.of(A).isEmpty());
    }

    private static Fetch begin(Fetches fetches, WorkloadId id) {
        return fetches.begin(SITUATION, Planner.plan(SITUATION), download(id), () -> {});
    }

    private static Step.Download download(WorkloadId id) {
        return new Step.Download(id, "key", new Source("https://bucket/a.tar.gz", null, Duration.ofSeconds(60), 3));
    }

    private static Step.Unpack unpack() {
        return new Step.Unpack(A, "key", null, "A", "a_A", null);
    }
}
