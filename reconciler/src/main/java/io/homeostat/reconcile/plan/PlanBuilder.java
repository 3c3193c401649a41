package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Builds the plan of one workload, step by step. The first reason given is the plan's. */
final class PlanBuilder {
    /** For a workload that is no longer declared and was never well, so that its own timeout is not known. */
    private static final Duration DEFAULT_STOP_TIMEOUT = Duration.ofSeconds(30);

    /** Reasons that somebody may have removed without another declaration. */
    private static final ImmutableSet<Reason> RETRIED_BY_HAND =
            Sets.immutableEnumSet(Reason.GIVEN_UP, Reason.INSTALL_FAILED, Reason.START_FAILED);

    private final Situation situation;
    private final ImmutableList.Builder<Step> steps = ImmutableList.builder();
    private int count;
    private boolean held;
    private Action action = Action.NONE;
    private Reason reason = Reason.AT_DESIRED_STATE;
    private String message = "";
    private final Set<Reason> reasons = new LinkedHashSet<>();
    private @Nullable String after;
    private Reason reasonAtRest = Reason.AT_DESIRED_STATE;
    private String messageAtRest = "";
    private @Nullable Instant due;

    PlanBuilder(Situation situation) {
        this.situation = situation;
    }

    void because(Action what, Reason why, String words) {
        if (reason == Reason.AT_DESIRED_STATE) {
            action = what;
            reason = why;
            message = words;
        }
    }

    void because(Action what, Drift drift) {
        because(what, drift.reason(), drift.words());
    }

    /** As {@link #because}; after another reason, in addition to it. */
    void and(Action what, Reason why, String words) {
        because(what, why, words);
        if (reason != why && reasons.add(why)) {
            also(words);
        }
    }

    void and(Action what, Drift drift) {
        and(what, drift.reason(), drift.words());
    }

    /** Appends to the message. */
    void also(String words) {
        message = message.isEmpty() ? words : message + "; " + words;
    }

    /** The reason and message of a plan that stays without steps. */
    void atRestBecause(Reason why, String words) {
        reasonAtRest = why;
        messageAtRest = words;
    }

    /** The revision that will run, when it is not the declared one. */
    void after(String revision) {
        after = revision;
    }

    /** When there will be something to do, in a plan that stays without steps. */
    void dueAt(Instant time) {
        due = time;
    }

    void add(Step step) {
        steps.add(step);
        count++;
    }

