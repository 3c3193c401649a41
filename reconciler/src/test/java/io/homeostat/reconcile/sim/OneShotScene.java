package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** One-shots on a fake machine without faults. A run may take a minute. */
abstract class OneShotScene {
    static final WorkloadId PROCESS = WorkloadId.process("p");
    static final WorkloadId PLUGIN = WorkloadId.plugin("p");
    static final Triggers STARTUP = new Triggers(true, false, null);
    static final Triggers FIRST_BOOT = new Triggers(false, true, null);
    static final Triggers HOURLY = new Triggers(false, false, Duration.ofHours(1));
    static final List<String> A_GOOD_RUN = List.of("STARTED A", "EXECUTION_COMPLETED A");

    final VirtualClock clock = new VirtualClock();
    final Declarations desired = new Declarations();
    final FakeMachine machine = new FakeMachine(FaultInjector.kind(List.of(PROCESS, PLUGIN)), clock, desired, 1);
    final FakeStore store = machine.store;
    final WorkloadPass pass = new WorkloadPass(
            machine.asked,
            machine.observer,
            machine.executor,
            store,
            clock,
            id -> "last words",
            new Silence(),
            Runnable::run);
    long told;

    void declare(WorkloadId id, String revision, Triggers triggers) {
        desired.declare(
                SourceName.APPLIED,
                id,
                Wish.of(revision, ImmutableList.of(), "c").when(triggers));
    }

    OneShotRun lastRun(WorkloadId id) {
        return Objects.requireNonNull(store.history(id).run().oneShot());
    }

    Condition.Status condition(WorkloadId id, Condition.Type type) {
        return store.history(id).conditions().stream()
                .filter(condition -> condition.type() == type)
                .findFirst()
                .orElseThrow()
                .status();
    }

    String lastMessage() {
        return store.events(0, 1000).getLast().event().message();
    }

    void runUntilLaunched(WorkloadId id) {
        while (machine.living(id).isEmpty()) {
            pass.run(id);
        }
    }

    void runUntilStarted(WorkloadId id) {
        while (store.history(id).run().oneShot() == null) {
            pass.run(id);
        }
    }

    /** Runs passes until nothing is to be done, or something has failed for now; what was told meanwhile. */
    List<String> happens(WorkloadId id) {
        boolean goesOn = true;
        while (goesOn) {
            goesOn = switch (pass.run(id)) {
                case PassResult.Again again -> true;
                case PassResult.UnderWay underWay -> throw new IllegalStateException("there is one thread");
                case PassResult.Settled settled -> false;
                case PassResult.Later later -> {
                    boolean progress = later.until().kind() == Step.Wait.Kind.PROGRESS;
                    if (progress) {
                        clock.advance(
                                Duration.between(clock.instant(), later.until().until()));
                    }
                    yield progress;
                }
            };
        }
        List<String> fresh = new ArrayList<>();
        for (StoredEvent stored : store.events(told, 1000)) {
            told = stored.id();
            String revision = stored.event().revision();
            fresh.add(stored.event().type().name().replace("PLUGIN_", "") + " "
                    + revision.substring(revision.indexOf('-') + 1));
        }
        return fresh;
    }

    /** For examples that ask the store what happened. */
    static final class Silence implements PassListener {
        @Override
        public void starting(Step step) {
            // The store tells.
        }

        @Override
        public void finished(WorkloadId id, PassResult next) {
            // The store tells.
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            throw new AssertionError(problem);
        }
    }
}
