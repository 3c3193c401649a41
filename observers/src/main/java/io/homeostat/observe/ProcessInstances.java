package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.process.LostFiles;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcessObserver;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.observe.process.UnknownLaunches;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** Instances that are processes of this host: whether they run, how healthy they are, how they are limited, and which files they have lost. */
public final class ProcessInstances implements InstanceObserver {
    private final ProcessObserver processes;
    private final InstanceHealth health;
    private final LimitObserver limits;
    private final LostFiles lostFiles;

    /** @param health closed with this */
    public ProcessInstances(
            Layout layout,
            ProcFs procFs,
            InstantSource clock,
            LimitObserver limits,
            Extent extent,
            UnknownLaunches unknown,
            InstanceHealth health) {
        this.processes = new ProcessObserver(layout, procFs, clock, limits, extent, unknown);
        this.health = health;
        this.limits = limits;
        this.lostFiles = new LostFiles(layout, procFs);
    }

    @Override
    public Observation<ImmutableList<ObservedInstance>> look(
            WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        Observation<ImmutableList<ObservedInstance>> seen = processes.look(id, instances);
        if (!(seen
                instanceof Observation.Seen<ImmutableList<ObservedInstance>>(ImmutableList<ObservedInstance> found))) {
            return seen;
        }
        ImmutableList.Builder<ObservedInstance> asked = ImmutableList.builder();
        for (ObservedInstance process : found) {
            if (!(process.liveness() instanceof Running running)) {
                asked.add(process);
                continue;
            }
            Instance instance = process.instance();
            switch (health.of(instance, running, checks.of(instance)).map(known -> lostFiles.of(instance, known))) {
                case Observation.Seen<Running>(Running known) ->
                    asked.add(new ObservedInstance(instance, process.remembered(), (Liveness) known));
                case Observation.Unseen<Running>(String why) -> {
                    return Observation.unseen(why);
                }
            }
        }
        return Observation.seen(asked.build());
    }

    @Override
    public Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
        ImmutableSet.Builder<Long> pids = ImmutableSet.builder();
        for (ObservedInstance process : found) {
            if (process.liveness() instanceof Running running && running.identity() instanceof ProcessIdentity main) {
                pids.add(main.pid());
            }
        }
        return limits.look(id, pids.build());
    }

    @Override
    public void close() {
        health.close();
    }

    /** Finds out how a running instance is. */
    public interface InstanceHealth extends AutoCloseable {
        /** How it is; {@code spec} says how to check it, null that it is not to be asked. */
        Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec);

        @Override
        default void close() {}
    }
}
