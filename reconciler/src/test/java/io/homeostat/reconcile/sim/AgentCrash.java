package io.homeostat.reconcile.sim;

/** The agent dies here: kill -9. What it had done to the machine and to the store stays. */
class AgentCrash extends RuntimeException {
    private static final long serialVersionUID = 1L;

    AgentCrash(String where) {
        // Many die in a history, and only the last words of each are of interest.
        super("the agent dies " + where, null, false, false);
    }

    /** The machine goes off here, and on again: nothing runs any more, and what was not made durable may be gone. */
    static final class PowerCut extends AgentCrash {
        private static final long serialVersionUID = 1L;

        PowerCut(String where) {
            super(where + ", in a power cut");
        }
    }
}
