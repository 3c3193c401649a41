package io.homeostat.e2e;

import static org.junit.jupiter.api.Assumptions.abort;

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The agent that Kata Containers publishes, as a process of this machine in namespaces of its own, where HOMEOSTAT_KATA_AGENT names its
 * program; else the test is skipped. It is neither fetched nor built here. Register it before {@link Homeostat}.
 */
final class KataAgent implements BeforeEachCallback, AfterEachCallback {
    private static final String VARIABLE = "HOMEOSTAT_KATA_AGENT";

    /** As the first process of its namespace it would take itself for that of a machine: mount things, and power it off. */
    private static final String NOT_FIRST = "mount -t tmpfs none /run && { \"$0\"; exit $?; }";

    /** What a program of this machine needs to run. */
    private static final ImmutableList<String> OF_THE_MACHINE = ImmutableList.of("bin", "lib", "lib64", "usr");

    private final Optional<String> program;
    private Path root = Path.of("/nonexistent");
    private @Nullable Process process;

    KataAgent() {
        this(Objects.requireNonNullElse(System.getenv(VARIABLE), ""));
    }

    /** @param program empty: there is none */
    KataAgent(String program) {
        this.program = program.isEmpty() ? Optional.empty() : Optional.of(program);
    }

    /** The program; without one the test is skipped, with the reason. */
    String orSkip() {
        String path = program.orElseGet(() -> abort(VARIABLE + " does not name the program of a Kata agent"));
        if (!Files.isExecutable(Path.of(path))) {
            return abort(VARIABLE + ": " + path + " is no file that can be executed");
        }
        if (!Files.isWritable(Path.of("/proc/sys/kernel/hostname"))) {
            return abort("only root runs a Kata agent");
        }
        return path;
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        String path = orSkip();
        // Not JUnit's: sockets need a short path.
        root = Files.createTempDirectory("hs");
        ProcessBuilder builder = new ProcessBuilder(
                        "unshare",
                        "--mount",
                        "--net",
                        "--uts",
                        "--ipc",
                        "--pid",
                        "--fork",
                        "--kill-child",
                        "--mount-proc",
                        "--propagation",
                        "private",
                        "sh",
                        "-c",
                        NOT_FIRST,
                        path)
                .redirectErrorStream(true)
                .redirectOutput(root.resolve("agent.log").toFile());
        builder.environment().put("KATA_AGENT_SERVER_ADDR", endpoint());
        process = builder.start();
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException, InterruptedException {
        Process started = process;
        if (started == null) {
            return;
        }
        started.destroyForcibly();
        if (!started.waitFor(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS)) {
            throw new IllegalStateException("the namespaces of " + started.pid() + " are still there");
        }
        if (context.getExecutionException().isPresent()) {
            context.publishReportEntry("agent.log", Files.readString(root.resolve("agent.log")));
        }
        Trees.delete(root);
    }

    private String endpoint() {
        return "unix://" + root.resolve("agent.sock");
    }

    Document sandbox() {
        return Document.sandbox("guest", endpoint()).with("start.timeout", "60s");
    }

    /** A container that is a shell script, with the programs of this machine. */
    Document container(String name, String script) throws IOException {
        Path rootfs = Files.createDirectories(root.resolve("rootfs-" + name));
        List<Map<String, Object>> mounts = new ArrayList<>();
        for (String directory : OF_THE_MACHINE) {
            Path there = Path.of("/").resolve(directory);
            Path here = rootfs.resolve(directory);
            if (Files.isSymbolicLink(there)) {
                Files.createSymbolicLink(here, Files.readSymbolicLink(there));
            } else if (Files.isDirectory(there)) {
                Files.createDirectories(here);
                mounts.add(Map.of(
                        "destination",
                        there.toString(),
                        "source",
                        there.toString(),
                        "type",
                        "bind",
                        "options",
                        List.of("rbind", "ro")));
            }
        }
        return Document.container(name, "guest", script)
                .with("rootfs.path", rootfs.toString())
                .with("mounts", mounts);
    }
}
