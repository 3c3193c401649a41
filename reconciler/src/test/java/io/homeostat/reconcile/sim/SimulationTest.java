package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Plays many simulated histories. A failing one is shrunk and prints its seed and its story; {@code -Dsimulation.seed=N} plays that
 * one alone, {@code -Dsimulation.seeds=N} so many.
 */
@Isolated("Takes every processor.")
class SimulationTest {
    private static final int SEEDS = Integer.getInteger("simulation.seeds", Boolean.getBoolean("storms") ? 2000 : 300);

    @Test
    void everyHistoryKeepsItsInvariantsAndConvergesOnceFaultsStop() {
        Long only = Long.getLong("simulation.seed");
        LongStream seeds = only == null ? LongStream.rangeClosed(1, SEEDS) : LongStream.of(only);
        Optional<Failure> failure = seeds.parallel()
                .mapToObj(seed -> Failure.of(Fate.of(seed), Agent.REAL))
                .flatMap(Optional::stream)
                .findFirst();
        failure.ifPresent(found -> fail(found.shrunk().report(), found.violation()));
    }
}
