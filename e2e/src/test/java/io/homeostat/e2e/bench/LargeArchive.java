package io.homeostat.e2e.bench;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.e2e.bench.Benchmarks.Measured;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Executors;

/**
 * How long an archive of 200 MB takes from an HTTP server on loopback until its program runs, compared with {@code sha256sum} and
 * {@code tar xzf} of the same file. Both in turn, so that a machine that changes its mind changes both.
 */
final class LargeArchive {
    private static final int RUNS = 5;
    private static final double BOUND_RATIO = 1.3;
    private static final int NOISE_FILES = 20;
    private static final int NOISE_BYTES = 10_000_000;
    private static final int TEXT_FILES = 100;
    private static final int TEXT_LINES = 10_000;
    private static final double MILLION = 1e6;

    private LargeArchive() {}

    static Measured measure(Program program) throws IOException, InterruptedException {
        Path archive = create(program);
        String sum = sum(program, archive);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", exchange -> send(archive, exchange));
        server.start();
        try {
            Path file = declaration(program, server.getAddress().getPort(), sum);
            List<Double> tools = new ArrayList<>();
            List<Double> ours = new ArrayList<>();
            List<Double> ratios = new ArrayList<>();
            for (int i = 0; i < RUNS; i++) {
                tools.add(tools(program, archive));
                ours.add(install(program, file));
                ratios.add(ours.getLast() / tools.getLast());
            }
            String detail = String.format(
                    Locale.ROOT,
                    "install %.2f s, sha256sum + tar xzf %.2f s; ratios %s",
                    Benchmarks.median(ours),
                    Benchmarks.median(tools),
                    Benchmarks.list(ratios));
            String name = String.format(
                    Locale.ROOT, "install of %.0f MB against sha256sum + tar xzf", Files.size(archive) / MILLION);
            return new Measured(name, Benchmarks.median(ratios), BOUND_RATIO, "x", detail);
        } finally {
            server.stop(0);
        }
    }

    private static double tools(Program program, Path archive) throws IOException, InterruptedException {
        Path target = Files.createDirectory(program.root().resolve("tar"));
        program.settleDisk();
        double seconds = program.seconds("", List.of("sha256sum", archive.toString()))
                + program.seconds("", List.of("tar", "xzf", archive.toString(), "-C", target.toString()));
        Program.delete(target);
        return seconds;
    }

    private static double install(Program program, Path file) throws IOException, InterruptedException {
        program.settleDisk();
        program.applied(List.of("process/large"));
        double seconds = program.seconds("1 installed", "apply", "-f", file.toString());
        program.reset();
        return seconds;
    }

    private static Path declaration(Program program, int port, String sum) throws IOException {
        return Files.writeString(program.root().resolve("large.yaml"), """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: large}
                spec:
                  revision: "1"
                  source: {url: "http://127.0.0.1:%d/large.tar.gz", sha256: %s}
                  entryPoint: bin/run
                  probe: {exec: {command: ["/bin/true"]}}
                """.formatted(port, sum));
    }

    private static String sum(Program program, Path archive) throws IOException, InterruptedException {
        program.seconds("", List.of("sha256sum", archive.toString()));
        return Files.readString(program.root().resolve("out")).substring(0, 64);
    }

    private static void send(Path archive, HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().add("Content-Type", "application/gzip");
        exchange.sendResponseHeaders(200, Files.size(archive));
        try (OutputStream body = exchange.getResponseBody()) {
            Files.copy(archive, body);
        }
    }

    /** Nine tenths of it can't be compressed, as programs and jars can't; the rest is text. */
    private static Path create(Program program) throws IOException, InterruptedException {
        Path tree = program.root().resolve("tree");
        Files.createDirectories(tree.resolve("bin"));
        Path run = Files.writeString(tree.resolve("bin").resolve("run"), "#!/bin/sh\nexec sleep 100000\n");
        if (!run.toFile().setExecutable(true)) {
            throw new IOException("cannot make " + run + " executable");
        }
        Random random = new Random(1);
        for (int i = 0; i < NOISE_FILES; i++) {
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
        Path archive = program.root().resolve("large.tar.gz");
        program.seconds("", List.of("tar", "czf", archive.toString(), "-C", tree.toString(), "."));
        Program.delete(tree);
        return archive;
    }
}
