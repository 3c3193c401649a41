package io.homeostat.reconcile.status;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.reconcile.plan.Schedule;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Traits;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How a one-shot fares.
 *
 * @param run the last one of what is declared now; null when that has not run yet
 * @param nextDue when time alone makes it run again; null when it does not
 */
public record LastRun(@Nullable OneShotRun run, @Nullable Instant nextDue) {

    /** Null of what is no one-shot, and of what nobody declares. */
    static @Nullable LastRun of(Situation situation) {
        Declaration declared = situation.declared();
        return declared == null || declared.workload().lifecycle().execution().triggers() == null
                ? null
                : new LastRun(
                        Schedule.lastRun(situation, declared).orElse(null),
                        new Schedule(situation, declared).next().orElse(null));
    }

    /** Of the configuration that the last run had; empty when there was none. */
    String configHash(Situation situation) {
        Declaration declared = situation.declared();
        boolean ran = run != null && run.hasStarted();
        return ran && declared != null ? Traits.of(declared.workload().spec()).configHash() : "";
    }

    String error() {
        return run == null ? "" : run.error();
    }
}
