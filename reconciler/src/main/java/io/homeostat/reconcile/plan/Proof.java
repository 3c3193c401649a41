package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Told;
import io.homeostat.desired.state.history.Trial;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** That what is declared was seen to do what it should: from then on it is the last good revision, and its trial is over. */
final class Proof {
    private Proof() {}

    /** Nothing is noted of what is proven already. */
    static void note(Notes notes, Declaration declared, Target target) {
        ProvenRevision before = notes.history().proven();
        if (isSame(before, declared, target)) {
            return;
        }
        Workload workload = declared.workload();
        if (Bookkeeping.isNewProgram(before, workload)) {
            notes.event(EventType.PLUGIN_INSTALLED, workload.revision(), "");
        }
        notes.history(notes.history()
                .withProven(new ProvenRevision(workload, declared.hash(), target.directory()))
                .withFailed(null)
                .withTrial(Trial.of(declared.hash()).withTold(Told.of(workload.revision()))));
    }

    private static boolean isSame(@Nullable ProvenRevision proven, Declaration declared, Target target) {
        return proven != null
                && proven.hash().equals(declared.hash())
                && Objects.equals(proven.directory(), target.directory());
    }
}
