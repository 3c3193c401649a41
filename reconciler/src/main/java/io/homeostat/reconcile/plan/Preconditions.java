package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.plan.Relations.Need;
import io.homeostat.reconcile.plan.Relations.Parent;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What has to hold before a target is launched, or takes the place of what runs: its dependencies, its maintenance window, its disruption
 * budget, its limits, and the backoff of its failures. Each question answers what to wait for, or nothing, and changes nothing. Repairs
 * wait for dependencies only.
 */
final class Preconditions {
    /** Others are looked at again after this; as a rule somebody says so before. */
    static final Duration LOOK_AGAIN = Duration.ofSeconds(5);

    private static final int NAMED = 3;

    private final Situation situation;
    private final Declaration declared;
    private final Target target;
    private final Relations relations;

    Preconditions(Situation situation, Declaration declared, Target target) {
        this.situation = situation;
        this.declared = declared;
        this.target = target;
        this.relations = target.hash().equals(declared.hash())
                ? situation.relations()
                : situation.relations().of(target.workload());
    }

    /** What depends on a workload that is to be removed, or stopped, is stopped before it. */
    static Optional<Hold> dependants(Situation situation) {
        ImmutableList<WorkloadId> leaving = situation.relations().leaving();
        return leaving.isEmpty()
                ? Optional.empty()
                : Optional.of(new Hold(
                        Reason.WAITING_FOR_DEPENDANTS,
                        "it is stopped after what depends on it: " + first(leaving),
                        situation.now().plus(LOOK_AGAIN),
                        Step.Wait.Kind.PROGRESS));
    }

    /** Those that matter to the target. */
    Relations relations() {
        return relations;
    }

    /** Whether the target is the last good revision, because what is declared has failed. */
    boolean isUndoing() {
        return undone().isPresent();
    }

    /** Whether somebody wants the target in the place of what is declared, where it has neither worked nor ended yet. */
    boolean isRollingBack() {
        // Crashes are not counted in every plan, and what ran until then may have ended since.
        Exit last = situation.history().run().lastExit();
        return undone().filter(undone -> undone.byRequest() && undone.replacedAt() == null)
                .filter(undone ->
                        undone.meanwhile() != null || last == null || !last.at().isAfter(undone.at()))
                .isPresent();
    }

    /** Whether it has not been seen to work there yet. */
    boolean isGoingBack() {
        return undone().filter(undone -> undone.replacedAt() == null).isPresent();
    }

    /** Whether the target only runs until what somebody wants in its place is here. */
    boolean runsOn() {
        return situation
                .history()
                .undone(declared.hash())
                .map(FailedRevision::meanwhile)
                .filter(meanwhile -> meanwhile.hash().equals(target.hash()))
                .isPresent();
    }

    /** Whether that is so because somebody wants it. */
    boolean isRolledBack() {
        return undone().filter(FailedRevision::byRequest).isPresent();
    }

    private Optional<FailedRevision> undone() {
        return situation
                .history()
                .undone(declared.hash())
                .filter(_ -> !target.hash().equals(declared.hash()) && !runsOn());
    }

    /** For a launch while nothing runs. */
    Optional<Hold> launch() {
        return limits().or(this::change)
                .or(this::backoff)
                .or(this::dependencies)
                .or(this::files);
    }

    /** A workload that may not run without its limits is not launched where they can't be enforced, and nothing is stopped for it. */
    Optional<Hold> limits() {
        return new Confinement(situation, target.workload())
                .obstacle()
                .map(why -> Hold.forDeclaration(Reason.LIMITS_NOT_ENFORCEABLE, why));
    }

    /** For stopping an instance to launch the same again: one that could not be launched is left as it is, however it fares. */
    Optional<Hold> anotherLaunch() {
        return limits().or(this::files);
    }

    /**
     * A declaration that would be refused; or files that a launch reads and that are not there, or not as they have to be. Who is still on
     * the way and the target depends on may write them.
     */
    Optional<Hold> files() {
        return unusableFile("");
    }

    /** The same, for an instance that runs. */
    Optional<Hold> filesOfNextLaunch() {
        return unusableFile("; it runs on with what it was launched with, and could not be launched again");
    }

