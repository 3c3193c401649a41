package io.homeostat.reconcile.runtime;

import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.plan.KindTraits;
import java.time.InstantSource;

/** One kind: its traits for the planner and its runtime for the loop. Has a row in {@code META-INF/services}. */
public interface RuntimeProvider extends KindTraits {
    /** What runtimes share; used, not closed. */
    record Machine(Layout layout, ProcFs procFs, PluginChannel plugins, CgroupLayout cgroups, InstantSource clock) {}

    KindRuntime runtime(Machine machine);
}
