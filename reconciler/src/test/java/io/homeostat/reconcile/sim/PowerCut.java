package io.homeostat.reconcile.sim;

/** The machine goes off here, and on again: nothing runs any more, and what was not made durable may be gone. */
final class PowerCut extends AgentCrash {
    private static final long serialVersionUID = 1L;

    PowerCut(String where) {
        super(where + ", in a power cut");
    }
}
