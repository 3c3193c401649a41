package io.homeostat.e2e;

import static org.junit.jupiter.api.Assumptions.abort;

import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.FileDescriptor;
import io.homeostat.proto.nomad.base.PluginInfoResponse;
import io.homeostat.proto.nomad.driver.TaskConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A task driver in Go over HashiCorp's own go-plugin and go-hclog, which fetches its modules through the module proxy and is built by the
 * tests. Nomad's own drivers can't be: see {@link NomadDrivers}.
 */
public final class GoDriver {
    private static final int MINUTES = 10;

    private final Path program;
    private final Path descriptors;

    private GoDriver(Path program, Path descriptors) {
        this.program = program;
        this.descriptors = descriptors;
    }

    /**
     * Builds it, or gives the test up where there is no Go, or no way to the modules.
     *
     * @param directory gets what is built
     */
    public static GoDriver build(Path directory) {
        Path source = Distribution.checkout().resolve("e2e/go-driver");
        String go = tool().orElseGet(() -> abort("there is no Go here to build e2e/go-driver with"));
        Path program = directory.resolve("go-driver");
        Path descriptors = directory.resolve("descriptors");
        try {
            String fetched = run(source, go, "mod", "download");
            if (!fetched.isEmpty()) {
                abort("the modules of e2e/go-driver can't be fetched: " + fetched);
            }
            String built = run(source, go, "build", "-o", program.toString(), ".");
            if (!built.isEmpty()) {
                throw new AssertionError("e2e/go-driver can't be built: " + built);
            }
            Files.write(descriptors, messages().toByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new GoDriver(program, descriptors);
    }

    public Path program() {
        return program;
    }

    /** What its variable GO_DRIVER_DESCRIPTORS has to name. */
    public Path descriptors() {
        return descriptors;
    }

    /** A document that declares it. */
    Document document() {
        return Document.driver("go")
                .with("install", "local")
                .with("entryPoint", program.toString())
                .with("env.GO_DRIVER_DESCRIPTORS", descriptors.toString())
                .with("config.greeting", "hello");
    }

    private static Optional<String> tool() {
        return Stream.concat(
                        Stream.of(System.getenv("PATH").split(":", -1)).map(Path::of),
                        Stream.of(Path.of("/usr/local/go/bin")))
                .map(directory -> directory.resolve("go"))
                .filter(Files::isExecutable)
                .map(Path::toString)
                .findFirst();
    }

    /** What it said of its failure; empty when it succeeded. */
    private static String run(Path directory, String... command) throws IOException {
        Path output = Files.createTempFile("go", ".log");
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            boolean ended = process.waitFor(MINUTES, TimeUnit.MINUTES);
            String said = Files.readString(output).strip();
            return ended && process.exitValue() == 0 ? "" : List.of(command) + " failed: " + said;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            process.destroyForcibly();
            Files.delete(output);
        }
    }

    /** What is imported comes first. */
    private static FileDescriptorSet messages() {
        Set<FileDescriptor> files = new LinkedHashSet<>();
        add(PluginInfoResponse.getDescriptor().getFile(), files);
        add(TaskConfig.getDescriptor().getFile(), files);
        FileDescriptorSet.Builder all = FileDescriptorSet.newBuilder();
        files.forEach(file -> all.addFile(file.toProto()));
        return all.build();
    }

    private static void add(FileDescriptor file, Set<FileDescriptor> files) {
        file.getDependencies().forEach(imported -> add(imported, files));
        files.add(file);
    }
}
