package io.homeostat.e2e;

import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/** The sample driver, ready to be started in a directory of its own. */
final class SampleDriver {
    private final Path directory;

    private SampleDriver(Path directory) {
        this.directory = directory;
    }

    /** Makes the class archive of the JVM, with what a driver does until it can run tasks. */
    static void train() {
        Path classes = SampleProgram.RUNNER.classes();
        Path partial = classes.resolveSibling("runner.jsa.new");
        try {
            Path directory = Files.createTempDirectory("hs");
            SampleDriver sample = in(directory);
            try (DriverProcess driver = DriverProcess.launch(
                    sample.sockets(),
                    "/usr/bin/env",
                    "RUNNER_CLASSES=",
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
                Files.move(partial, classes, StandardCopyOption.ATOMIC_MOVE);
            }
            Trees.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot prepare " + classes + "; was it built with mvn package?", e);
        }
    }

    /** Declares it, from an archive. */
    static Document document(String name, String revision, Path archive) {
        try {
            return Document.driver(name)
                    .with("revision", revision)
                    .with("source.url", archive.toUri().toString())
                    .with("source.sha256", Hashes.sha256(Files.readAllBytes(archive)))
                    .with("entryPoint", "bin/runner");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Declares this one, which is there already. */
    Document local(String name, String revision) {
        return Document.driver(name)
                .with("revision", revision)
                .with("install", "local")
                .with("entryPoint", program().toString());
    }

    /** Prepares it in a directory, whose path has to be short: its sockets are there, too. */
    static SampleDriver in(Path directory) {
        try {
            Files.createDirectories(directory.resolve("s"));
            Path program = directory.resolve("bin/runner");
            Files.createDirectories(program.getParent());
            Files.writeString(program, SampleProgram.RUNNER.script());
            Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
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
