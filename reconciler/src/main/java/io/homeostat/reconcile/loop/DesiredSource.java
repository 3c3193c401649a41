package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import java.util.Optional;

/** What is wanted of a workload now; asked anew in every pass, because it may change in the middle of one. */
public interface DesiredSource {
    /** All that is wanted. The same instance as long as the same is wanted. */
    DesiredState now();

    default Optional<Declaration> declaration(WorkloadId id) {
        return now().get(id);
    }

    /** What is wanted as long as nobody wants anything else. */
    static DesiredSource of(DesiredState desired) {
        return () -> desired;
    }
}
