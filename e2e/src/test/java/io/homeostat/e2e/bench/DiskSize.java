package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What the program takes on the disk, after its first start: the bytes of its files. */
final class DiskSize {
    private static final double BYTES_PER_MIB = 1024 * 1024;

    private DiskSize() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            double _ = new Program(bench.distribution(), place).seconds("", "version");
        }
        List<Path> runtimes;
        try (Stream<Path> files = Files.walk(bench.distribution())) {
            // What every Java runtime has.
            runtimes = files.filter(file -> Files.exists(file.resolve("lib/modules")))
                    .toList();
        }
        double all = mebibytes(bench.distribution());
        double runtime = 0;
        for (Path one : runtimes) {
            runtime += mebibytes(one);
        }
        bench.add(Figure.DISK, List.of(all - runtime));
        if (runtimes.isEmpty()) {
            bench.skip("size", Samples.OURS, "this build has no runtime of its own");
        } else {
            bench.add(Figure.DISK_WITH_RUNTIME, List.of(all));
        }
    }

    private static double mebibytes(Path tree) throws IOException {
        long bytes = 0;
        try (Stream<Path> files = Files.walk(tree)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                bytes += Files.size(file);
            }
        }
        return bytes / BYTES_PER_MIB;
    }
}