    /** Whether there is a wait for a retry or for a person: what comes after it is not known. */
    boolean isHeld() {
        return held;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Adds the wait that a question found to be necessary, if it did; says whether it did. */
    boolean waitIf(Optional<Hold> found) {
        found.ifPresent(this::waitFor);
        return found.isPresent();
    }

    void waitFor(Hold hold) {
        waitFor(hold.reason(), hold.words(), hold.until(), hold.kind());
    }

    void waitFor(Reason why, String words, Instant until, Step.Wait.Kind kind) {
        boolean saidAlready = switch (why) {
            case CANNOT_OBSERVE,
                    UNCLAIMED,
                    LIMITS_NOT_ENFORCEABLE,
                    FILE_UNUSABLE,
                    CONFIG_REFUSED,
                    PAUSED,
                    STOPPED,
                    ROLLED_BACK,
                    FACTS_UNKNOWN,
                    GUEST_LOST,
                    RUN_FAILED -> true;
            // When they are looked at again is of no account: that ends when others are well.
            case WAITING_FOR_DEPENDENCY, WAITING_FOR_OTHERS -> kind == Step.Wait.Kind.RETRY;
            default -> false;
        };
        String whole = saidAlready ? words : words + whatEndsIt(why, until, kind);
        because(Action.WAIT, why, whole);
        add(new Step.Wait(situation.id(), until, kind, whole));
        held |= kind != Step.Wait.Kind.PROGRESS;
    }

    /** An absolute time, so that the words do not change while it is waited for. */
    private String whatEndsIt(Reason why, Instant until, Step.Wait.Kind kind) {
        return switch (kind) {
            case PROGRESS -> "";
            case RETRY -> nextTry(why, until);
            case DECLARATION -> {
                boolean byHand = RETRIED_BY_HAND.contains(why);
                yield byHand && !situation.policy().continuous()
                        ? nextTry(why, until)
                        : "; waits for another declaration"
                                + (byHand
                                        ? " or homeostat resume "
                                                + situation.id().brief()
                                        : "");
            }
        };
    }

    private String nextTry(Reason why, Instant until) {
        if (situation.policy().continuous()) {
            return "; next try at " + until.truncatedTo(ChronoUnit.SECONDS);
        }
        if (why == Reason.REVISION_FAILED) {
            return "; no agent runs that would try it again, homeostat resume "
                    + situation.id().brief() + " has the next homeostat apply do it";
        }
        if (situation.declared() == null) {
            return "; no agent runs that would try again, homeostat delete "
                    + situation.id().brief() + " does";
        }
        FailedRevision undone = situation.undone();
        if (undone != null && undone.byRequest()) {
            // Apply would take the rollback back.
            return "; no agent runs that would try again, homeostat start "
                    + situation.id().brief() + " does";
        }
        return "; no agent runs that would try again, the next homeostat apply of it does"
                + (why == Reason.WAITING_FOR_WINDOW ? ", from " + until.truncatedTo(ChronoUnit.SECONDS) + " on" : "");
    }

    /** What runs in an instance that is well is stopped before it; a sick one may not even let it end. */
    void stop(Instance instance, Step.Stop.Cause cause) {
        ImmutableList<WorkloadId> parts = situation.relations().parts();
        boolean isWell = instance.phase() == Instance.Phase.STARTED
                && situation.history().run().healthySince() != null;
        if (isWell && cause != Step.Stop.Cause.SURPLUS && !parts.isEmpty()) {
            String words = "it is stopped after what runs in it: " + Preconditions.first(parts);
            also(words);
            Instant until = situation.now().plus(Preconditions.LOOK_AGAIN);
            add(new Step.Wait(situation.id(), until, Step.Wait.Kind.PROGRESS, words, parts));
        }
        add(new Step.Stop(instance, cause, cause == Step.Stop.Cause.REMOVED, howToStop()));
    }

    private Lifecycle.Stop howToStop() {
        Declaration declared = situation.declared();
        if (declared != null) {
            return declared.workload().lifecycle().stop();
        }
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        return lastKnownGood == null
                ? new Lifecycle.Stop(DEFAULT_STOP_TIMEOUT)
                : lastKnownGood.workload().lifecycle().stop();
    }

    WorkloadPlan build() {
        ImmutableList<Step> list = steps.build();
        if (list.isEmpty()) {
            return new WorkloadPlan(
                    situation.id(),
                    Action.NONE,
                    reasonAtRest,
                    messageAtRest,
                    list,
                    before(),
                    after(),
                    ImmutableList.of(reasonAtRest),
                    ImmutableList.of(),
                    due);
        }
        return backoffOfUpkeep(list.get(0))
                .orElseGet(() -> new WorkloadPlan(
                        situation.id(),
                        action,
                        reason,
                        message,
                        list,
                        before(),
                        after(),
                        ImmutableSet.<Reason>builder()
                                .add(reason)
                                .addAll(reasons)
                                .build()
                                .asList(),
                        ImmutableList.of(),
                        null));
    }

    /** Steps that any machine in order can do are backed off from when they fail, whatever they are part of. */
    private Optional<WorkloadPlan> backoffOfUpkeep(Step first) {
        Failures failures = situation.history().attempts().upkeep();
        boolean concerned = switch (first) {
            case Step.Stop s -> true;
            case Step.Activate s -> true;
            case Step.Remove s -> true;
            case Step.CollectGarbage s -> true;
            case Step.Download s -> false;
            case Step.Unpack s -> false;
            case Step.Launch s -> false;
            case Step.Start s -> false;
            case Step.ApplyConfig s -> false;
            case Step.Reload s -> false;
            case Step.Reboot s -> false;
            case Step.SetLimits s -> false;
            // What is to be stopped before goes down once for each try.
            case Step.Wait wait -> !wait.parts().isEmpty();
        };
        Instant retry = BackoffPolicies.afterUpkeep(situation, failures);
        if (!concerned || !situation.now().isBefore(retry)) {
            return Optional.empty();
        }
        String words = "could not " + (first instanceof Step.Wait ? "stop" : first.word()) + ": " + failures.error();
        PlanBuilder pause = new PlanBuilder(situation);
        pause.waitFor(Reason.STEP_FAILED, words, retry, Step.Wait.Kind.RETRY);
        return Optional.of(pause.build());
    }

    private @Nullable Facts before() {
        if (situation.seen().instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances)
                && !instances.isEmpty()) {
            return new Facts(instances.get(instances.size() - 1).instance().revision());
        }
        Declaration declared = situation.declared();
        FailedRevision undone = situation.undone();
        if (undone != null && undone.meanwhile() != null) {
            return new Facts(undone.meanwhile().workload().revision());
        }
        if (action == Action.ROLLBACK && declared != null) {
            return new Facts(undone == null ? declared.workload().revision() : undone.revision());
        }
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        return lastKnownGood == null ? null : new Facts(lastKnownGood.workload().revision());
    }

    private @Nullable Facts after() {
        // What is waited for is as a rule what is declared.
        if (after != null && action != Action.WAIT) {
            return new Facts(after);
        }
        Declaration declared = situation.declared();
        return declared == null ? null : new Facts(declared.workload().revision());
    }
}
