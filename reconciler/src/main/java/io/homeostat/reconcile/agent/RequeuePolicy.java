package io.homeostat.reconcile.agent;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.loop.DesiredSource;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.Reconciler;
import io.homeostat.reconcile.plan.Traits;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** When the agent looks at a workload again: at once, when a pause is over, when its health is due, and never later than the resync. */
final class RequeuePolicy implements BiFunction<WorkloadId, PassResult, Optional<Duration>> {
    private static final double SPREAD = 10;

    private final DesiredSource desired;
    private final Function<WorkloadId, WorkloadHistory> histories;
    private final InstantSource clock;
    private final Supplier<Duration> resync;
    private final DoubleSupplier chance;
    private final Set<WorkloadId> settled = ConcurrentHashMap.newKeySet();

    /**
     * @param resync asked each time, since it can be configured anew
     * @param chance from 0 inclusive to 1 exclusive, another one each time
     */
    RequeuePolicy(
            DesiredSource desired,
            Function<WorkloadId, WorkloadHistory> histories,
            InstantSource clock,
            Supplier<Duration> resync,
            DoubleSupplier chance) {
        this.desired = desired;
        this.histories = histories;
        this.clock = clock;
        this.resync = resync;
        this.chance = chance;
    }

    @Override
    public Optional<Duration> apply(WorkloadId id, PassResult next) {
        Optional<Declaration> declared = desired.declaration(id);
        if (next instanceof PassResult.Settled && declared.isEmpty()) {
            // Nothing of it is left. Should it come back, the next resync finds it.
            settled.remove(id);
            return Optional.empty();
        }
        // What runs may be a former revision, which has an interval of its own.
        Duration longest = Stream.concat(
                        declared.map(Declaration::workload).stream(),
                        histories.apply(id).standIns().stream().map(LastKnownGood::workload))
                .map(this::healthInterval)
                .reduce(resync.get(), (a, b) -> a.compareTo(b) < 0 ? a : b);
        return Reconciler.forEver(clock, sooner(longest, hasJustSettled(id, next)))
                .apply(id, next);
    }

    private boolean hasJustSettled(WorkloadId id, PassResult next) {
        if (next instanceof PassResult.Settled) {
            return settled.add(id);
        }
        settled.remove(id);
        return false;
    }

    /**
     * Otherwise workloads that were started together would always be looked at together: the first time at any moment of the interval,
     * then up to a tenth of it sooner.
     */
    private Duration sooner(Duration longest, boolean first) {
        return longest.minus(
                Duration.ofNanos((long) (longest.toNanos() / (first ? 1 : SPREAD) * chance.getAsDouble())));
    }

    private Duration healthInterval(Workload workload) {
        return Traits.of(workload).hasHealth() ? workload.lifecycle().health().interval() : resync.get();
    }
}
