package io.homeostat.reconcile.command.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.plugin.PluginCaller.Result;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.loop.Turns;
import io.homeostat.reconcile.loop.Turns.TurnTaking;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who may be spoken with when. This process stands for the plugin's. */
@Timeout(60)
class PluginCallerTest {
    private static final WorkloadId A = WorkloadId.plugin("a");
    private static final Duration LONG = Duration.ofSeconds(30);

    private final Turns turns = new Turns();
    private final List<Path> called = new CopyOnWriteArrayList<>();

    @Test
    void onlyOneThatWasStartedIsSpokenWith() throws Exception {
        assertEquals(new Result.NotRunning<>("not running"), result());
        Result<String> notYet = new Result.NotRunning<>("not running: it has not been started yet");
        assertEquals(notYet, result(instance("1", Phase.CREATED, ours())));
        assertEquals(notYet, result(instance("1", Phase.START_SENT, ours())));
        assertEquals(List.of(), called);

        assertEquals(new Result.Answered<>("r", "heard"), result(instance("1", Phase.STARTED, ours())));
        assertEquals(1, called.size());
    }

    @Test
    void oneWhoseProcessIsGoneIsNotSpokenWith() throws Exception {
        ProcessIdentity other = new ProcessIdentity(ours().pid(), ours().startTicks() + 1, ours().bootId());

        assertEquals(new Result.NotRunning<>("not running"), result(instance("1", Phase.STARTED, other)));
        assertEquals(List.of(), called);
    }

    @Test
    void besideALaunchNobodyKnowsWhoseTheSocketIs() throws Exception {
        Result<String> result = result(instance("1", Phase.STARTED, ours()), instance("2", Phase.CREATED, null));

        assertTrue(result instanceof Result.NotRunning<String>, result.toString());
        assertEquals(List.of(), called);
    }

    @Test
    void whileAStepIsDoneToItNobodySpeaksWithIt() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        StepExecutor slow = (step, seen) -> {
            begun.countDown();
            await(end);
            return Outcome.done();
        };
        CompletableFuture<Outcome> step = stop(slow);
        begun.await();

        Result<String> result = caller(instance("1", Phase.STARTED, ours())).with(A, Duration.ofMillis(50), this::call);
        end.countDown();

        assertEquals(new Result.NotRunning<>("not running: it is being started, changed or stopped just now"), result);
        assertEquals(Outcome.done(), step.join());
        assertEquals(new Result.Answered<>("r", "heard"), result(instance("1", Phase.STARTED, ours())));
    }

    @Test
    void whileSomebodySpeaksWithItNoStepIsDoneToItButToOthers() throws Exception {
        List<String> order = new CopyOnWriteArrayList<>();
        AtomicReference<CompletableFuture<Outcome>> step = new AtomicReference<>();

        caller(instance("1", Phase.STARTED, ours())).with(A, LONG, socket -> {
            step.set(stop((same, seen) -> {
                order.add("step");
                return Outcome.done();
            }));
            Outcome other = new TurnTaking((same, seen) -> Outcome.done(), turns)
                    .execute(new Step.Remove(WorkloadId.plugin("b")), ObservedWorkload.absent(A));
            order.add("talk");
            return other;
        });

        assertEquals(Outcome.done(), step.get().get(30, TimeUnit.SECONDS));
        assertEquals(List.of("talk", "step"), order);
    }

    @Test
    void whatAnEndedInstanceLeftIsRemovedInTheTurnOfItsWorkload() {
        List<Boolean> taken = new ArrayList<>();
        StepExecutor executor = new StepExecutor() {
            @Override
            public Outcome execute(Step step, ObservedWorkload seen) {
                return Outcome.done();
            }

            @Override
            public void destroyEnded(WorkloadId id) {
                taken.add(CompletableFuture.supplyAsync(this::isTurnTaken, Thread::startVirtualThread)
                        .join());
            }

            private boolean isTurnTaken() {
                try {
                    return turns.within(A, Duration.ZERO, () -> true).isEmpty();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        };

        new TurnTaking(executor, turns).destroyEnded(A);

        assertEquals(List.of(true), taken);
    }

    @Test
    void manyWhoWantTheSameTurnGetItOneAfterTheOther() {
        List<Integer> inside = new CopyOnWriteArrayList<>();
        List<Integer> most = new CopyOnWriteArrayList<>();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int number = i;
            all.add(CompletableFuture.runAsync(
                    () -> {
                        try {
                            turns.within(A, LONG, () -> {
                                inside.add(number);
                                most.add(inside.size());
                                inside.remove((Object) number);
                                return true;
                            });
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                    },
                    Thread::startVirtualThread));
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();

        assertEquals(200, most.size());
        assertTrue(most.stream().allMatch(size -> size == 1), most.toString());
    }

    private CompletableFuture<Outcome> stop(StepExecutor executor) {
        Step step = new Step.Remove(A);
        return CompletableFuture.supplyAsync(
                () -> new TurnTaking(executor, turns).execute(step, ObservedWorkload.absent(A)),
                Thread::startVirtualThread);
    }

    private Result<String> result(Instance... instances) throws InterruptedException {
        return caller(instances).with(A, LONG, this::call);
    }

    private PluginCaller caller(Instance... instances) {
        return new PluginCaller(
                new Layout(Path.of("/s"), Path.of("/r"), "i"),
                new ProcFs(),
                turns,
                id -> ImmutableList.copyOf(instances));
    }

    private String call(Path socket) {
        called.add(socket);
        return "heard";
    }

    private static Instance instance(String launch, Phase start, @Nullable ProcessIdentity identity) {
        return new Instance(launch, A, "hash", "r", null, ImmutableSortedMap.of(), Instant.EPOCH, identity, start, "");
    }

    private static ProcessIdentity ours() throws IOException {
        ProcFs procFs = new ProcFs();
        long pid = ProcessHandle.current().pid();
        return new ProcessIdentity(pid, procFs.stat(pid).orElseThrow().startTicks(), procFs.bootId());
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
