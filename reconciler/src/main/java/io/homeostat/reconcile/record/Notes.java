package io.homeostat.reconcile.record;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Attempts.Reported.ReportedFailure;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Collects the change that one observation or one outcome makes to what is remembered, and its events. */
final class Notes {
    private final Situation situation;
    private final String lastWords;
    private WorkloadHistory history;
    private boolean drop;
    private final List<Instance> instances = new ArrayList<>();
    private final List<String> ended = new ArrayList<>();
    private final List<Event> events = new ArrayList<>();

    Notes(Situation situation) {
        this(situation, "");
    }

    /** @param lastWords the end of its log, in one line; empty when it has not ended or said nothing */
    Notes(Situation situation, String lastWords) {
        this.situation = situation;
        this.lastWords = lastWords;
        this.history = situation.history();
    }

    WorkloadHistory history() {
        return history;
    }

    void history(WorkloadHistory next) {
        history = next;
    }

    void attempts(UnaryOperator<Attempts> change) {
        history = history.withAttempts(change.apply(history.attempts()));
    }

    void run(UnaryOperator<RunRecord> change) {
        history = history.withRun(change.apply(history.run()));
    }

    void drop() {
        drop = true;
    }

    void put(Instance instance) {
        instances.add(instance);
    }

    /** An instance is over. One that leaves something behind is remembered until that is removed. */
    void ended(Instance instance) {
        if (KindTraits.of(instance.workload().kind()).leavesRemains()) {
            put(instance.withPhase(Phase.ENDED, ""));
        } else {
            ended.add(instance.launchId());
        }
    }

    /** Whether an instance is over that has left something behind. */
    boolean leavesRemains() {
        return instances.stream().anyMatch(Instance::isOver);
    }

    /** How its process ended, with what it said last. Events of the end don't need that: they get the end of the log themselves. */
    String explained(String end) {
        return lastWords.isEmpty() ? end : end + "; its log ends with: " + lastWords;
    }

    void event(EventType type, String revision, String message) {
        events.add(new Event(situation.now(), situation.id(), revision, type, message));
        if (wentWell(type)) {
            told(Reported.of(history.attempts().reported().revision()));
        }
        Declaration declared = situation.declared();
        if (type == EventType.PLUGIN_INSTALL_FAILED
                && history.asked().apply() != null
                && declared != null
                && declared.workload().revision().equals(revision)) {
            applied();
            event(EventType.PLUGIN_CONFIG_APPLY, revision, "configuration received");
            event(EventType.PLUGIN_CONFIG_APPLY_FAILED, revision, "nothing runs that could take it: " + message);
        }
    }

    /** Tells what has become of an APPLY of that configuration, if somebody waits for that: it was started with it. */
    void startedWith(String config, String revision) {
        if (isAsked(config)) {
            event(EventType.PLUGIN_CONFIG_APPLY, revision, "configuration received");
            event(EventType.PLUGIN_CONFIG_APPLIED, revision, "it was started with this configuration");
            applied();
        }
    }

    /** What has become of an APPLY of that configuration is told. */
    void applied(String config) {
        if (isAsked(config)) {
            applied();
        }
    }

    private boolean isAsked(String config) {
        Apply apply = history.asked().apply();
        return apply != null && apply.config().equals(config);
    }

    private void applied() {
        history = history.withAsked(history.asked().withApply(null));
    }

