package io.homeostat.observe.host;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.observe.Observation;
import java.util.Map;
import java.util.Optional;

/** Finds out what placement goes by on this machine, in an instant and without asking anybody else. */
public final class HostLabels {
    private static final ImmutableMap<String, String> MACHINES = ImmutableMap.of("amd64", "x86_64");

    private final OsRelease release;
    private final Kernel kernel;

    public HostLabels() {
        this(new OsRelease(), new Kernel());
    }

    HostLabels(OsRelease release, Kernel kernel) {
        this.release = release;
        this.kernel = kernel;
    }

    /**
     * Looks at the host.
     *
     * @param configured labels of agent.yaml
     * @param instanceId of this machine
     */
    public MachineLabels look(Map<String, String> configured, String instanceId) {
        ImmutableSortedMap.Builder<String, String> labels = ImmutableSortedMap.naturalOrder();
        labels.putAll(configured);
        labels.put(MachineLabels.INSTANCE_ID, instanceId);
        labels.put(MachineLabels.ARCHITECTURE, architecture());
        if (kernel.hostName() instanceof Observation.Seen<String>(String name)) {
            labels.put(MachineLabels.HOST_NAME, name);
        }
        return switch (release.read()) {
            case Observation.Seen<ImmutableMap<String, String>>(var values) -> {
                values.forEach((key, value) -> labels.put(MachineLabels.OS + key, value));
                yield new MachineLabels(labels.buildOrThrow(), Optional.empty());
            }
            case Observation.Unseen<ImmutableMap<String, String>>(String why) ->
                new MachineLabels(labels.buildOrThrow(), Optional.of(why));
        };
    }

    /** As {@code uname -m} says it; kernels before 6.1 have no file that tells, so there it is what the runtime was made for. */
    private String architecture() {
        if (kernel.machine() instanceof Observation.Seen<String>(String machine)) {
            return machine;
        }
        String runtime = System.getProperty("os.arch", "");
        return MACHINES.getOrDefault(runtime, runtime);
    }
}
