package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered of one workload.
 *
 * @param stored its instances, with those that are over and have yet to be destroyed
 * @param pause somebody's wish that it be left alone; null when there is none
 */
public record Remembered(
        WorkloadHistory history,
        ImmutableList<Instance> stored,
        @Nullable Pause pause) {
    /** Its instances that are not over. */
    public ImmutableList<Instance> instances() {
        return stored.stream().filter(instance -> !instance.isOver()).collect(ImmutableList.toImmutableList());
    }

    /** Whether something may be left of an instance that is over. */
    boolean hasRemains() {
        return stored.stream().anyMatch(Instance::isOver);
    }

    public static Remembered by(StateReader store, WorkloadId id) {
        return new Remembered(
                store.history(id), store.instances(id), store.pause(id).orElse(null));
    }

    /**
     * As it is known to be by now: how it was at its last look says nothing once all that had started then is gone. A pass of its own may
     * replace an instance while others ask about it, and a look may then fail. So that it is not gone counts only if the same is
     * remembered after the answer.
     *
     * @param again what is remembered when this is asked
     */
    Remembered unlessGone(Predicate<Instance> gone, Supplier<Remembered> again) {
        ImmutableList<Instance> started =
                instances().stream().filter(Instance::isStarted).collect(ImmutableList.toImmutableList());
        if (started.isEmpty()) {
            return this;
        }
        if (started.stream().allMatch(gone)) {
            return withoutConditions();
        }
        Remembered after = again.get();
        return after.equals(this) ? this : after.unlessGone(gone, again);
    }

    /** As one that is on its way down, and so is not well; whether it is disabled stays known. */
    public Remembered ending() {
        return new Remembered(
                history.withConditions(history.conditions().stream()
                        .filter(condition -> condition.type() == Condition.Type.DISABLED)
                        .collect(ImmutableList.toImmutableList())),
                stored,
                pause);
    }

    /** Without how it was when it was last looked at. */
    public Remembered withoutConditions() {
        return new Remembered(history.withConditions(ImmutableList.of()), stored, pause);
    }
}
