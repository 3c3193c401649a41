package io.homeostat.desired.model;

import com.google.common.collect.ImmutableSortedMap;
import java.util.Optional;

/**
 * What belongs on this machine.
 *
 * @param declarations one winning a workload, all sources considered
 */
public record DesiredState(ImmutableSortedMap<WorkloadId, Declaration> declarations, Policy policy) {
    public static final DesiredState EMPTY = new DesiredState(ImmutableSortedMap.of());

    public DesiredState(ImmutableSortedMap<WorkloadId, Declaration> declarations) {
        this(declarations, Policy.NONE);
    }

    public DesiredState under(Policy next) {
        return new DesiredState(declarations, next);
    }

    public Optional<Declaration> get(WorkloadId id) {
        return Optional.ofNullable(declarations.get(id));
    }

    /**
     * What holds for every workload on this machine, whoever declares it.
     *
     * @param signaturesRequired whether an archive without a good signature may not be installed
     */
    public record Policy(boolean signaturesRequired) {
        /** Where nothing is configured. */
        public static final Policy NONE = new Policy(false);

        public static Policy of(AgentConfig config) {
            return new Policy(config.signatures().require());
        }
    }
}
