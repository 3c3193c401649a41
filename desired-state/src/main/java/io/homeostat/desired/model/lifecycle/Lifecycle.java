package io.homeostat.desired.model.lifecycle;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.NamesWorkload;
import org.jspecify.annotations.Nullable;

/** What every kind of workload declares of how it is kept running. */
public record Lifecycle(
        @Doc("Limits for the whole process tree, in force from its first instruction.")
        Limits limits,

        @Doc("How long a start may take and how often it is tried.")
        Start start,

        @Doc("How long a stop may take.") Stop stop,

        @Doc("How health is checked and when it counts as lost.")
        HealthCheck health,

        @Doc("When the program is started again after it ended.")
        Restart restart,

        @Doc("How CPU and memory of the process tree are sampled.")
        Metrics metrics,

        @Doc("When and how the program runs.") Execution execution,

        @Doc("Workloads that have to run well before this one is started, and are stopped after it.") @NamesWorkload
        ImmutableList<String> dependsOn,

        @Doc(
                "How many workloads with the same value of a label may be down because of changes; any number when left out.")
        @Nullable
        MaxDisruption maxDisruption,

        @Doc("When upgrades and other changes of what runs may be made; at any time when left out.") @Nullable
        MaintenanceWindow maintenanceWindow) {}
