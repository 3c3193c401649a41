package io.homeostat.e2e.bench;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The benchmarks of {@code e2e/jmh}, run with the classes of any build. */
final class Microbenchmarks {
    private Microbenchmarks() {}

    static boolean areBuilt() {
        return Files.isDirectory(Path.of(System.getProperty("homeostat.jmh.classes", "/nowhere")));
    }

    /** What runs JMH; its options come after. */
    static List<String> command(Path distribution) {
        String path = String.join(
                File.pathSeparator,
                System.getProperty("homeostat.jmh.classes"),
                distribution.resolve("lib") + "/*",
                System.getProperty("homeostat.jmh.path"));
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                path,
                "org.openjdk.jmh.Main");
    }

    /** Runs them, with JMH's own options; returns its exit status. */
    static int run(Path distribution, List<String> options) throws IOException, InterruptedException {
        if (!areBuilt()) {
            throw new IOException("e2e/jmh has not been built");
        }
        List<String> line = new ArrayList<>(command(distribution));
        line.addAll(options);
        return new ProcessBuilder(line).inheritIO().start().waitFor();
    }
}
