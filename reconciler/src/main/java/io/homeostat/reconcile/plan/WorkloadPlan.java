package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What to do about one workload, why, and in which steps. No steps: nothing is left to do.
 *
 * @param reason the first of {@code reasons}
 * @param message for people; no secrets in it
 * @param before what runs or is installed; null when nothing is
 * @param after what will be there; null when nothing will
 * @param reasons all that is known to differ by itself
 * @param changes what differs in the declaration, value by value, when somebody compared it
 * @param due when nothing is to be done now, or only fetched: the time at which something will be, though nothing changes; null when
 *     there is none
 */
public record WorkloadPlan(
        WorkloadId workload,
        Action action,
        Reason reason,
        String message,
        ImmutableList<Step> steps,
        @Nullable Facts before,
        @Nullable Facts after,
        ImmutableList<Reason> reasons,
        ImmutableList<Change> changes,
        @Nullable Instant due) {

    /** One with nothing to do later, as long as nothing changes, for one reason. */
    public WorkloadPlan(
            WorkloadId workload,
            Action action,
            Reason reason,
            String message,
            ImmutableList<Step> steps,
            @Nullable Facts before,
            @Nullable Facts after) {
        this(
                workload,
                action,
                reason,
                message,
                steps,
                before,
                after,
                ImmutableList.of(reason),
                ImmutableList.of(),
                null);
    }

    /** What is shown of a workload before and after. */
    public record Facts(String revision) {}

    /**
     * A value of a declaration that differs; masked where it is secret.
     *
     * @param path such as {@code spec.health.interval}
     * @param before null when there was none
     * @param after null when there will be none
     */
    public record Change(
            String path, @Nullable String before, @Nullable String after) {}

    /** The groups that a plan's summary counts. */
    public enum Bucket {
        INSTALL,
        UPDATE,
        REPAIR,
        REMOVE,
        WAITING,
        UNCHANGED
    }

    /** Whether nothing is to be done because it is not to run here, rather than because it does as declared. */
    public boolean isDisabledAtRest() {
        return action == Action.NONE && reason == Reason.DISABLED;
    }

    /** The first thing to do; everything after it is a forecast. */
    public Optional<Step> next() {
        return steps.isEmpty() ? Optional.empty() : Optional.of(steps.get(0));
    }

    /** What is part of the workload and is stopped before it. */
    public ImmutableSet<WorkloadId> parts() {
        return steps.stream()
                .filter(Step.Wait.class::isInstance)
                .flatMap(step -> ((Step.Wait) step).parts().stream())
                .collect(ImmutableSet.toImmutableSet());
    }

    /** The same with the forecast of another one. */
    WorkloadPlan followedBy(WorkloadPlan other) {
        ImmutableList<Step> all =
                ImmutableList.<Step>builder().addAll(steps).addAll(other.steps).build();
        return new WorkloadPlan(
                workload,
                action,
                reason,
                message + "; then " + other.message,
                all,
                before,
                other.after,
                reasonsWith(other),
                changes,
                due);
    }

    /** The same, saying for what else another one follows, the steps of which can't be foretold from here. */
    WorkloadPlan announcing(WorkloadPlan other) {
        String more = other.reasons.stream()
                .filter(next -> !reasons.contains(next))
                .map(next -> next.name().toLowerCase(Locale.ROOT).replace('_', ' '))
                .collect(Collectors.joining(", "));
        return new WorkloadPlan(
                workload,
                action,
                reason,
                more.isEmpty() ? message : message + "; then " + more,
                steps,
                before,
                other.after,
                reasonsWith(other),
                changes,
                due);
    }

    private ImmutableList<Reason> reasonsWith(WorkloadPlan other) {
        return ImmutableSet.<Reason>builder()
                .addAll(reasons)
                .addAll(other.reasons)
                .build()
                .asList();
    }

    /** The same, with what is due beside a fetch. */
    WorkloadPlan dueAt(@Nullable Instant time) {
        return new WorkloadPlan(workload, action, reason, message, steps, before, after, reasons, changes, time);
    }

    /** The same with what differs in the declaration. */
    public WorkloadPlan withChanges(ImmutableList<Change> differences) {
        return new WorkloadPlan(workload, action, reason, message, steps, before, after, reasons, differences, due);
    }

    /** The same with one more reason, unless it has it. */
    public WorkloadPlan also(Reason another) {
        ImmutableList<Reason> all = ImmutableSet.<Reason>builder()
                .addAll(reasons)
                .add(another)
                .build()
                .asList();
        return new WorkloadPlan(workload, action, reason, message, steps, before, after, all, changes, due);
    }

    /** What differs where nobody has declared the workload before. */
    public static final ImmutableList<Change> NEWLY_DECLARED = ImmutableList.of(new Change("declaration", null, "new"));

    /** Of one without steps: what differs takes none, and is obeyed once it is stored. */
    public WorkloadPlan updatedInPlace(ImmutableList<Change> differences) {
        boolean isNew = differences.equals(NEWLY_DECLARED);
        String what = isNew
                ? "newly declared"
                : differences.stream().map(Change::path).collect(Collectors.joining(", ")) + " changed";
        return new WorkloadPlan(
                workload,
                isNew ? Action.DECLARE : Action.UPDATE,
                Reason.SETTINGS_CHANGED,
                what + (message.isEmpty() ? "" : "; " + message),
                steps,
                before,
                after,
                ImmutableList.of(Reason.SETTINGS_CHANGED),
                differences,
                due);
    }

    /** Whether only the machine has moved; settings that nothing has to be done for are no reason of a repair. */
    public boolean isDrift() {
        return reasons.stream().allMatch(one -> one.isDrift() || one == Reason.SETTINGS_CHANGED) && reason.isDrift();
    }

    /** The group this plan counts to. */
    public Bucket bucket() {
        return switch (action) {
            case NONE -> Bucket.UNCHANGED;
            case WAIT -> Bucket.WAITING;
            case REMOVE -> Bucket.REMOVE;
            case DECLARE -> Bucket.INSTALL;
            case INSTALL,
                    UPGRADE,
                    ROLLBACK,
                    REINSTALL,
                    CONFIGURE,
                    UPDATE,
                    RELOAD,
                    RESTART,
                    ACTIVATE,
                    STOP,
                    RUN,
                    CLEANUP -> {
                if (isDrift()) {
                    yield Bucket.REPAIR;
                }
                yield action == Action.INSTALL ? Bucket.INSTALL : Bucket.UPDATE;
            }
        };
    }
}
