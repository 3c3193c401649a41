package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import java.util.Map;

/** What {@code dependsOn} of all workloads together has to be: without a circle, in which nobody could be the first. */
final class Ordering {
    private final ImmutableMap<WorkloadId, Workload> workloads;
    private final ImmutableMap<WorkloadId, Problem> places;

    /** @param places where each workload is named; the message is of no account */
    Ordering(Map<WorkloadId, Workload> workloads, Map<WorkloadId, Problem> places) {
        this.workloads = ImmutableMap.copyOf(workloads);
        this.places = ImmutableMap.copyOf(places);
    }

    /** An error for each workload that depends on itself. */
    ImmutableList<Problem> errors() {
        ImmutableList.Builder<Problem> errors = ImmutableList.builder();
        for (WorkloadId id : workloads.keySet()) {
            ImmutableList<WorkloadId> cycle = Dependencies.cycle(id, this::dependencies);
            if (!cycle.isEmpty()) {
                errors.add(at(
                        id,
                        "spec.dependsOn: " + id + " depends on itself (" + Dependencies.words(cycle)
                                + "), so none of these could be started first; remove one of them"));
            }
        }
        return errors.build();
    }

    /** A warning for each workload that is waited for and stands nowhere here. */
    ImmutableList<Problem> warnings() {
        ImmutableList.Builder<Problem> warnings = ImmutableList.builder();
        for (WorkloadId id : workloads.keySet()) {
            for (WorkloadId needed : dependencies(id)) {
                if (!workloads.containsKey(needed)) {
                    warnings.add(at(
                            id,
                            "spec.dependsOn: " + needed + " is not declared here; until it is declared and runs, " + id
                                    + " is not started"));
                }
            }
        }
        return warnings.build();
    }

    private ImmutableSet<WorkloadId> dependencies(WorkloadId id) {
        Workload workload = workloads.get(id);
        return workload == null ? ImmutableSet.of() : Dependencies.of(workload);
    }

    private Problem at(WorkloadId id, String message) {
        Problem place = places.get(id);
        if (place == null) {
            throw new IllegalStateException("no place of " + id);
        }
        return new Problem(place.file(), place.line(), place.column(), message);
    }
}
