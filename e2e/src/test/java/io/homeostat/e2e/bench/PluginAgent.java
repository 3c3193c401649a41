package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Who keeps plugins for a control plane: ours, and the reference agent where somebody has it. */
enum PluginAgent {
    HOMEOSTAT {
        @Override
        Process start(Bench bench, Workplace place, String endpoint) throws IOException {
            return new Program(bench.distribution(), place)
                    .startAgent("""
                            controlPlane:
                              endpoint: "%s"
                              resource: %s
                              identity: none
                            """.formatted(endpoint, RESOURCE))
                    .process();
        }
    },
    REFERENCE {
        @Override
        Process start(Bench bench, Workplace place, String endpoint) throws IOException {
            Path directory = Files.createDirectories(place.path("reference"));
            return place.start("reference.log", List.of(System.getenv(VARIABLE), endpoint, directory.toString()));
        }
    };

    /**
     * Names an executable that is started with the endpoint of a control plane and a directory of its own, and is the reference agent
     * itself in the end, connected to that endpoint. SIGTERM ends it, and its plugins live on.
     */
    private static final String VARIABLE = "HOMEOSTAT_BENCH_REFERENCE";

    private static final String RESOURCE = "projects/1/zones/z/instances/1";
    private static final Duration ENDING = Duration.ofSeconds(60);

    String subject() {
        return this == HOMEOSTAT ? Samples.OURS : "reference";
    }

    /** Those that are there; of the others it is noted that they are not. */
    static List<PluginAgent> present(Bench bench, String benchmark) {
        List<PluginAgent> present = new ArrayList<>(List.of(HOMEOSTAT));
        if (bench.measuresPeers()) {
            if (System.getenv(VARIABLE) != null) {
                present.add(REFERENCE);
            } else {
                bench.skip(benchmark, REFERENCE.subject(), VARIABLE + " names no executable");
            }
        }
        return present;
    }

    /** Starts it, and does not wait. */
    abstract Process start(Bench bench, Workplace place, String endpoint) throws IOException;

    static void end(Process agent) throws IOException, InterruptedException {
        agent.destroy();
        if (!agent.waitFor(ENDING.toSeconds(), TimeUnit.SECONDS)) {
            throw new IOException("the agent does not end within " + ENDING.toSeconds() + " s");
        }
    }
}
