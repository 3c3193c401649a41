package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Policy;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import java.util.Optional;

/** What can be said of signatures before an archive is there. Pure. */
public final class Signatures {
    private Signatures() {}

    static boolean isMissing(Policy policy, Source source) {
        return policy.signaturesRequired() && source.signature() == null;
    }

    static String missing(String revision) {
        return "revision " + revision + " is not signed, and signatures are required here; declare source.signature";
    }

    /**
     * The event of an installation that isn't even tried, because nobody has signed it. Told once, by the pass that finds it.
     *
     * @param situation with the conditions as the pass before has left them
     */
    public static Optional<Event> refused(Situation situation, WorkloadPlan plan) {
        Declaration declared = situation.declared();
        boolean told = situation.history().conditions().stream()
                .filter(condition -> condition.type() == Condition.Type.CONVERGED)
                .anyMatch(before -> before.reason() == Reason.SIGNATURE_MISSING
                        && before.message().equals(plan.message()));
        if (declared == null || told || plan.reason() != Reason.SIGNATURE_MISSING) {
            return Optional.empty();
        }
        return Optional.of(new Event(
                situation.now(),
                situation.id(),
                declared.workload().revision(),
                EventType.PLUGIN_INSTALL_FAILED,
                plan.message()));
    }
}
