package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Plays simulated histories, a different set for each commit. A failing one is shrunk and prints its seed and its story; {@code
 * -Dsimulation.seed=N} plays that one alone, {@code -Dsimulation.seeds=N} so many. {@code reconciler/soak} plays them until stopped.
 */
@Isolated("Takes every processor.")
class SimulationTest {
    private static final int SEEDS = Integer.getInteger("simulation.seeds", Boolean.getBoolean("nightly") ? 2000 : 25);

    @Test
    void everyHistoryKeepsItsInvariantsAndConvergesOnceFaultsStop() throws Exception {
        Long only = Long.getLong("simulation.seed");
        long first = only == null ? CommitSeed.first() : only;
        Optional<Failure> failure = LongStream.range(first, only == null ? first + SEEDS : first + 1)
                .parallel()
                .mapToObj(seed -> Failure.of(Scenario.of(seed), Agent.REAL))
                .flatMap(Optional::stream)
                .findFirst();
        failure.ifPresent(found -> fail(found.shrunk().report(), found.violation()));
    }
}
