package io.homeostat.reconcile.runtime.timer;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Limitable;
import io.homeostat.reconcile.runtime.Machine;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** Keeps timers in memory. A revision that begins with "broken" can't be created. */
final class TimerRuntime implements InstanceObserver, KindRuntime, Limitable {
    private final Timers timers;
    private final Machine machine;
    private final InstantSource clock;

    TimerRuntime(Timers timers, Machine machine) {
        this.timers = timers;
        this.machine = machine;
        this.clock = machine.clock();
    }

    @Override
    public Observation<ImmutableList<ObservedInstance>> look(
            WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        return Observation.seen(instances.stream()
                .map(instance -> new ObservedInstance(instance, true, liveness(instance, checks)))
                .collect(ImmutableList.toImmutableList()));
    }

    private Liveness liveness(Instance instance, Checks checks) {
        noteParent(instance, timers.seenIn);
        Instant since = timers.running.get(instance.launchId());
        if (since == null) {
            return new Liveness.Ended(new Exit(null, null, Exit.Reason.UNKNOWN, clock.instant()));
        }
        Health health = checks.of(instance) == null ? null : Health.healthy(clock.instant());
        return new Liveness.Running(
                identity(instance.launchId()), Duration.between(since, clock.instant()), true, health);
    }

    @Override
    public Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
        Limits inForce = found.stream()
                .map(timer -> timers.limits.get(timer.instance().launchId()))
                .flatMap(Stream::ofNullable)
                .findFirst()
                .orElse(Limits.NONE);
        return Observation.seen(new ObservedLimits(inForce, ImmutableSortedSet.of(), LimitObstacles.NONE));
    }

    @Override
    public void watch(Instance instance, Runnable ended) {
        timers.waiting.put(instance.launchId(), ended);
    }

    @Override
    public void close() {
        timers.waiting.clear();
    }

    @Override
    public Outcome limit(Step.SetLimits step, ImmutableList<ObservedInstance> instances) {
        instances.forEach(timer -> timers.limits.put(timer.instance().launchId(), step.limits()));
        return Outcome.done();
    }

    @Override
    public Creation prepare(Step.Launch step, ImmutableSet<String> known) {
        return instance -> {
            if (instance.revision().startsWith("broken")) {
                throw new ActuationFailure("no such timer", false, new IOException("no such timer"));
            }
            noteParent(instance, timers.createdIn);
            timers.running.put(instance.launchId(), clock.instant());
            timers.remains.put(instance.launchId(), "a socket");
            return identity(instance.launchId());
        };
    }

    private void noteParent(Instance instance, Map<String, Identity> parents) {
        machine.parent(instance)
                .ifPresent(parent -> parents.put(instance.launchId(), Objects.requireNonNull(parent.identity())));
    }

    private static Identity identity(String launchId) {
        return new Identity.Task("timers", launchId, "", null, null);
    }

    @Override
    public String stop(Instance instance, boolean cleanup, Lifecycle.Stop how) {
        timers.onStop.run();
        return timers.running.remove(instance.launchId()) == null ? "was gone" : "stopped";
    }

    @Override
    public boolean isStoppedOnce() {
        return true;
    }

    @Override
    public void destroy(Instance instance) throws ActuationFailure {
        timers.onDestroy.accept(instance.launchId());
        if (timers.sticky) {
            throw new ActuationFailure("its socket is busy", false, new IOException("busy"));
        }
        timers.remains.remove(instance.launchId());
    }
}
