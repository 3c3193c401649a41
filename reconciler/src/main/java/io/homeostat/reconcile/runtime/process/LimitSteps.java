package io.homeostat.reconcile.runtime.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.limits.GroupRemover;
import io.homeostat.actuate.limits.LimitEnforcer;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.observe.process.ProcessTree;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sets limits before a launch and while a workload runs, and lifts them when it is removed. */
final class LimitSteps {
    private static final Logger LOG = LoggerFactory.getLogger(LimitSteps.class);

    /** The id comes from the environment of a process, which may have changed it: it must not lead to any other path. */
    private static final Pattern LAUNCH_ID = Pattern.compile("[0-9a-f-]{1,64}");

    private final Layout layout;
    private final ProcFs procFs;
    private final LimitObserver groups;
    private final Extent extent;
    private final LimitEnforcer enforcer;
    private final GroupRemover remover;

    /** @param extent which processes of an instance its limits are for */
    LimitSteps(Layout layout, ProcFs procFs, CgroupLayout cgroups, Extent extent) {
        this.extent = extent;
        this.layout = layout;
        this.procFs = procFs;
        this.groups = new LimitObserver(cgroups);
        this.enforcer = new LimitEnforcer(cgroups);
        this.remover = new GroupRemover(cgroups);
    }

    LimitObserver groups() {
        return groups;
    }

    /** @throws ActuationFailure when required limits can't be set; not fatal, since that may change */
    CgroupPlan prepare(WorkloadId id, Limits limits) throws ActuationFailure {
        CgroupPlan plan = enforcer.prepare(id, limits);
        if (plan.enforcement() instanceof LimitResult.Unavailable(String reason)) {
            if (plan.required()) {
                throw new ActuationFailure(
                        FailureCause.Kind.LIMITS,
                        "could not launch " + id.brief() + ": limits.required is true: " + reason,
                        false);
            }
            LOG.warn("[{}] runs without some of its limits: {}", id.brief(), reason);
        }
        return plan;
    }

    /** Explains a failed launch: the shells that lead to the program need memory themselves. */
    ActuationFailure explain(WorkloadId id, CgroupPlan before, ActuationFailure failure) {
        boolean outOfMemory = before.oomKills() instanceof Observation.Seen<Long>(Long kills)
                && groups.oomKills(id) instanceof Observation.Seen<Long>(Long now)
                && now > kills;
        return outOfMemory
                ? new ActuationFailure(
                        FailureCause.of(FailureCause.Kind.OUT_OF_MEMORY),
                        failure.getMessage() + "; its memory had run out before the program began, raise limits.memory",
                        failure.fatal(),
                        failure)
                : failure;
    }

    /** Sets the limits of what runs, and moves processes that are outside back in. */
    Outcome change(Step.SetLimits step, ImmutableList<ObservedInstance> instances) throws ActuationFailure {
        ImmutableList.Builder<Long> pids = ImmutableList.builder();
        for (ObservedInstance process : instances) {
            pids.addAll(tree(process.instance()));
        }
        return switch (enforcer.apply(step.workload(), step.limits(), pids.build())) {
            case LimitResult.Enforced enforced -> Outcome.done();
            case LimitResult.Unavailable(String reason) ->
                new Outcome.Failed(FailureCause.of(FailureCause.Kind.LIMITS), reason, false);
        };
    }

    /**
     * Removes the groups of a workload that no longer runs. Those stay in which processes are that are not ours to end: of a former
     * instance, or started by what ended without them.
     */
    void lift(WorkloadId id) throws ActuationFailure, InterruptedException {
        try {
            remover.remove(id);
        } catch (ActuationFailure e) {
            if (extent == Extent.MAIN && !processes(id).isEmpty()) {
                LOG.info("[{}] its control groups stay: what it has started is in them", id.brief());
            } else if (isLeftToFormerInstances(id)) {
                LOG.info("[{}] its control groups stay: processes of a former instance are in them", id.brief());
            } else {
                throw e;
            }
        }
    }

    private boolean isLeftToFormerInstances(WorkloadId id) {
        ImmutableSortedSet<Long> pids = processes(id);
        return !pids.isEmpty()
                && pids.stream()
                        .allMatch(pid -> procFs.variable(pid, LaunchMarks.LAUNCH)
                                .filter(launch -> isOfFormerInstance(id, launch))
                                .isPresent());
    }

    /** Those in its control groups; none where they can't be seen. */
    private ImmutableSortedSet<Long> processes(WorkloadId id) {
        return groups.pids(id) instanceof Observation.Seen<ImmutableSortedSet<Long>>(ImmutableSortedSet<Long> pids)
                ? pids
                : ImmutableSortedSet.of();
    }

    /**
     * Whether an instance that owned the state directory before has notes on this launch; false when that can't be seen.
     */
    private boolean isOfFormerInstance(WorkloadId id, String launchId) {
        if (!LAUNCH_ID.matcher(launchId).matches()) {
            return false;
        }
        try (Stream<String> names =
                Files.list(layout.stateDir()).map(entry -> entry.getFileName().toString())) {
            return names.filter(name -> !name.equals(layout.instanceId()))
                    .anyMatch(other -> Files.isDirectory(layout.of(other).launch(id, launchId)));
        } catch (IOException e) {
            LOG.debug("who was here before can't be seen in {}: {}", layout.stateDir(), e.getMessage());
            return false;
        }
    }

    private ImmutableList<Long> tree(Instance instance) throws ActuationFailure {
        WorkloadId id = instance.workload();
        try {
            return new ProcessTree(procFs, layout, instance, instance.process(), groups, extent)
                    .members().stream().map(Stat::pid).collect(ImmutableList.toImmutableList());
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not look at the processes of " + id.brief() + ": " + e.getMessage(), false, e);
        }
    }
}
