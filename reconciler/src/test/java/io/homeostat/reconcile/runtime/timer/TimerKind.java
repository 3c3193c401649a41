package io.homeostat.reconcile.runtime.timer;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.KindProvider;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import io.homeostat.reconcile.plan.Traits.Limiting;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import java.util.Optional;

/** All that the program is told of timers. */
public final class TimerKind implements KindProvider, RuntimeProvider {
    public static final Kind TIMER = new Kind("Timer", "timers", TimerSpec.class);

    @Override
    public ImmutableList<Kind> kinds() {
        return ImmutableList.of(TIMER);
    }

    @Override
    public Kind kind() {
        return TIMER;
    }

    @Override
    public boolean leavesRemains() {
        return true;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        TimerSpec timer = (TimerSpec) spec;
        LaunchInput interval = new LaunchInput(
                "interval",
                ImmutableList.of(timer.interval().toString(), String.valueOf(timer.parent())),
                Reason.ARGUMENTS_CHANGED);
        Limiting limiting = timer.revision().startsWith("boundless") ? Limiting.NEVER : Limiting.IN_PLACE;
        Traits traits = new Traits(ImmutableList.of(interval), null, limiting)
                .withHealth(Readiness.STAYED_ALIVE, Traits.Completion.EXIT);
        return Optional.ofNullable(timer.parent())
                .flatMap(WorkloadId::parse)
                .map(parent -> traits.withParent(parent, true))
                .orElse(traits);
    }

    @Override
    public Access open(Machine machine) {
        TimerRuntime timers = new TimerRuntime(Timers.of(machine.layout().stateDir()), machine);
        return new Access(timers, () -> timers);
    }
}
