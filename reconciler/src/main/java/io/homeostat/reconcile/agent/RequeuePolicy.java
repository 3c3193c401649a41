package io.homeostat.reconcile.agent;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.DesiredSource;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.Reconciler;
import io.homeostat.reconcile.plan.Traits;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/** When the agent looks at a workload again: at once, when a pause is over, when its health is due, and never later than the resync. */
final class RequeuePolicy implements BiFunction<WorkloadId, PassResult, Optional<Duration>> {
    private static final double SPREAD = 10;

    private final DesiredSource desired;
    private final InstantSource clock;
    private final Supplier<Duration> resync;
    private final DoubleSupplier chance;

    /**
     * @param resync asked each time, since it can be configured anew
     * @param chance from 0 inclusive to 1 exclusive, another one each time
     */
    RequeuePolicy(DesiredSource desired, InstantSource clock, Supplier<Duration> resync, DoubleSupplier chance) {
        this.desired = desired;
        this.clock = clock;
        this.resync = resync;
        this.chance = chance;
    }

    @Override
    public Optional<Duration> apply(WorkloadId id, PassResult next) {
        Optional<Declaration> declared = desired.declaration(id);
        if (next instanceof PassResult.Settled && declared.isEmpty()) {
            // Nothing of it is left. Should it come back, the next resync finds it.
            return Optional.empty();
        }
        Duration longest = declared.map(this::healthInterval).orElse(resync.get());
        return Reconciler.forEver(clock, sooner(longest)).apply(id, next);
    }

    /** Up to a tenth: otherwise workloads that were started together would always be checked together. */
    private Duration sooner(Duration longest) {
        return longest.minus(Duration.ofNanos((long) (longest.toNanos() / SPREAD * chance.getAsDouble())));
    }

    private Duration healthInterval(Declaration declared) {
        Duration interval = declared.workload().lifecycle().health().interval();
        boolean asked = Traits.of(declared.workload()).hasHealth();
        return asked && interval.compareTo(resync.get()) < 0 ? interval : resync.get();
    }
}
