package io.homeostat.reconcile.command.output;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.Defect;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.reconcile.command.output.WorkloadResult.Kind;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Change;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What passes did, workload by workload: told to a display as it happens, and summed up at the end. */
public final class PassSummary implements PassListener {
    private static final double NANOS_A_SECOND = 1e9;

    private final Set<WorkloadId> declared;
    private final Set<WorkloadId> asked;
    private final Function<WorkloadId, ImmutableList<Change>> changed;
    private final ProgressDisplay display;
    private final Overtaken overtaken;
    private final ImmutableSet<Reason> rest;
    private final Ticker ticker;
    private final Map<WorkloadId, Track> tracks = new TreeMap<>();

    private static final class Track {

        /** Why what was asked for does not come about, though nothing failed; empty as long as it may. */
        String superseded = "";

        /** Whether something of it ran and had started at the last look, and is not what somebody wants followed by another launch. */
        boolean runs;

        /** What was to be done before anything was. */
        private @Nullable WorkloadPlan intent;

        /** Whether what is declared was undone meanwhile. */
        private boolean undone;

        private @Nullable WorkloadPlan last;
        private @Nullable WorkloadResult result;

        /** A pass that broke off; a later one that did not does not make it good. */
        private @Nullable WorkloadResult defect;

        /** What is being done; null between passes. */
        private @Nullable Step step;

        private @Nullable Download download;
    }

    /**
     * How far a download is.
     *
     * @param since when the first of its bytes were heard of, in nanoseconds of the ticker
     * @param already how many there were then
     */
    private record Download(long since, long already, long now, long done, long total) {
        String words() {
            double seconds = (now - since) / NANOS_A_SECOND;
            return "downloading, " + Text.bytes(done) + (total < 0 ? "" : " of " + Text.bytes(total))
                    + (seconds > 0 ? ", " + Text.bytes((long) ((done - already) / seconds)) + " a second" : "");
        }
    }

    /**
     * @param all the workloads that passes are about
     * @param declared those of them that are wanted
     * @param asked those that somebody asked about: of others only what was done is told, not what was not; empty: all
     * @param changed what was just declared otherwise of one, in place or not
     * @param overtaken whether somebody else wants something else meanwhile
     * @param rest why a workload may be at rest and is done, though it is not as declared; empty: for nothing. With RESTART_REQUESTED
     *     also because, once that is done, what is to replace it can't be installed
     * @param ticker measures how fast downloads are
     */
    public PassSummary(
            Set<WorkloadId> all,
            Set<WorkloadId> declared,
            Set<WorkloadId> asked,
            Function<WorkloadId, ImmutableList<Change>> changed,
            ProgressDisplay display,
            Overtaken overtaken,
            ImmutableSet<Reason> rest,
            Ticker ticker) {
        this.ticker = ticker;
        this.overtaken = overtaken;
        this.rest = rest;
        this.changed = changed;
        this.declared = declared;
        this.asked = asked;
        this.display = display;
        all.forEach(id -> tracks.put(id, new Track()));
    }

    @Override
    public Progress download(WorkloadId id) {
        Progress shown = display.download(id);
        return (done, total) -> {
            shown.bytes(done, total);
            downloaded(id, done, total);
        };
    }

    private synchronized void downloaded(WorkloadId id, long done, long total) {
        Track track = tracks.get(id);
        if (track == null) {
            return;
        }
        Download before = track.download;
        long now = ticker.read();
        track.download = before == null || done < before.done()
                ? new Download(now, done, now, done, total)
                : new Download(before.since(), before.already(), now, done, total);
    }

    @Override
    public void starting(Step step) {
        begun(step);
        display.under(step.workload(), gerund(step));
    }

    private synchronized void begun(Step step) {
        Track track = tracks.get(step.workload());
        if (track != null) {
            track.step = step;
            track.download = null;
        }
    }

