package io.homeostat.observe;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Rule;
import java.io.IOException;
import java.util.Optional;
import java.util.function.Function;

/** Looks at the machine as a whole. Asks only for what it is asked for: who has no rules never waits for a metadata server. */
public final class HostObserver {
    private final ProcFs procFs;
    private final OsRelease release;
    private final String instanceId;
    private final Function<HostFact, Observation<Optional<String>>> metadata;

    /** @param metadata answers for the scopes instance and metadata, within a bounded time */
    public HostObserver(
            ProcFs procFs,
            OsRelease release,
            String instanceId,
            Function<HostFact, Observation<Optional<String>>> metadata) {
        this.procFs = procFs;
        this.release = release;
        this.instanceId = instanceId;
        this.metadata = metadata;
    }

    public HostFacts look(ImmutableSet<HostFact> asked) {
        boolean system = asked.stream().anyMatch(fact -> fact.scope() == Rule.Scope.OS);
        Observation<ImmutableMap<String, String>> os = system ? release.read() : Observation.seen(ImmutableMap.of());
        return new HostFacts(bootId(), instanceId, Maps.toMap(asked, fact -> switch (fact.scope()) {
            case OS -> os.map(values -> Optional.ofNullable(values.get(fact.attribute())));
            case INSTANCE, METADATA -> metadata.apply(fact);
        }));
    }

    private Observation<String> bootId() {
        try {
            return Observation.seen(procFs.bootId());
        } catch (IOException e) {
            return Observation.unseen("the boot id can't be read: " + e.getMessage());
        }
    }
}
