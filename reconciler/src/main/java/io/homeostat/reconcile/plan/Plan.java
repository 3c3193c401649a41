package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;

/** What to do about a machine, sorted by workload; those at their desired state are in it, without steps. */
public record Plan(ImmutableList<WorkloadPlan> workloads) {
    public int count(WorkloadPlan.Bucket bucket) {
        return (int) workloads.stream().filter(w -> w.bucket() == bucket).count();
    }

    /** True when the machine is as it should be, and so is what is stored. */
    public boolean isEmpty() {
        return workloads.stream().allMatch(w -> w.action() == Action.NONE);
    }
}