    private Optional<Hold> unusableFile(String consequence) {
        String refusal = situation.seen().refusal();
        if (!refusal.isEmpty() && target.hash().equals(declared.hash())) {
            return Optional.of(Hold.forDeclaration(Reason.CONFIG_REFUSED, refusal + consequence));
        }
        return anyIs(Need.State.COMING) || target.traits().launchFiles().isEmpty()
                ? Optional.empty()
                : target.traits().launchFiles().stream()
                        .flatMap(file -> file.problem(situation.seen().files()).stream())
                        .findFirst()
                        .map(why -> Hold.forDeclaration(Reason.FILE_UNUSABLE, why + consequence));
    }

    /** For a replacement because of another content of files only; what was read at the launch of what runs is kept nowhere. */
    Optional<Hold> renewal(Instance instance) {
        Optional<Hold> hold = anotherLaunch().or(this::tooManyRenewals);
        return hold.isPresent() || !situation.runsWell(instance)
                ? hold
                : windowOfRenewal().or(this::dependencies).or(this::disruption);
    }

    /** For a restart that somebody asks for, at any time: he has a reason, and its group may be asked all at once. */
    Optional<Hold> request(Instance instance) {
        Optional<Hold> hold = anotherLaunch();
        return hold.isPresent() || !situation.runsWell(instance)
                ? hold
                : restart()
                        .map(why -> new Hold(
                                why.reason(), "a restart was asked for; " + why.words(), why.until(), why.kind()));
    }

    /** A program that writes such a file itself must not be restarted for ever. */
    private Optional<Hold> tooManyRenewals() {
        return Hold.until(
                BackoffPolicies.afterRepair(situation),
                situation,
                Reason.ENVIRONMENT_CHANGED,
                "a file that it was launched with changed again; it was restarted for that just before, so the workload may"
                        + " change it itself",
                Step.Wait.Kind.RETRY);
    }

    private Optional<Hold> windowOfRenewal() {
        MaintenanceWindow window = declared.workload().lifecycle().maintenanceWindow();
        return Optional.ofNullable(window)
                .flatMap(one -> one.opensAfter(situation.now()))
                .map(time -> new Hold(
                        Reason.WAITING_FOR_WINDOW,
                        "a file that it was launched with changed, and its maintenance window is closed",
                        time,
                        Step.Wait.Kind.RETRY));
    }

    /** Something that the target depends on and that, as far as is known, does not become well by itself. */
    Optional<Hold> dependencies() {
        if (!relations.cycle().isEmpty()) {
            return Optional.of(Hold.forDeclaration(
                    Reason.DEPENDENCY_CYCLE,
                    "it depends on itself: " + Dependencies.words(situation.id(), relations.cycle())));
        }
        if (anyIs(Need.State.UNDECLARED)) {
            return Optional.of(Hold.forDeclaration(Reason.WAITING_FOR_DEPENDENCY, missing()));
        }
        return anyIs(Need.State.STUCK)
                ? Optional.of(new Hold(Reason.WAITING_FOR_DEPENDENCY, missing(), lookAgain(), Step.Wait.Kind.RETRY))
                : Optional.empty();
    }

    /** Dependencies that are on their way; the steps after this wait are a forecast. */
    Optional<Hold> comingDependencies() {
        return anyIs(Need.State.COMING)
                ? Optional.of(new Hold(Reason.WAITING_FOR_DEPENDENCY, missing(), lookAgain(), Step.Wait.Kind.PROGRESS))
                : Optional.empty();
    }

    /** For an instance that outlives what it is part of. */
    Optional<Hold> parentOfNextLaunch() {
        Parent parent = relations.parent();
        return parent == null || parent.need().state() != Need.State.UNDECLARED
                ? Optional.empty()
                : Optional.of(Hold.forDeclaration(
                        Reason.WAITING_FOR_DEPENDENCY,
                        "it runs on, and could not be launched again: "
                                + parent.need().words()));
    }

    private boolean anyIs(Need.State state) {
        return relations.needs().stream().anyMatch(need -> need.state() == state);
    }

