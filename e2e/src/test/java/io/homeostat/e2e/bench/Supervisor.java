package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Tools;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Who keeps processes running: ours, and others as Debian packages them. */
enum Supervisor {
    HOMEOSTAT("") {
        @Override
        long start(Bench bench, Workplace place, Map<String, List<String>> programs) throws IOException {
            Program program = new Program(bench.distribution(), place);
            for (Map.Entry<String, List<String>> one : programs.entrySet()) {
                program.declare(one.getKey() + ".yaml", Documents.process(one.getKey(), one.getValue()));
            }
            return program.startAgent("").pid();
        }
    },
    RUNIT("runsvdir") {
        @Override
        long start(Bench bench, Workplace place, Map<String, List<String>> programs) throws IOException {
            services(place, programs);
            return place.start("runit.log", List.of("runsvdir", "-P", services(place)))
                    .pid();
        }
    },
    S6("s6-svscan") {
        @Override
        long start(Bench bench, Workplace place, Map<String, List<String>> programs) throws IOException {
            services(place, programs);
            return place.start("s6.log", List.of("s6-svscan", "-c", "1000", services(place)))
                    .pid();
        }
    },
    SUPERVISOR("supervisord") {
        @Override
        long start(Bench bench, Workplace place, Map<String, List<String>> programs) throws IOException {
            StringBuilder config = new StringBuilder();
            config.append("[supervisord]\nnodaemon=true\nlogfile=%s\npidfile=%s\nchildlogdir=%s\n"
                    .formatted(place.path("supervisor.out"), place.path("supervisor.pid"), place.root()));
            programs.forEach((name, line) ->
                    config.append("[program:%s]\ncommand=%s\n".formatted(name, String.join(" ", line))));
            Path file = place.write("supervisor.conf", config.toString());
            return place.start("supervisor.log", List.of("supervisord", "-c", file.toString()))
                    .pid();
        }
    };

    private final String tool;

    Supervisor(String tool) {
        this.tool = tool;
    }

    String subject() {
        return this == HOMEOSTAT ? Samples.OURS : name().toLowerCase(java.util.Locale.ROOT);
    }

    /** Those that are there; of the others it is noted that they are not. */
    static List<Supervisor> present(Bench bench, String benchmark) {
        List<Supervisor> present = new ArrayList<>(List.of(HOMEOSTAT));
        if (bench.measuresPeers()) {
            for (Supervisor peer : List.of(RUNIT, S6, SUPERVISOR)) {
                if (Tools.find(peer.tool).isPresent()) {
                    present.add(peer);
                } else {
                    bench.skip(benchmark, peer.subject(), peer.tool + " is not in PATH");
                }
            }
        }
        return present;
    }

    /**
     * Starts it with programs to keep.
     *
     * @return its process
     */
    abstract long start(Bench bench, Workplace place, Map<String, List<String>> programs) throws IOException;

    private static String services(Workplace place) {
        return place.path("services").toString();
    }

    private static void services(Workplace place, Map<String, List<String>> programs) throws IOException {
        Files.createDirectories(place.path("services"));
        for (Map.Entry<String, List<String>> one : programs.entrySet()) {
            Path _ = place.executable(
                    "services/" + one.getKey() + "/run", "#!/bin/sh\nexec " + String.join(" ", one.getValue()) + "\n");
        }
    }
}
