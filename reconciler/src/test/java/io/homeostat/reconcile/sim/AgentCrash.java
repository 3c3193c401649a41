package io.homeostat.reconcile.sim;

/** The agent dies here: kill -9. What it had done to the machine and to the store stays. */
final class AgentCrash extends RuntimeException {
    private static final long serialVersionUID = 1L;

    AgentCrash(String where) {
        super("agent crash " + where);
    }
}
