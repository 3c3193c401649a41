package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.Asked;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import java.time.Duration;
import java.util.List;

/** A plugin that the control plane declares, on a fake machine without faults, and what is told of it. */
final class ToldEvents {
    static final WorkloadId ID = WorkloadId.plugin("p");

    private final VirtualClock clock = new VirtualClock();
    final Declarations desired = new Declarations();
    final FakeMachine machine = new FakeMachine(FaultInjector.kind(List.of(ID)), clock, desired, 1);
    final FakeStore store = machine.store;
    final WorkloadPass pass = new WorkloadPass(
            machine.asked,
            machine.observer,
            machine.executor,
            store,
            clock,
            id -> "last words",
            new OneShotScene.Silence(),
            Runnable::run);
    private long told;

    void declare(String revision, String config, String... arguments) {
        desired.declare(SourceName.CONTROL_PLANE, ID, Wish.of(revision, ImmutableList.copyOf(arguments), config));
    }

    /** The control plane declares it by an APPLY. */
    void apply(String revision, String config) {
        String base = store.history(ID).attempts().hash();
        declare(revision, config);
        Workload declared = desired.now().get(ID).orElseThrow().workload();
        ask(new Asked(false, new Apply(Traits.of(declared).configHash(), base)));
    }

    /** The control plane declares it by an INSTALL of the program that is there. */
    void installAgain(String revision, String config) {
        declare(revision, config);
        ask(new Asked(true, null));
    }

    private void ask(Asked asked) {
        store.commit(Change.ofHistory(ID, store.history(ID).withAsked(asked)));
    }

    Condition condition(Condition.Type type) {
        return store.history(ID).conditions().stream()
                .filter(condition -> condition.type() == type)
                .findFirst()
                .orElseThrow();
    }

    /** The agent is killed when next a process of it has ended that was being stopped. */
    void agentDiesOnceItHasEnded() {
        machine.executor.meanwhile(id -> {
            if (machine.living(id).isEmpty()) {
                machine.executor.meanwhile(other -> {});
                throw new AgentCrash("before it notes a stop");
            }
        });
    }

    /** The first event of a type that was ever told. */
    Event first(EventType type) {
        return store.events(0, 1000).stream()
                .map(StoredEvent::event)
                .filter(event -> event.type() == type)
                .findFirst()
                .orElseThrow();
    }

    /** Runs passes until nothing is to be done, or something has failed for now; what was told meanwhile. */
    List<String> happens() {
        return happens(0);
    }

    /** The same, over so many pauses after failures. */
    List<String> happens(int pauses) {
        int left = pauses;
        boolean goesOn = true;
        while (goesOn) {
            PassResult next = pass.run(ID);
            goesOn = switch (next) {
                case PassResult.Again again -> true;
                case PassResult.UnderWay underWay -> throw new IllegalStateException("there is one thread");
                case PassResult.Settled settled -> false;
                case PassResult.Later later -> {
                    boolean progress = later.until().kind() == Step.Wait.Kind.PROGRESS;
                    boolean retry = later.until().kind() == Step.Wait.Kind.RETRY && left-- > 0;
                    if (progress || retry) {
                        clock.advance(
                                Duration.between(clock.instant(), later.until().until()));
                    }
                    yield progress || retry;
                }
            };
        }
        ImmutableList<StoredEvent> fresh = store.events(told, 1000);
        told += fresh.size();
        return fresh.stream()
                .map(StoredEvent::event)
                .map(event -> event.type().name().replace("PLUGIN_", "") + " "
                        + event.revision().substring(event.revision().indexOf('-') + 1))
                .toList();
    }
}
