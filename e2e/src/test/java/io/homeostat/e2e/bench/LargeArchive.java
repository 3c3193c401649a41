package io.homeostat.e2e.bench;

import com.sun.net.httpserver.HttpServer;
import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Stamps;
import io.homeostat.e2e.measure.Workplace;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * How long an archive takes from an HTTP server on loopback until its program runs, compared with {@code sha256sum} and
 * {@code tar xzf} of the same file. Both in turn, so that a machine that changes its mind changes both.
 */
final class LargeArchive {
    private static final int NOISE_BYTES = 10_000_000;
    private static final int NOISE_FILES = 20;
    private static final int MANY_NOISE_FILES = 98;
    private static final int TEXT_FILES = 100;
    private static final int TEXT_LINES = 10_000;

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final double NANOS_PER_SECOND = 1e9;

    private final Program program;
    private final Stamps stamps;
    private double peak;

    private LargeArchive(Program program) {
        this.program = program;
        this.stamps = new Stamps(program.place().path("stamps"));
    }

    static void measureInstall(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            LargeArchive large = new LargeArchive(new Program(bench.distribution(), place));
            bench.add(Figure.INSTALL, large.ratios(NOISE_FILES, bench.times(7, 3)));
        }
    }

    static void measureGigabyte(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            Program program = new Program(bench.distribution(), place);
            LargeArchive smaller = new LargeArchive(program);
            List<Double> _ = smaller.ratios(NOISE_FILES, 1);
            LargeArchive large = new LargeArchive(program);
            bench.add(Figure.INSTALL_1_GB, large.ratios(MANY_NOISE_FILES, bench.times(3, 1)));
            bench.add(Figure.INSTALL_1_GB_MEMORY, List.of(large.peak / smaller.peak));
        }
    }

    private List<Double> ratios(int noiseFiles, int times) throws IOException, InterruptedException {
        Path archive = create(noiseFiles);
        String sum = program.place().run("sha256sum", archive.toString()).substring(0, 64);
        HttpServer server = Download.serve((path, exchange) -> Files.copy(archive, exchange), Files.size(archive));
        try {
            Path file = declaration(server.getAddress().getPort(), sum);
            List<Double> ratios = new ArrayList<>();
            for (int i = 0; i < times; i++) {
                double tools = tools(archive);
                ratios.add(install(file) / tools);
            }
            return ratios;
        } finally {
            server.stop(0);
            Files.delete(archive);
        }
    }

    private double tools(Path archive) throws IOException, InterruptedException {
        Path target = Files.createDirectory(program.place().path("tar"));
        program.settleDisk();
        double seconds = program.seconds("", List.of("sha256sum", archive.toString()))
                + program.seconds("", List.of("tar", "xzf", archive.toString(), "-C", target.toString()));
        Workplace.delete(target);
        return seconds;
    }

    /** Until the program begins: what comes then, until its probe has answered, is no installing. */
    private double install(Path file) throws IOException, InterruptedException {
        program.settleDisk();
        // Others may have installed here before.
        int before = stamps.read().size();
        long start = System.nanoTime();
        double _ = program.seconds(
                "1 installed",
                pid -> peak = Math.max(peak, ProcFs.mebibytes(pid, "status", "VmHWM")),
                "apply",
                "-f",
                file.toString());
        double seconds = (stamps.await(before + 1, PATIENCE).nanos() - start) / NANOS_PER_SECOND;
        program.reset();
        return seconds;
    }

    private Path declaration(int port, String sum) throws IOException {
        return Files.writeString(program.place().path("large.yaml"), """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: large}
                spec:
                  revision: "1"
                  source: {url: "http://127.0.0.1:%d/large.tar.gz", sha256: %s}
                  entryPoint: bin/run
                  arguments: ["%s"]
                  probe: {exec: {command: ["/bin/true"]}}
                """.formatted(port, sum, stamps.argument()));
    }

    /** Nine tenths of it can't be compressed, as programs and jars can't; the rest is text. */
    private Path create(int noiseFiles) throws IOException, InterruptedException {
        Path tree = program.place().path("tree");
        String _ = StampProgram.create(program.place(), tree.resolve("bin/run"));
        Random random = new Random(1);
        for (int i = 0; i < noiseFiles; i++) {
            byte[] noise = new byte[NOISE_BYTES];
            random.nextBytes(noise);
            Files.write(tree.resolve("noise" + i), noise);
        }
        for (int i = 0; i < TEXT_FILES; i++) {
            try (BufferedWriter text = Files.newBufferedWriter(tree.resolve("text" + i))) {
                for (int line = 0; line < TEXT_LINES; line++) {
                    text.write("line " + line + " value " + random.nextInt(100_000)
                            + " of a file that looks like a log\n");
                }
            }
        }
        Path archive = program.place().path("large.tar.gz");
        String _ = program.place().run("tar", "czf", archive.toString(), "-C", tree.toString(), ".");
        Workplace.delete(tree);
        return archive;
    }
}
