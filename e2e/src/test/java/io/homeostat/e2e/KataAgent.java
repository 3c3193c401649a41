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
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The agent of a guest, in namespaces of this machine instead of a virtual one; what can't be had is skipped, with the reason. Register it
 * before {@link Homeostat}.
 */
final class KataAgent implements BeforeEachCallback, AfterEachCallback {
    private static final String VARIABLE = "HOMEOSTAT_KATA_AGENT";

    /** As the first process of its namespace it would take itself for that of a machine: mount things, and power it off. */
    private static final String NOT_FIRST = "mount -t tmpfs none /run && { \"$@\"; exit $?; }";

    /** As an init does that starts again what has failed. */
    private static final String AGAIN = """
            mount -t tmpfs none /run
            ip link add hs0 address 02:00:00:00:00:01 type veth peer name hs1
            until "$@"; do sleep 0.1; done
            """;

    /** What a program of this machine needs to run. */
    private static final ImmutableList<String> OF_THE_MACHINE = ImmutableList.of("bin", "lib", "lib64", "usr");

    private final String script;
    private final Supplier<String> obstacle;
    private final Function<Path, List<String>> command;
    private Path root = Path.of("/nonexistent");
    private @Nullable Process process;

    private KataAgent(String script, Supplier<String> obstacle, Function<Path, List<String>> command) {
        this.script = script;
        this.obstacle = obstacle;
        this.command = command;
    }

    /** The agent that Kata Containers publishes, where HOMEOSTAT_KATA_AGENT names its program. It is neither fetched nor built here. */
    static KataAgent published() {
        return published(Objects.requireNonNullElse(System.getenv(VARIABLE), ""));
    }

    /** @param program empty: there is none */
    static KataAgent published(String program) {
        return new KataAgent(
                NOT_FIRST,
                () -> {
                    if (program.isEmpty()) {
                        return VARIABLE + " does not name the program of a Kata agent";
                    }
                    return Files.isExecutable(Path.of(program))
                            ? ""
                            : VARIABLE + ": " + program + " is no file that can be executed";
                },
                root -> List.of(program));
    }

    /** {@code homeostat guest}, which may not set the clock of this machine. Killed, it is started again. */
    static KataAgent ours() {
        return new KataAgent(
                AGAIN,
                () -> Stream.of("/usr/sbin/runc", "/usr/bin/runc", "/usr/local/sbin/runc")
                                .map(Path::of)
                                .anyMatch(Files::isExecutable)
                        ? ""
                        : "there is no runc on this machine, which would run the containers",
                root -> List.of(
                        "setpriv",
                        "--bounding-set=-sys_time",
                        Distribution.program().toString(),
                        "guest",
                        "--state-dir",
                        root.resolve("state").toString(),
                        "--run-dir",
                        root.resolve("run").toString()));
    }

    /** Skips the test where it can't be had. */
    void orSkip() {
        String why = obstacle.get();
        if (!why.isEmpty()) {
            abort(why);
        }
        if (!Files.isWritable(Path.of("/proc/sys/kernel/hostname"))) {
            abort("only root runs the agent of a guest");
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        orSkip();
        // Not JUnit's: sockets need a short path.
        root = Files.createTempDirectory("hs");
        List<String> whole = new ArrayList<>(List.of(
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
                script,
                "sh"));
        whole.addAll(command.apply(root));
        ProcessBuilder builder = new ProcessBuilder(whole)
                .redirectErrorStream(true)
                .redirectOutput(root.resolve("agent.log").toFile());
        builder.environment().put("KATA_AGENT_SERVER_ADDR", endpoint());
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
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
        ControlGroups.thaw(root.resolve("state"));
        ControlGroups.removeEmpty(root.resolve("state"));
        Trees.delete(root);
    }

    /** Whether its machine, if it were one, is powered off. */
    boolean hasEnded() {
        return process == null || !process.isAlive();
    }

    Path socket() {
        return root.resolve("agent.sock");
    }

    /** A directory that it sees, too. */
    Path root() {
        return root;
    }

    private String endpoint() {
        return "unix://" + socket();
    }

    Document sandbox() {
        return Document.sandbox("guest", endpoint()).with("start.timeout", "60s");
    }

    /** A root file system that has the programs of this machine, once these are mounted. */
    Path rootfs(String name) throws IOException {
        Path rootfs = Files.createDirectories(root.resolve("rootfs-" + name));
        for (String directory : OF_THE_MACHINE) {
            Path there = Path.of("/").resolve(directory);
            Path here = rootfs.resolve(directory);
            if (Files.isSymbolicLink(here)) {
                continue;
            }
            if (Files.isSymbolicLink(there)) {
                Files.createSymbolicLink(here, Files.readSymbolicLink(there));
            } else if (Files.isDirectory(there)) {
                Files.createDirectories(here);
            }
        }
        return rootfs;
    }

    /** What has to be mounted in that. */
    static List<String> mounted() {
        return OF_THE_MACHINE.stream()
                .map(directory -> "/" + directory)
                .filter(directory -> Files.isDirectory(Path.of(directory)) && !Files.isSymbolicLink(Path.of(directory)))
                .toList();
    }

    /** A container that is a shell script, with the programs of this machine. */
    Document container(String name, String script) throws IOException {
        List<Map<String, Object>> mounts = new ArrayList<>();
        for (String directory : mounted()) {
            mounts.add(Map.of(
                    "destination", directory, "source", directory, "type", "bind", "options", List.of("rbind", "ro")));
        }
        return Document.container(name, "guest", script)
                .with("rootfs.path", rootfs(name).toString())
                .with("mounts", mounts);
    }
}
