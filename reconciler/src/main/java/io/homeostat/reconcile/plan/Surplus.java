package io.homeostat.reconcile.plan;

import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Orphaned;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Never two at once: of several processes only the newest one that lives may stay, and none that is left of one that is over. */
final class Surplus {
    private Surplus() {}

    /**
     * Writes down what has to be stopped.
     *
     * @param processes the oldest first
     * @param orphans names the cause when a process is over and has left children behind
     * @return the one that may stay; null when none runs
     */
    static @Nullable ObservedInstance stop(
            Situation situation, List<ObservedInstance> processes, Draft draft, Consumer<Orphaned> orphans) {
        ObservedInstance newest = null;
        for (ObservedInstance process : processes) {
            if (process.liveness() instanceof Orphaned orphaned) {
                orphans.accept(orphaned);
                draft.stop(process.instance(), Step.Stop.Cause.SURPLUS);
                continue;
            }
            if (newest != null) {
                draft.because(Action.STOP, Reason.PROCESS_SURPLUS, "more than one process of it runs");
                if (!Planner.waitIfPending(draft, situation, newest)) {
                    draft.stop(newest.instance(), Step.Stop.Cause.SURPLUS);
                }
            }
            newest = process;
        }
        return newest;
    }

    /** "process exited with status 1 and left 2 of its children behind". */
    static String words(Orphaned orphaned) {
        return "process " + orphaned.exit().words() + " and left " + orphaned.survivors() + " of its children behind";
    }
}
