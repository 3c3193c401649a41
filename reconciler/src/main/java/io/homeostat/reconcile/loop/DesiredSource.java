package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Policy;
import io.homeostat.desired.model.WorkloadId;
import java.util.Optional;

/** What is wanted of a workload now; asked anew in every pass, because it may change in the middle of one. */
public interface DesiredSource {
    Optional<Declaration> declaration(WorkloadId id);

    /** What holds for every workload. */
    default Policy policy() {
        return Policy.NONE;
    }

    /** What is wanted as long as nobody wants anything else. */
    static DesiredSource of(DesiredState desired) {
        return new DesiredSource() {
            @Override
            public Optional<Declaration> declaration(WorkloadId id) {
                return desired.get(id);
            }

            @Override
            public Policy policy() {
                return desired.policy();
            }
        };
    }
}