    private String missing() {
        return "it is started after what it depends on, and "
                + relations.needs().stream()
                        .filter(need -> need.state() != Need.State.WELL)
                        .map(Need::words)
                        .collect(Collectors.joining(", "));
    }

    private Instant lookAgain() {
        return situation.now().plus(LOOK_AGAIN);
    }

    /** Outside its maintenance window a workload is brought back as it was, not changed to what is declared. */
    Optional<Hold> change() {
        return !isUndoing() && !runsOn() && target.hash().equals(declared.hash()) ? window() : Optional.empty();
    }

    /** As {@link #change()}, for changes in place. */
    Optional<Hold> change(Instance instance) {
        return instance.target().equals(declared.hash()) ? Optional.empty() : change();
    }

    /** For files that have changed beside a declaration that has not: what is well takes that, too, only in its window. */
    Optional<Hold> reload(String words) {
        MaintenanceWindow window = declared.workload().lifecycle().maintenanceWindow();
        return window == null || situation.history().lastKnownGood() == null
                ? Optional.empty()
                : window.opensAfter(situation.now())
                        .map(time -> new Hold(
                                Reason.WAITING_FOR_WINDOW,
                                words + ", and its maintenance window is closed",
                                time,
                                Step.Wait.Kind.RETRY));
    }

    private Optional<Hold> window() {
        return windowOpens()
                .map(time -> new Hold(
                        Reason.WAITING_FOR_WINDOW,
                        "its declaration changed, and its maintenance window is closed",
                        time,
                        Step.Wait.Kind.RETRY));
    }

    Optional<Instant> windowOpens() {
        return windowOpens(declared, situation.history(), situation.now());
    }

    /** When what was well may be changed to what is declared; empty when that is now, or when nothing of it was ever well. */
    static Optional<Instant> windowOpens(Declaration declared, WorkloadHistory history, Instant now) {
        MaintenanceWindow window = declared.workload().lifecycle().maintenanceWindow();
        LastKnownGood lastKnownGood = history.lastKnownGood();
        boolean changes = lastKnownGood != null && !lastKnownGood.hash().equals(declared.hash());
        return window == null || !changes ? Optional.empty() : window.opensAfter(now);
    }

    /**
     * For stopping an instance to launch another one: one that is well is not changed before its time, nor stopped when the other could
     * not be started.
     */
    Optional<Hold> replacement(Instance instance, boolean repairs) {
        if (!situation.runsWell(instance)) {
            return Optional.empty();
        }
        if (isUndoing() && !repairs) {
            // What somebody has undone may be well, and several of a group may be undone at once.
            return isRolledBack() ? disruption() : Optional.empty();
        }
        boolean changes = !repairs && !instance.target().equals(declared.hash());
        if (!changes) {
            return dependencies();
        }
        Optional<Hold> hold = window().or(this::dependencies);
        // The run of a one-shot takes nobody's place.
        return Work.isOneShot(instance) ? hold : hold.or(this::disruption);
    }

    /** For a restart that only the declaration asks for. */
    Optional<Hold> restart() {
        return dependencies().or(this::disruption);
    }

    /** Too many others are down for this one to go down as well. */
    private Optional<Hold> disruption() {
        MaxDisruption disruption = declared.workload().lifecycle().maxDisruption();
        ImmutableList<Need> down = situation.relations().down();
        if (disruption == null || down.size() < disruption.count()) {
            return Optional.empty();
        }
        long stuck =
                down.stream().filter(other -> other.state() == Need.State.STUCK).count();
        return Optional.of(new Hold(
                Reason.WAITING_FOR_OTHERS,
                "at most " + disruption.count() + " with its label " + disruption.label() + " may be down at a time: "
                        + first(down.stream().map(Need::id).collect(ImmutableList.toImmutableList())),
                lookAgain(),
                stuck < disruption.count() ? Step.Wait.Kind.PROGRESS : Step.Wait.Kind.RETRY));
    }