    /** Tells that an INSTALL has failed with a change of what was installed already, if somebody waits for that. */
    void installFailed(String revision, FailureCause cause, String error) {
        if (history.asked().install()) {
            failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, error);
        }
    }

    /** Tells of a failure, unless it has been told since something last went well: it is tried again and again. */
    void failure(EventType type, String revision, FailureCause cause, String message) {
        Reported told = history.attempts().reported();
        ReportedFailure failure = new ReportedFailure(type, revision, cause);
        if (!told.failures().contains(failure)) {
            event(type, revision, message);
            told(told.and(failure));
        }
    }

    private void told(Reported next) {
        attempts(attempts -> attempts.withReported(next));
    }

    private static boolean wentWell(EventType type) {
        return type == EventType.PLUGIN_STARTED
                || type == EventType.PLUGIN_INSTALLED
                || type == EventType.PLUGIN_CONFIG_APPLIED
                || type == EventType.AGENT_RELOADED;
    }

    /**
     * A launch failed, or its instance did not start or ended. It counts against the declaration it was launched for as long as that
     * has never been seen well, and may undo it then; afterwards it is a crash.
     *
     * @param hash of the declaration it was launched for
     */
    void launchFailed(String hash, FailureCause cause, String error, boolean fatal) {
        Declaration declared = situation.declared();
        if (declared != null && declared.workload().isOneShot()) {
            if (declared.hash().equals(hash)) {
                OneShotRecorder.startFailed(situation, this, declared, error, fatal);
            }
            return;
        }
        if (declared != null && declared.hash().equals(hash) && !history.wasWell(hash)) {
            startFailed(declared, cause, error, fatal);
        } else {
            launched(hash);
            run(run -> run.withCrashes(run.crashes().failed(situation.now(), error, false)));
        }
    }

    /** Whether somebody had that declaration undone, though it works. */
    private boolean isRolledBack(String hash) {
        return history.undone(hash).filter(FailedRevision::byRequest).isPresent();
    }

    private void startFailed(Declaration declared, FailureCause cause, String error, boolean fatal) {
        Failures starts = history.attempts().start().failed(situation.now(), error, fatal);
        int allowed = declared.workload().lifecycle().start().attempts();
        boolean exhausted = fatal || starts.count() >= allowed;
        LastKnownGood lastKnownGood = history.lastKnownGood();
        String revision = declared.workload().revision();
        if (!exhausted || lastKnownGood == null || lastKnownGood.workload().isOneShot()) {
            attempts(attempts -> attempts.withStart(starts));
            if (exhausted && (fatal || starts.count() == allowed)) {
                failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, error);
            }
            return;
        }
        int times =
                1 + history.undone(declared.hash()).map(FailedRevision::times).orElse(0);
        history = history.withAttempts(
                        history.attempts().withStart(Failures.NONE).withRestartToConfigure(false))
                .withFailed(new FailedRevision(declared.hash(), revision, times, situation.now(), error));
        event(EventType.PLUGIN_INSTALL_FAILED, revision, error);
        event(
                EventType.AGENT_ROLLED_BACK,
                revision,
                "undone, going back to revision "
                        + BriefText.of(lastKnownGood.workload().revision()) + ": " + error);
    }

    /** What is declared was seen to do what it should: from now on it is the last good revision, and its failures are forgotten. */
    void knownGood(Declaration declared, Target target) {
        if (isRolledBack(declared.hash())) {
            // That it works is no reason to keep it.
            return;
        }
        LastKnownGood before = history.lastKnownGood();
        Workload workload = declared.workload();
        // What somebody holds by hand is not as whoever sent the INSTALL wants it.
        boolean asked = history.asked().install() && situation.pause() == null;
        if (asked || ObservationRecorder.isNewProgram(before, workload)) {
            event(EventType.PLUGIN_INSTALLED, workload.revision(), "installed, and works");
            history = history.withAsked(history.asked().withInstall(false));
        }
        if (before != null
                && before.hash().equals(declared.hash())
                && Objects.equals(before.directory(), target.directory())) {
            return;
        }
        history = history.succeededBy(new LastKnownGood(workload, declared.hash(), target.directory()))
                .withFailed(null)
                .withAttempts(Attempts.of(declared.hash()).withReported(Reported.of(workload.revision())));
    }

    /**
     * What stands in has begun with its first launch, also with one that fails, or with what runs as that already; what ran until then is
     * not to come back.
     */
    void launched(String hash) {
        FailedRevision failed = history.failed();
        LastKnownGood lastKnownGood = history.lastKnownGood();
        if (failed != null
                && failed.meanwhile() != null
                && lastKnownGood != null
                && hash.equals(lastKnownGood.hash())) {
            event(EventType.AGENT_ROLLED_BACK, failed.revision(), failed.error());
            // The crashes were those of what ran until now.
            history =
                    history.withFailed(failed.launched()).withRun(history.run().withCrashes(Failures.NONE));
        }
    }

    /** The last good revision, as long as it stands in for a declaration that was undone and is not known to work there yet. */
    Optional<Target> standIn(ImmutableList<Installation> installations) {
        LastKnownGood lastKnownGood = history.lastKnownGood();
        Declaration declared = situation.declared();
        return lastKnownGood == null || declared == null
                ? Optional.empty()
                : history.undone(declared.hash())
                        .filter(undone -> undone.replacedAt() == null)
                        .map(undone -> Target.of(lastKnownGood, installations));
    }

    /** What stands in was seen to do what it should. */
    void replaced(Target standIn) {
        history = history.succeededBy(new LastKnownGood(standIn.workload(), standIn.hash(), standIn.directory()))
                .withFailed(Objects.requireNonNull(history.failed()).withReplacedAt(situation.now()));
    }

    Change change() {
        return new Change(
                situation.id(),
                drop || history.equals(situation.history()) ? null : history,
                drop,
                ImmutableList.copyOf(instances),
                ImmutableList.copyOf(ended),
                ImmutableList.copyOf(events));
    }
}
