package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;

/**
 * Where a fault struck. Names the place by what is there and not by how many dice were thrown before, so that a history without
 * one of its happenings or faults is still the same elsewhere.
 *
 * @param moment during which, see {@link Moment#number}
 * @param nth how often that fault had its chance with that workload since the moment began, from 0
 */
record FaultPoint(int moment, Fault fault, WorkloadId workload, int nth) {
    @Override
    public String toString() {
        return "#" + moment + " " + fault + " " + workload + " (chance " + (nth + 1) + ")";
    }
}
