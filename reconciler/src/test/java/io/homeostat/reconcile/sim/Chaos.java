package io.homeostat.reconcile.sim;

import java.util.Random;

/** Where the dice fall. Everything random in a simulated history comes from here, so that its seed is all it takes to see it again. */
final class Chaos {
    private final Random random;
    private boolean faults = true;

    Chaos(long seed) {
        this.random = new Random(seed);
    }

    void stopFaults() {
        faults = false;
    }

    /** A fault with the given probability, in percent; never once faults have stopped. */
    boolean fault(int percent) {
        int roll = random.nextInt(100);
        return faults && roll < percent;
    }

    boolean choose(int percent) {
        return random.nextInt(100) < percent;
    }

    int pick(int bound) {
        return random.nextInt(bound);
    }

    /** A point between two effects at which the agent may die. */
    void crashPoint(String where) {
        if (fault(3)) {
            throw new AgentCrash(where);
        }
    }
}
