package io.homeostat.observe.host;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the machine as a whole. Looks up only what it is asked for, so that a workload without rules never waits for a metadata
 * server.
 */
public final class HostObserver {
    private static final HostFact ID = new HostFact(Rule.Scope.INSTANCE, "id");

    private final ProcFs procFs;
    private final OsRelease release;
    private final String instanceId;
    private final Function<HostFact, Observation<Optional<String>>> metadata;
    /** From the metadata server; it never changes. */
    private volatile @Nullable String ownId;

    /** @param metadata looks up facts of the scopes instance and metadata, within a bounded time */
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
            case INSTANCE -> fact.equals(ID) ? id() : metadata.apply(fact);
            case METADATA -> metadata.apply(fact);
        }));
    }

    /** Without an answer from a metadata server, the id of the instance that this state belongs to. */
    private Observation<Optional<String>> id() {
        String known = ownId;
        if (known != null) {
            return Observation.seen(Optional.of(known));
        }
        if (metadata.apply(ID) instanceof Observation.Seen<Optional<String>>(Optional<String> answer)
                && answer.isPresent()) {
            ownId = answer.get();
            return Observation.seen(answer);
        }
        return Observation.seen(Optional.of(instanceId));
    }

    private Observation<String> bootId() {
        try {
            return Observation.seen(procFs.bootId());
        } catch (IOException e) {
            return Observation.unseen("the boot id can't be read: " + e.getMessage());
        }
    }
}
