package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limit of steps that are due again as soon as they are done, as when something else undoes them. The planner backs off from what fails;
 * this is for what it does not know of, so that no step is ever repeated at full speed. Thread-safe.
 */
final class RepeatedSteps {
    private static final Logger LOG = LoggerFactory.getLogger(RepeatedSteps.class);

    /** How often a step is done without a pause. */
    static final int AT_ONCE = 10;

    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofSeconds(1), Duration.ofMinutes(5));

    /** By what is the same of a step each time. */
    private final ConcurrentMap<WorkloadId, Map<Step, Repetition>> steps = new ConcurrentHashMap<>();

    /**
     * Repetition of one step since its workload last was at rest.
     *
     * @param last when the step was last done
     * @param reported whether the log has the pause after that
     */
    private record Repetition(int times, Instant last, boolean reported) {
        Instant next() {
            return times < AT_ONCE ? last : last.plus(BACKOFF.bound(times - AT_ONCE + 1));
        }
    }

    /** The pause before a step; empty when it may be done now. A clock that was set back ends it. */
    Optional<Step.Wait> pause(WorkloadPlan plan, Step step, Instant now) {
        Repetition before = steps.getOrDefault(step.workload(), Map.of()).get(same(step));
        if (before == null || !now.isBefore(before.next()) || now.isBefore(before.last())) {
            return Optional.empty();
        }
        String why = step.word() + " was done " + before.times()
                + " times in a row, and is to be done again"
                + (plan.message().isEmpty() ? "" : ": " + plan.message())
                + "; another program may undo it";
        if (!before.reported()) {
            LOG.warn("[{}] {}", step.workload().brief(), why);
            put(step, new Repetition(before.times(), before.last(), true));
        }
        return Optional.of(new Step.Wait(step.workload(), before.next(), Step.Wait.Kind.RETRY, why));
    }

    /** Notes that a step was done. */
    void done(Step step, Instant now) {
        Repetition before = steps.getOrDefault(step.workload(), Map.of()).get(same(step));
        put(step, new Repetition(before == null ? 1 : before.times() + 1, now, false));
    }

    /** A workload has one pass at a time. */
    private void put(Step step, Repetition repetition) {
        steps.computeIfAbsent(step.workload(), id -> new ConcurrentHashMap<>()).put(same(step), repetition);
    }

    /** The step without what is new each time: what is repaired gets another directory, and another instance of its parent. */
    private static Step same(Step step) {
        return switch (step) {
            case Step.Unpack unpack ->
                new Step.Unpack(
                        unpack.workload(),
                        unpack.key(),
                        unpack.signature(),
                        unpack.revision(),
                        "",
                        unpack.entryPoint());
            case Step.Activate activate ->
                new Step.Activate(activate.workload(), activate.directory() == null ? null : "");
            case Step.Launch launch -> new Step.Launch(launch.declared(), launch.hash(), null);
            case Step.CollectGarbage collect -> new Step.CollectGarbage(collect.workload(), ImmutableList.of());
            default -> step;
        };
    }

    /** Forgets the steps of a workload that has nothing to do now, or waits for something. */
    void atRest(WorkloadId id) {
        steps.remove(id);
    }
}
