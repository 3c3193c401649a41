package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.FailedRevision;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.WorkloadHistory;

/** What a failure counts against, and when it undoes an upgrade. */
final class Failures {
    private Failures() {}

    /**
     * A launch failed, or its process did not start or ended: the trial of the declaration it was launched for, while that is
     * not proven; a crash afterwards.
     *
     * @param hash of the declaration it was launched for
     */
    static void ofLaunch(
            Situation situation, Notes notes, String hash, FailureCause cause, String error, boolean fatal) {
        Declaration declared = situation.declared();
        if (declared != null && Work.isOneShot(declared.workload())) {
            if (declared.hash().equals(hash)) {
                Runs.startFailed(situation, notes, declared, error, fatal);
            }
            return;
        }
        if (declared != null && declared.hash().equals(hash) && !isProven(notes.history(), hash)) {
            ofStart(situation, notes, declared, cause, error, fatal);
        } else {
            notes.run(run -> run.withCrashes(run.crashes().failed(situation.now(), error, false)));
        }
    }

    private static boolean isProven(WorkloadHistory history, String hash) {
        ProvenRevision proven = history.proven();
        return proven != null && proven.hash().equals(hash);
    }

    private static void ofStart(
            Situation situation, Notes notes, Declaration declared, FailureCause cause, String error, boolean fatal) {
        WorkloadHistory history = notes.history();
        Attempts starts = history.trial().start().failed(situation.now(), error, fatal);
        int allowed = declared.workload().lifecycle().start().attempts();
        boolean exhausted = fatal || starts.count() >= allowed;
        ProvenRevision proven = history.proven();
        String revision = declared.workload().revision();
        if (!exhausted || proven == null || Work.isOneShot(proven.workload())) {
            notes.trial(trial -> trial.withStart(starts));
            if (exhausted && (fatal || starts.count() == allowed)) {
                notes.failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, error);
            }
            return;
        }
        FailedRevision failed = history.failed();
        int times = failed != null && failed.hash().equals(declared.hash()) ? failed.times() + 1 : 1;
        notes.history(history.withTrial(history.trial().withStart(Attempts.NONE).withRestartToConfigure(false))
                .withFailed(new FailedRevision(declared.hash(), revision, times, situation.now(), error)));
        notes.event(EventType.PLUGIN_INSTALL_FAILED, revision, error);
        notes.event(
                EventType.AGENT_ROLLED_BACK,
                revision,
                "undone, going back to revision " + proven.workload().revision() + ": " + error);
    }
}
