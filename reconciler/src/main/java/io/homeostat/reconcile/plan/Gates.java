package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.lifecycle.MaintenanceWindow;
import io.homeostat.desired.model.lifecycle.MaxDisruption;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Company.Need;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Collectors;

/** What holds back a workload for the sake of others, or until a better time. Repairs are held back by dependencies only. */
final class Gates {
    /** Others are looked at again after this; as a rule somebody says so before. */
    private static final Duration LOOK_AGAIN = Duration.ofSeconds(5);

    private static final int NAMED = 3;

    private final Situation situation;
    private final Declaration declared;
    private final Draft draft;

    Gates(Situation situation, Declaration declared, Draft draft) {
        this.situation = situation;
        this.declared = declared;
        this.draft = draft;
    }

    /** Waits until what depends on it has been stopped. */
    static void awaitDependants(Situation situation, Draft draft) {
        ImmutableList<WorkloadId> leaving = situation.company().leaving();
        if (!leaving.isEmpty()) {
            String words = "it is stopped after what depends on it: " + first(leaving);
            draft.also(words);
            draft.waitFor(
                    Reason.WAITING_FOR_DEPENDANTS, words, situation.now().plus(LOOK_AGAIN), Step.Wait.Kind.PROGRESS);
        }
    }

    /** Whether something that the workload depends on does not come by itself, as far as is known. */
    boolean isBlocked() {
        Company company = situation.company();
        if (!company.cycle().isEmpty()) {
            draft.waitFor(
                    Reason.DEPENDENCY_CYCLE,
                    "it depends on itself: " + Dependencies.words(company.cycle()),
                    Instant.MAX,
                    Step.Wait.Kind.DECLARATION);
            return true;
        }
        if (isMissing(Need.State.UNDECLARED)) {
            draft.waitFor(Reason.WAITING_FOR_DEPENDENCY, missing(), Instant.MAX, Step.Wait.Kind.DECLARATION);
            return true;
        }
        if (isMissing(Need.State.STUCK)) {
            draft.waitFor(Reason.WAITING_FOR_DEPENDENCY, missing(), lookAgain(), Step.Wait.Kind.RETRY);
            return true;
        }
        return false;
    }

    /** Lets what the workload depends on come first; the steps after it are a forecast. To be called with a cause that has a name. */
    void letOthersComeFirst() {
        if (isMissing(Need.State.COMING)) {
            draft.also(missing());
            draft.waitFor(Reason.WAITING_FOR_DEPENDENCY, missing(), lookAgain(), Step.Wait.Kind.PROGRESS);
        }
    }

    private boolean isMissing(Need.State state) {
        return situation.company().needs().stream().anyMatch(need -> need.state() == state);
    }

    private String missing() {
        return "it is started after what it depends on, and "
                + situation.company().needs().stream()
                        .filter(need -> need.state() != Need.State.WELL)
                        .map(Need::words)
                        .collect(Collectors.joining(", "));
    }

    private Instant lookAgain() {
        return situation.now().plus(LOOK_AGAIN);
    }

    /** Waits until a time, unless that has come; says whether it has to. */
    boolean pauseUntil(Instant until, Reason why, String words, Step.Wait.Kind kind) {
        if (!situation.now().isBefore(until)) {
            return false;
        }
        draft.waitFor(why, words, until, kind);
        return true;
    }

    /** Whether what runs may not be changed now. */
    boolean awaitWindow() {
        Optional<Instant> opens = windowOpens();
        opens.ifPresent(time -> draft.waitFor(
                Reason.WAITING_FOR_WINDOW,
                "its declaration changed, and its maintenance window is closed",
                time,
                Step.Wait.Kind.RETRY));
        return opens.isPresent();
    }

    /** When what was seen well may be changed to what is declared; empty when that is so now, or nothing of it was ever well. */
    Optional<Instant> windowOpens() {
        MaintenanceWindow window = declared.workload().lifecycle().maintenanceWindow();
        ProvenRevision proven = situation.history().proven();
        boolean changes = proven != null && !proven.hash().equals(declared.hash());
        return window == null || !changes ? Optional.empty() : window.opensAfter(situation.now());
    }

    /** Whether too many others are down for this one to go down as well. */
    boolean awaitOthers() {
        MaxDisruption disruption = declared.workload().lifecycle().maxDisruption();
        ImmutableList<Need> down = situation.company().down();
        if (disruption == null || down.size() < disruption.count()) {
            return false;
        }
        long stuck =
                down.stream().filter(other -> other.state() == Need.State.STUCK).count();
        draft.waitFor(
                Reason.WAITING_FOR_OTHERS,
                "at most " + disruption.count() + " with its label " + disruption.label() + " may be down at a time: "
                        + first(down.stream().map(Need::id).collect(ImmutableList.toImmutableList())),
                lookAgain(),
                stuck < disruption.count() ? Step.Wait.Kind.PROGRESS : Step.Wait.Kind.RETRY);
        return true;
    }

    /** Some of many, so that a thousand make no thousand lines. */
    private static String first(ImmutableList<WorkloadId> ids) {
        return ids.stream().limit(NAMED).map(WorkloadId::toString).collect(Collectors.joining(", "))
                + (ids.size() > NAMED ? " and " + (ids.size() - NAMED) + " more" : "");
    }
}
