package io.homeostat.observe.usage;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskCgroups.Occupancy;
import io.homeostat.observe.limits.TaskGroupName;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * Measures a task: by its control groups as long as somebody is in them, else by what its driver counts. The first costs the driver
 * nothing, and some drivers crash when they are asked; the second is all there is of a container or a virtual machine.
 */
public final class TaskMeter implements Meter {
    private final TaskGroupName name;
    private final TaskCgroups cgroups;
    private final UsageMeter grouped;
    private final Meter counted;

    /** @param counted by its driver; closed with this */
    public TaskMeter(TaskGroupName name, TaskCgroups cgroups, Ticker ticker, Meter counted) {
        this.name = name;
        this.cgroups = cgroups;
        this.grouped = new UsageMeter(name, cgroups, ticker);
        this.counted = counted;
    }

    @Override
    public void moved() {
        grouped.moved();
        counted.moved();
    }

    @Override
    public Optional<Measured> measure(ImmutableList<Instance> launches, Duration interval, Processes processes)
            throws IOException {
        boolean populated = switch (cgroups.look(name)) {
            case Observation.Seen<Occupancy>(Occupancy seen) -> seen.populated();
            case Observation.Unseen<Occupancy>(String why) -> throw new IOException(why);
        };
        if (!populated) {
            grouped.moved();
            return counted.measure(launches, interval, processes);
        }
        counted.close();
        return grouped.measure(launches, interval, processes);
    }

    @Override
    public void close() {
        counted.close();
    }
}
