package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.fail;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.homeostat.reconcile.plan.Planner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Plays simulated histories, a different set for each commit. A failing one is shrunk and prints its seed and its story; {@code
 * -Dsimulation.seed=N} plays that one alone, {@code -Dsimulation.seeds=N} so many. {@code reconciler/soak} plays them until stopped.
 */
@Isolated("Takes every processor.")
class SimulationTest {
    private static final int SEEDS = Integer.getInteger("simulation.seeds", Boolean.getBoolean("storms") ? 2000 : 200);

    @Test
    void everyHistoryKeepsItsInvariantsAndConvergesOnceFaultsStop() throws Exception {
        Long only = Long.getLong("simulation.seed");
        long first = only == null ? firstSeed() : only;
        Optional<Failure> failure = LongStream.range(first, only == null ? first + SEEDS : first + 1)
                .parallel()
                .mapToObj(seed -> Failure.of(Scenario.of(seed), Agent.REAL))
                .flatMap(Optional::stream)
                .findFirst();
        failure.ifPresent(found -> fail(found.shrunk().report(), found.violation()));
    }

    /** Another one for each commit, the same for all runs of one. */
    private static long firstSeed() throws Exception {
        byte[] id = commit();
        // Without git, by the program as it was compiled. The shift leaves room for the seeds that follow.
        return (id.length > 0 ? Hashing.sha256().hashBytes(id) : program()).asLong() >>> 16;
    }

    private static byte[] commit() throws InterruptedException {
        try {
            Process git = new ProcessBuilder("git", "rev-parse", "HEAD")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            byte[] id = git.getInputStream().readAllBytes();
            return git.waitFor() == 0 ? id : new byte[0];
        } catch (IOException e) {
            return new byte[0];
        }
    }

    private static HashCode program() throws Exception {
        Hasher hasher = Hashing.sha256().newHasher();
        Path classes = Path.of(Planner.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                hasher.putBytes(Files.readAllBytes(file));
            }
        }
        return hasher.hash();
    }
}
