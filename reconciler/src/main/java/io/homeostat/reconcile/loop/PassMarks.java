package io.homeostat.reconcile.loop;

import org.slf4j.MDC;

/** Marks whatever this thread logs as a pass's, until it is closed. */
public final class PassMarks implements AutoCloseable {
    /** Which workload: {@code plugin/ops-agent}. */
    public static final String WORKLOAD = "workload";

    /** The number of the pass. */
    public static final String RECONCILIATION = "reconciliation";

    /** The word of the pass's {@link Trigger}. */
    public static final String TRIGGER = "trigger";

    private PassMarks() {}

    static PassMarks set(PassId pass) {
        MDC.put(WORKLOAD, pass.workload().toString());
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
