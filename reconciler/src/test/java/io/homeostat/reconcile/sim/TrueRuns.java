package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Calendar;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** Which one-shots have really run, and so what may make them run again; and whose end has been told. */
final class TrueRuns {
    private final Map<WorkloadId, Run> last = new HashMap<>();
    private final Set<String> told = new HashSet<>();

    private record Run(String launchId, String work, String bootId, Instant at) {}

    /** A program has begun, and the agent can know. */
    void begun(Instance instance, String bootId) {
        String work = Objects.requireNonNull(instance.inputs().get("work"));
        last.put(instance.workload(), new Run(instance.launchId(), work, bootId, instance.launchedAt()));
    }

    /** It is not wanted any more, or somebody asks for it by hand: it may run again. */
    void excuse(WorkloadId id) {
        last.remove(id);
    }

    /** Of a run that was seen, but neither written down nor noted on the disk, nobody knows any more. */
    void powerFails(BiPredicate<WorkloadId, String> isKnown) {
        last.entrySet().removeIf(entry -> !isKnown.test(entry.getKey(), entry.getValue().launchId));
    }

    /** The database is lost, and with it what has run. */
    void forget() {
        last.clear();
        told.clear();
    }

    void beforeLaunch(Step.Launch step, String bootId, Instant now) {
        Triggers triggers = step.declared().lifecycle().execution().triggers();
        Run run = last.get(step.workload());
        if (triggers == null || run == null) {
            return;
        }
        if (!run.work.equals(LaunchInputs.recorded(step.declared(), null).get("work"))) {
            // Whatever comes of it, this is the last run then.
            excuse(step.workload());
            return;
        }
        Duration every = triggers.every();
        boolean due = (triggers.startup() && !run.bootId.equals(bootId))
                || (every != null && (run.at.isAfter(now.plus(every)) || !now.isBefore(run.at.plus(every))));
        Calendar calendar = triggers.schedule();
        if (calendar != null) {
            due |= !now.isBefore(calendar.next(run.at).orElseThrow())
                    || run.at.isAfter(calendar.next(now).orElseThrow());
        }
        boolean fired = due;
        Invariant.A_TRIGGER_RUNS_ONCE.require(fired, () -> step + " again after " + run);
    }

    /** How a run ended is written down together with the event of it. */
    void written(Change change) {
        WorkloadHistory history = change.history();
        OneShotRun run = history == null ? null : history.run().oneShot();
        boolean tells = change.events().stream()
                .anyMatch(event -> event.type() == EventType.PLUGIN_EXECUTION_COMPLETED
                        || event.type() == EventType.PLUGIN_EXECUTION_FAILED);
        Completed completed = history == null ? null : history.run().completed();
        if (completed != null && told.add(completed.launchId())) {
            Invariant.A_RUN_IS_TOLD_ONCE.require(tells, () -> "not told: " + completed + " in " + change.events());
            return;
        }
        if (run != null && run.hasStarted() && run.result() != OneShotRun.Result.RUNNING) {
            boolean isNew = told.add(run.launchId());
            Invariant.A_RUN_IS_TOLD_ONCE.require(
                    isNew == tells, () -> (tells ? "told again: " : "not told: ") + run + " in " + change.events());
        } else {
            Invariant.A_RUN_IS_TOLD_ONCE.require(
                    !tells || isFailedStart(run), () -> "the end of no run: " + change.events());
        }
    }

    private static boolean isFailedStart(@Nullable OneShotRun run) {
        return run != null && !run.hasStarted();
    }
}
