package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadSpec;

/** Provides the {@link Traits} of one kind. */
public interface KindTraits {
    Kind kind();

    /** The same for every declaration of the kind, so that it is known of what is no longer declared, too. */
    Traits.Start start();

    /**
     * The traits of a declaration.
     *
     * @param spec of this kind
     */
    Traits traits(WorkloadSpec spec);
}
