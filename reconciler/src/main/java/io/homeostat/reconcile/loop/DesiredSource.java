package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.WorkloadId;
import java.util.Optional;

/** What is wanted of a workload now; asked anew in every pass, because it may change in the middle of one. */
public interface DesiredSource {
    Optional<Declaration> declaration(WorkloadId id);
}