    @Override
    public synchronized void looked(Situation situation, WorkloadPlan plan) {
        Track track = tracks.get(situation.id());
        if (track != null) {
            track.superseded = overtaken.by(situation, plan);
            track.runs = situation.seen().instances()
                            instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances)
                    && instances.stream()
                            .anyMatch(one -> one.liveness() instanceof Liveness.Running
                                    && one.instance().phase() == Phase.STARTED
                                    && !one.instance()
                                            .launchId()
                                            .equals(situation.history().run().again()));
        }
    }

    private boolean isAsked(WorkloadId id) {
        return asked.isEmpty() || asked.contains(id);
    }

    @Override
    public synchronized void finished(WorkloadId id, PassResult next) {
        Track track = Objects.requireNonNull(tracks.get(id), "a workload nobody asked for");
        WorkloadPlan plan = next.plan();
        track.last = plan;
        track.undone |= plan.action() == Action.ROLLBACK;
        Step begun = track.step;
        track.step = null;
        WorkloadPlan intent = track.intent;
        boolean nothingYet = intent == null
                || intent.action() == Action.WAIT
                // What it waited for is over.
                || (intent.action() == plan.action()
                        && intent.next().filter(Step.Wait.class::isInstance).isPresent());
        boolean upgradesWhatWasRepaired =
                intent != null && intent.action() == Action.RESTART && plan.action() == Action.UPGRADE && !isRestart();
        boolean hasMovedSince = track.result != null
                && plan.action() != Action.WAIT
                && plan.reason().isDrift()
                && !isRestart();
        boolean asRequested = isRestart() && plan.reasons().contains(Reason.RESTART_REQUESTED);
        if ((nothingYet && plan.action() != Action.NONE)
                || asRequested
                || upgradesWhatWasRepaired
                || hasMovedSince
                || (plan.action() == Action.ROLLBACK && !isRestart())) {
            track.intent = plan;
        }
        switch (next) {
            case PassResult.Again again -> {
                // Shown already, when the step began.
            }
            case PassResult.UnderWay(WorkloadPlan same, Step step) -> {
                track.step = step;
                if (!step.equals(begun)) {
                    // Begun before anybody listened, or before another step.
                    starting(step);
                }
                if (isRestarted(id)) {
                    end(track, rested(id, track, plan));
                }
            }
            case PassResult.Settled settled -> end(track, settled(id, track, plan));
            case PassResult.Later(WorkloadPlan later, Step.Wait wait) -> {
                if (wait.kind() == Step.Wait.Kind.PROGRESS) {
                    display.under(id, wait.why());
                } else if (rest.contains(later.reason()) || isRestarted(track, later)) {
                    end(track, rested(id, track, later));
                } else {
                    boolean heldBack = later.reason() == Reason.WAITING_FOR_WINDOW
                            || later.reason() == Reason.PAUSED
                            || later.reason() == Reason.STOPPED;
                    Kind kind = heldBack ? Kind.WAITING : Kind.FAILED;
                    end(track, new WorkloadResult(id, kind, later, wait.why() + repaired(track, later)));
                }
            }
        }
    }

    /** Whether the restart that somebody asked for is done, and only a fetch goes on, which is for another revision. */
    public synchronized boolean isRestarted(WorkloadId id) {
        Track track = Objects.requireNonNull(tracks.get(id), "a workload nobody asked for");
        return isRestart() && track.runs && hasBeenRequested(track);
    }

    private boolean isRestart() {
        return rest.contains(Reason.RESTART_REQUESTED);
    }

    /** Whether the restart that somebody asked for is done, and only what is to replace it some day can't be had, or was undone before. */
    private boolean isRestarted(Track track, WorkloadPlan later) {
        boolean onlyThat =
                later.reason() == Reason.INSTALL_FAILED || (later.reason() == Reason.REVISION_FAILED && !track.undone);
        return isRestart() && onlyThat && hasBeenRequested(track);
    }

    /** What was done for what runs in the place of a revision that has failed, as the end of a sentence. */
    private static String repaired(Track track, WorkloadPlan later) {
        WorkloadPlan intent = track.intent;
        return later.reason() == Reason.REVISION_FAILED
                        && intent != null
                        && intent.action() != Action.WAIT
                        && intent.reason().isDrift()
                ? "; what runs was repaired: " + intent.message()
                : "";
    }

    private static boolean hasBeenRequested(Track track) {
        return track.intent != null && track.intent.reasons().contains(Reason.RESTART_REQUESTED);
    }

    private synchronized void fail(WorkloadId id, String defect) {
        Track track = Objects.requireNonNull(tracks.get(id), "a workload nobody asked for");
        WorkloadPlan last = track.last == null ? notLookedAt(id) : track.last;
        track.defect = new WorkloadResult(id, Kind.FAILED, last, defect);
        end(track, track.defect);
    }

    private WorkloadResult settled(WorkloadId id, Track track, WorkloadPlan last) {
        if (track.intent == null) {
            ImmutableList<Change> changes = changed.apply(id);
            return changes.isEmpty()
                    ? new WorkloadResult(id, Kind.UNCHANGED, last, "")
                    : new WorkloadResult(id, Kind.CONVERGED, last.updatedInPlace(changes), "");
        }
        // What nobody declares and no state knows is stopped, with nothing to remove: a repair, as plan calls it.
        boolean stays = declared.contains(id) || track.intent.bucket() == Bucket.REPAIR;
        return new WorkloadResult(id, stays ? Kind.CONVERGED : Kind.REMOVED, track.intent, "");
    }

    private static WorkloadResult rested(WorkloadId id, Track track, WorkloadPlan last) {
        WorkloadPlan intent = track.intent;
        return intent != null && intent.action() != Action.WAIT
                ? new WorkloadResult(id, Kind.CONVERGED, intent, "")
                : new WorkloadResult(id, Kind.UNCHANGED, last, "");
    }

    private void end(Track track, WorkloadResult found) {
        WorkloadResult result = found;
        if (!track.superseded.isEmpty()) {
            // How it fares is the business of whoever wants something else now.
            result = isAsked(found.workload())
                    ? new WorkloadResult(found.workload(), Kind.FAILED, found.plan(), track.superseded)
                    : new WorkloadResult(found.workload(), Kind.UNCHANGED, found.plan(), "");
        }
        WorkloadResult before = track.result;
        track.result = result;
        if (!isTold(result) || (before != null && before.isSameEnd(result))) {
            display.again(result.workload());
        } else {
            display.result(result);
        }
    }

    /** Whether it is the business of whoever asked. What runs and nobody declares is everybody's. */
    public boolean isTold(WorkloadResult result) {
        WorkloadId id = result.workload();
        return isAsked(id) || !declared.contains(id) || !result.isLeftUndone();
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        if (problem instanceof StoreException) {
            display.under(id, problem.getMessage() + "; tried again soon");
        } else {
            fail(id, Defect.words(problem));
        }
    }

    /**
     * The results. A workload that has not come to an end has failed, unless nobody waited for it.
     *
     * @param why nothing more is done
     * @param waited those that were waited for; empty: all
     */
    public synchronized ImmutableList<WorkloadResult> results(String why, Set<WorkloadId> waited) {
        ImmutableList.Builder<WorkloadResult> results = ImmutableList.builder();
        for (Map.Entry<WorkloadId, Track> entry : tracks.entrySet()) {
            WorkloadId id = entry.getKey();
            Track track = entry.getValue();
            WorkloadResult result = track.defect == null ? track.result : track.defect;
            if (result == null) {
                if (!waited.isEmpty() && !waited.contains(id)) {
                    continue;
                }
                result = unfinished(id, track, why);
                track.result = result;
                // Whosever it is: it is what the time went to.
                display.result(result);
            }
            boolean nothingLeftOfIt = !declared.contains(id) && result.kind() == Kind.UNCHANGED;
            if (!nothingLeftOfIt) {
                results.add(result);
            }
        }
        return results.build();
    }

    /** Those that have not come to an end, whether they were waited for or not. */
    public synchronized ImmutableList<WorkloadId> unfinished() {
        return tracks.entrySet().stream()
                .filter(entry -> entry.getValue().result == null)
                .map(Map.Entry::getKey)
                .collect(ImmutableList.toImmutableList());
    }

    private static WorkloadResult unfinished(WorkloadId id, Track track, String why) {
        WorkloadPlan last = track.last;
        String at = at(track);
        if (last == null) {
            return new WorkloadResult(
                    id, Kind.FAILED, notLookedAt(id), at.isEmpty() ? why : why + ", it was at: " + at);
        }
        return new WorkloadResult(id, Kind.FAILED, last, why + ", it was at: " + at);
    }

    private static WorkloadPlan notLookedAt(WorkloadId id) {
        return new WorkloadPlan(
                id, Action.WAIT, Reason.START_NOT_FINISHED, "not looked at", ImmutableList.of(), null, null);
    }

    /** What was under way, or else is to be done next; empty when nobody has looked yet. */
    private static String at(Track track) {
        Download download = track.download;
        Step step = track.step;
        WorkloadPlan last = track.last;
        Step under = step != null || last == null || last.steps().isEmpty()
                ? step
                : last.steps().getFirst();
        if (under instanceof Step.Download) {
            return download == null ? "downloading, and nothing has come yet" : download.words();
        }
        if (step != null) {
            return gerund(step);
        }
        return last == null ? "" : last.message().isEmpty() ? last.action().word() : last.message();
    }

    private static String gerund(Step step) {
        return switch (step) {
            case Step.Download s -> "downloading";
            case Step.Unpack s -> "unpacking";
            case Step.Activate s -> "activating";
            case Step.Launch s -> "launching";
            case Step.Start s -> "starting";
            case Step.ApplyConfig s -> "configuring";
            case Step.Reload s -> "reloading";
            case Step.Reboot s -> "booting its guest anew";
            case Step.SetLimits s -> "setting limits";
            case Step.Stop s -> "stopping";
            case Step.Remove s -> "removing";
            case Step.CollectGarbage s -> "cleaning up";
            case Step.Wait s -> "waiting";
        };
    }
}
