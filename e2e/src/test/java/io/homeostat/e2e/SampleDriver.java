package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/** The sample driver, unpacked. */
final class SampleDriver {
    private final Path directory;

    private SampleDriver(Path directory) {
        this.directory = directory;
    }

    /** Its archive, as the build leaves it. */
    static Path archive() {
        return Path.of(System.getProperty("homeostat.runner")).toAbsolutePath().normalize();
    }

    /** Its classes, made ready for the JVM that runs the tests; declarations name it in RUNNER_CLASSES. */
    static Path classes() {
        return archive().resolveSibling("runner.jsa");
    }

    /** Makes that class archive, with what a driver does until it can run tasks. */
    static void train() {
        Path partial = classes().resolveSibling("runner.jsa.new");
        try {
            Path directory = Files.createTempDirectory("hs");
            SampleDriver sample = unpack(directory);
            try (DriverProcess driver = DriverProcess.launch(
                    sample.sockets(),
                    "/usr/bin/env",
                    "JAVA_TOOL_OPTIONS=-XX:ArchiveClassesAtExit=" + partial,
                    sample.program().toString())) {
                var _ = driver.base().setConfig(SetConfigRequest.getDefaultInstance());
                var _ = driver.driver()
                        .fingerprint(FingerprintRequest.getDefaultInstance())
                        .next();
                driver.process().destroy();
                driver.awaitEnd();
            }
            if (Files.exists(partial)) {
                Files.move(partial, classes(), StandardCopyOption.ATOMIC_MOVE);
            }
            Trees.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot prepare " + archive() + "; was it built with mvn package?", e);
        }
    }

    /** Declares it, from its archive. */
    static Document document(String name, String revision) {
        try {
            return declared(name, revision)
                    .with("source.url", archive().toUri().toString())
                    .with("source.sha256", Hashes.sha256(Files.readAllBytes(archive())))
                    .with("entryPoint", "bin/runner");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Declares this one, which is there already. */
    Document local(String name, String revision) {
        return declared(name, revision)
                .with("install", "local")
                .with("entryPoint", program().toString());
    }

    private static Document declared(String name, String revision) {
        return Document.driver(name)
                .with("revision", revision)
                .with("env.JAVA_HOME", System.getProperty("java.home"))
                .with("env.RUNNER_CLASSES", classes().toString());
    }

    /** Unpacks it into a directory, whose path has to be short: its sockets are there, too. */
    static SampleDriver unpack(Path directory) {
        try {
            Process tar = new ProcessBuilder("tar", "xzf", archive().toString(), "-C", directory.toString())
                    .inheritIO()
                    .start();
            eventually().until(() -> !tar.isAlive());
            if (tar.exitValue() != 0) {
                throw new IllegalStateException("cannot unpack " + archive());
            }
            Files.createDirectories(directory.resolve("s"));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot unpack " + archive() + "; was it built with mvn package?", e);
        }
        return new SampleDriver(directory);
    }

    Path program() {
        return directory.resolve("bin/runner");
    }

    Path sockets() {
        return directory.resolve("s");
    }

    /** A process of it that misbehaves as told: {@code NAME} or {@code NAME=N} each. */
    DriverProcess launch(String... faults) {
        List<String> command = new ArrayList<>(List.of(program().toString()));
        for (String fault : faults) {
            command.add("--fault=" + fault);
        }
        return DriverProcess.launch(sockets(), command.toArray(String[]::new));
    }
}
