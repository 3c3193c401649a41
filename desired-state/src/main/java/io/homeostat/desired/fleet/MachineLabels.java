package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.Choice;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What placement goes by on one machine, and which documents of files are for it.
 *
 * @param labels of agent.yaml, and facts of the host that were seen
 * @param unseen why facts are missing whose names begin with {@link #OS}; empty when none is
 */
public record MachineLabels(ImmutableSortedMap<String, String> labels, Optional<String> unseen) implements Choice {
    /** What the keys of os-release begin with. */
    public static final String OS = "os.";

    public static final String ARCHITECTURE = "host.arch";
    public static final String HOST_NAME = "host.name";
    public static final String INSTANCE_ID = "instance.id";

    @Override
    public boolean takesRollouts() {
        return false;
    }

    @Override
    public Verdict verdict(Workload workload, @Nullable ReadRollout rollout) {
        Placement placement = workload.placement();
        if (unseen.isPresent() && asksForTheSystem(placement)) {
            return new Verdict.Unknown("whether it is for this machine can't be told: " + unseen.get());
        }
        return placement
                .refusal(labels)
                .<Verdict>map(reason -> new Verdict.NotHere(Optional.empty(), reason))
                .orElse(Verdict.APPLIES);
    }

    private static boolean asksForTheSystem(Placement placement) {
        Set<String> asked = Sets.union(
                placement.matchLabels().keySet(), placement.excludeLabels().keySet());
        return asked.stream().anyMatch(key -> key.startsWith(OS));
    }
}
