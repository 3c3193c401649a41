package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Test;

/**
 * Runs many simulated histories. A failing one prints its seed and its story; {@code -Dsimulation.seed=N} runs that one alone,
 * {@code -Dsimulation.seeds=N} runs so many.
 */
class SimulationTest {
    private static final int SEEDS = Integer.getInteger("simulation.seeds", 500);

    @Test
    void everyHistoryKeepsItsInvariantsAndConvergesOnceFaultsStop() {
        Long only = Long.getLong("simulation.seed");
        if (only != null) {
            run(only);
            return;
        }
        for (long seed = 1; seed <= SEEDS; seed++) {
            run(seed);
        }
    }

    private static void run(long seed) {
        Simulation simulation = new Simulation(seed);
        try {
            simulation.live(40);
            simulation.calmDown();
            simulation.assertConverged();
            simulation.assertDryRunForetells();
        } catch (AssertionError | RuntimeException e) {
            fail(
                    "seed " + seed + ": " + e.getMessage() + "\n" + tail(simulation.story())
                            + "\nreplay with -Dsimulation.seed=" + seed,
                    e);
        }
    }

    private static String tail(String story) {
        String[] lines = story.split("\n", -1);
        int from = Math.max(0, lines.length - Integer.getInteger("simulation.lines", 80));
        return String.join("\n", java.util.Arrays.asList(lines).subList(from, lines.length));
    }
}
