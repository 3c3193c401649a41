package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.Keepers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.secrets.LaunchedValues;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Function;

/**
 * What all kinds share; used, not closed.
 *
 * @param instances what is remembered of those of a workload
 * @param launched what programs are launched with is remembered here
 * @param keepers the children that keep launches
 */
public record Machine(
        Layout layout,
        ProcFs procFs,
        CgroupLayout cgroups,
        InstantSource clock,
        Function<WorkloadId, ImmutableList<Instance>> instances,
        LaunchedValues launched,
        Keepers keepers) {
    public Machine(
            Layout layout,
            ProcFs procFs,
            InstantSource clock,
            Function<WorkloadId, ImmutableList<Instance>> instances) {
        this(layout, procFs, CgroupLayout.detect(layout), clock, instances, new LaunchedValues(), new Keepers());
    }

    /** The parent's instance that this one was launched in; empty when there was none, and when it has ended. */
    public Optional<Instance> parent(Instance instance) {
        return LaunchInputs.parent(instance, instances);
    }
}
