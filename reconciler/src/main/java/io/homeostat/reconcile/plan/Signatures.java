package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Policy;
import io.homeostat.desired.model.Source;

/** What can be said of signatures before an archive is there. Pure. */
public final class Signatures {
    private Signatures() {}

    static boolean isMissing(Policy policy, Source source) {
        return policy.signaturesRequired() && source.signature() == null;
    }

    static String missing(String revision) {
        return "revision " + revision + " is not signed, and signatures are required here; declare source.signature";
    }
}
