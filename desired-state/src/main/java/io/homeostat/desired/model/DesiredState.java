package io.homeostat.desired.model;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import java.util.Optional;

/**
 * What belongs on this machine: of each workload the declaration that wins.
 *
 * @param declarations in the order of their workloads
 */
public record DesiredState(ImmutableMap<WorkloadId, Declaration> declarations, Policy policy) {
    public static final DesiredState EMPTY = new DesiredState(ImmutableSortedMap.of());

    public DesiredState(ImmutableSortedMap<WorkloadId, Declaration> declarations) {
        // Each pass looks up its own workload and its neighbours, and a sorted map compares names for each.
        this(ImmutableMap.copyOf(declarations), Policy.NONE);
    }

    public DesiredState under(Policy next) {
        return new DesiredState(declarations, next);
    }

    public Optional<Declaration> get(WorkloadId id) {
        return Optional.ofNullable(declarations.get(id));
    }

    /**
     * What holds for every workload, whoever declares it.
     *
     * @param signaturesRequired whether archives must have a good signature
     * @param continuous whether an agent enforces, so that what has to wait is done when its time comes
     */
    public record Policy(boolean signaturesRequired, boolean continuous) {
        /** Of an agent for which nothing is configured. */
        public static final Policy NONE = new Policy(false, true);

        /** Of an agent. */
        public static Policy of(AgentConfig config) {
            return new Policy(config.signatures().require(), true);
        }

        /** Why nothing of a workload may be installed, whatever its archive is; empty when it may. */
        public Optional<String> refusal(Workload workload) {
            Source source = workload.source();
            return signaturesRequired && source != null && source.signature() == null
                    ? Optional.of("revision " + BriefText.of(workload.revision())
                            + " is not signed, and signatures are required here; declare source.signature")
                    : Optional.empty();
        }

        /** While no agent runs. */
        public Policy once() {
            return new Policy(signaturesRequired, false);
        }
    }
}
