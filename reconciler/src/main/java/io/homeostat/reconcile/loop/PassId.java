package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.WorkloadId;
import java.util.Locale;
import org.slf4j.MDC;

/**
 * One pass over one workload.
 *
 * @param number counts all passes of this process, from 1
 */
public record PassId(WorkloadId workload, long number, Trigger trigger) {

    /** Adds the pass to what this thread logs, until it is closed. */
    public static final class PassMarks implements AutoCloseable {
        /** Which workload: {@code plugin/ops-agent}. */
        public static final String WORKLOAD = "workload";

        /** The number of the pass. */
        public static final String RECONCILIATION = "reconciliation";

        /** The word of the pass's {@link Trigger}. */
        public static final String TRIGGER = "trigger";

        private PassMarks() {}

        static PassMarks set(PassId pass) {
            MDC.put(WORKLOAD, pass.workload().brief());
            MDC.put(RECONCILIATION, Long.toString(pass.number()));
            MDC.put(TRIGGER, pass.trigger().word());
            return new PassMarks();
        }

        @Override
        public void close() {
            MDC.remove(WORKLOAD);
            MDC.remove(RECONCILIATION);
            MDC.remove(TRIGGER);
        }
    }

    /** What made a pass due. Only for the log: a pass does the same whatever its trigger. */
    public enum Trigger {
        /** The agent, or the command, has just begun. */
        START,
        /** A process has ended. */
        EXIT,
        /** A file has changed: a declaration's, or one of the machine's. */
        FILES,
        /** The state of a workload that it depends on, or shares a disruption budget with, has changed. */
        NEIGHBOUR,
        /** Somebody asked for it: a command, a control plane. */
        REQUEST,
        /** The step before it was done: look again. */
        STEP,
        /** What was under way should be over by now. */
        WAIT,
        /** The pause after a failure is over. */
        RETRY,
        /** It was time to look again, whatever happened. */
        RESYNC;

        /** As it stands in the log. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