    /** Launches before this one have failed: a revision that was once well has crashed, another one did not start. */
    private Optional<Hold> backoff() {
        Restart policy = target.lifecycle().restart();
        if (isKnownToWork()) {
            Failures crashes = situation.history().run().crashes();
            return givenUp(crashes, policy)
                    .or(() -> Hold.until(
                            BackoffPolicies.afterCrash(situation, crashes, policy),
                            situation,
                            Reason.CRASH_LOOP,
                            "failed " + times(crashes.count()) + " in a row: " + crashes.error(),
                            Step.Wait.Kind.RETRY));
        }
        Failures starts = situation.history().attempts().start();
        int allowed = target.lifecycle().start().attempts();
        if (starts.fatal()) {
            return Optional.of(Hold.forDeclaration(Reason.START_FAILED, "could not start: " + starts.error()));
        }
        if (starts.count() >= allowed) {
            return givenUp(starts, policy)
                    .or(() -> Hold.until(
                            BackoffPolicies.afterLastStart(situation, starts, policy, allowed),
                            situation,
                            Reason.START_FAILED,
                            "start failed " + times(starts.count()) + ": " + starts.error(),
                            Step.Wait.Kind.RETRY));
        }
        return betweenStarts("start failed " + times(starts.count()) + " of " + allowed + ": " + starts.error());
    }

    /** While attempts are left. */
    Optional<Hold> betweenStarts(String words) {
        Failures starts = situation.history().attempts().start();
        return Hold.until(
                BackoffPolicies.betweenStarts(
                        situation, starts, target.lifecycle().start()),
                situation,
                Reason.START_FAILED,
                words,
                Step.Wait.Kind.PROGRESS);
    }

    private boolean isKnownToWork() {
        FailedRevision undone = situation.undone();
        boolean othersRun = undone != null && undone.meanwhile() != null;
        return runsOn() || (target.isLastKnownGood(situation) && !othersRun);
    }

    private static Optional<Hold> givenUp(Failures failures, Restart policy) {
        return isGivenUp(failures.count(), policy)
                ? Optional.of(Hold.forDeclaration(
                        Reason.GIVEN_UP,
                        "given up after " + failures.count() + " failures in a row: " + failures.error()))
                : Optional.empty();
    }

    private static boolean isGivenUp(int failures, Restart policy) {
        return policy.policy() == Restart.Policy.NEVER
                ? failures > 0
                : policy.giveUpAfter() > 0 && failures > policy.giveUpAfter();
    }

    /** What follows when an instance is stopped because it has failed. */
    enum Aftermath {
        RESTARTED("it is restarted"),
        UNDONE("its declaration is undone"),
        GIVEN_UP("it is stopped and given up");

        private final String words;

        Aftermath(String words) {
            this.words = words;
        }

        String words() {
            return words;
        }
    }

    /** What one more failure of an instance of the target comes to. */
    Aftermath afterFailure(Instance instance) {
        WorkloadHistory history = situation.history();
        Restart policy = target.lifecycle().restart();
        boolean isTrial = declared.hash().equals(instance.target()) && !history.wasWell(declared.hash());
        if (!isTrial) {
            boolean tooMany = isGivenUp(history.run().crashes().count() + 1, policy);
            return isKnownToWork() && tooMany ? Aftermath.GIVEN_UP : Aftermath.RESTARTED;
        }
        int starts = history.attempts().start().count() + 1;
        if (starts < declared.workload().lifecycle().start().attempts()) {
            return Aftermath.RESTARTED;
        }
        LastKnownGood good = history.lastKnownGood();
        if (good != null && !good.workload().isOneShot()) {
            return Aftermath.UNDONE;
        }
        return isGivenUp(starts, policy) ? Aftermath.GIVEN_UP : Aftermath.RESTARTED;
    }

    private static String times(int count) {
        return count == 1 ? "once" : count + " times";
    }

    /** Some of many, so that a thousand make no thousand lines. */
    static String first(ImmutableList<WorkloadId> ids) {
        return ids.stream().limit(NAMED).map(WorkloadId::toString).collect(Collectors.joining(", "))
                + (ids.size() > NAMED ? " and " + (ids.size() - NAMED) + " more" : "");
    }
}
