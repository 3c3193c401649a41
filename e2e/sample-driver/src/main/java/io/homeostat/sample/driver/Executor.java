package io.homeostat.sample.driver;

import io.homeostat.proto.nomad.driver.TaskConfig;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Launches what a task runs: a small program of its own, which nothing ties to this process (executor.pl), and the command below
 * it. How they get on stands in files of a directory in the task's directory.
 */
final class Executor {
    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    private static final Path GROUPS = Path.of("/sys/fs/cgroup");
    private static final long POLL_MILLIS = 10;

    private final Clock clock;

    Executor(Clock clock) {
        this.clock = clock;
    }

    /** The directory of a task: its own part of the allocation's. */
    static Path taskDirectory(TaskConfig config) {
        return Path.of(config.getAllocDir(), config.getName());
    }

    /**
     * Returns when the command runs. Where standard output is a FIFO, that is when somebody reads it. Throws TaskException when it
     * can't be run; then nothing of it is left.
     */
    DriverState launch(TaskConfig config, TaskOptions options) throws IOException, InterruptedException {
        Path home = taskDirectory(config);
        if (!Files.isDirectory(home)) {
            throw new TaskException("there is no task directory " + home);
        }
        String program = program(options.command(), home, config.getEnvMap());
        refuseSymlink(config.getStdoutPath());
        refuseSymlink(config.getStderrPath());
        Path directory = home.resolve(".runner-" + config.getId().replaceAll(".*/", ""));
        delete(directory);
        Files.createDirectory(
                directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        try (InputStream script = Executor.class.getResourceAsStream("executor.pl")) {
            if (script == null) {
                throw new IllegalStateException("executor.pl is not in this jar");
            }
            Files.copy(script, directory.resolve("executor.pl"));
        }
        List<String> command = Stream.concat(Stream.of(options.command()), options.args().stream())
                .toList();
        boolean grouped = !options.faults().has("no-groups");
        describe(directory.resolve("task"), config, program, command, true, grouped);
        Process executor = perl(config, directory, "task", directory)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(directory.resolve("executor.log").toFile())
                .start();
        long pid = awaitCommand(executor, directory);
        Proc leader = Proc.of(executor.pid());
        Proc first = Proc.of(pid);
        return new DriverState(
                Proc.boot(),
                executor.pid(),
                leader == null ? 0 : leader.start(),
                pid,
                first == null ? 0 : first.start(),
                directory,
                clock.instant(),
                String.join(" ", command),
                String.join("\n", faults(options.faults())),
                options.hints());
    }

    private static List<String> faults(Faults faults) {
        return faults.values().entrySet().stream()
                .map(fault -> fault.getValue().isEmpty() ? fault.getKey() : fault.getKey() + "=" + fault.getValue())
                .toList();
    }

    /** Another command in the surroundings of a task: not started yet, its streams are the caller's choice. */
    static ProcessBuilder beside(TaskConfig config, DriverState state, List<String> command) throws IOException {
        Path directory = state.directory();
        String program = program(command.get(0), taskDirectory(config), config.getEnvMap());
        Path description = directory.resolve("exec-" + UUID.randomUUID());
        describe(
                description,
                config,
                program,
                command,
                false,
                !state.orderedFaults().has("no-groups"));
        return perl(config, directory, "exec", description);
    }

    private static ProcessBuilder perl(TaskConfig config, Path directory, String mode, Path place) {
        String network = config.getNetworkIsolationSpec().getPath();
        List<String> within = network.isEmpty() ? List.of() : List.of("nsenter", "--net=" + network, "--");
        List<String> command = List.of("perl", directory.resolve("executor.pl").toString(), mode, place.toString());
        ProcessBuilder perl = new ProcessBuilder(
                Stream.concat(within.stream(), command.stream()).toList());
        // Nothing of the driver's own: neither its cookie nor its secrets.
        perl.environment().clear();
        perl.environment().put("PATH", PATH);
        return perl;
    }

    private static long awaitCommand(Process executor, Path directory) throws IOException, InterruptedException {
        Path pid = directory.resolve("pid");
        Path failed = directory.resolve("failed");
        boolean ended = false;
        while (true) {
            if (Files.exists(pid)) {
                return Long.parseLong(Files.readString(pid).trim());
            }
            if (ended) {
                String reason = Files.readString(Files.exists(failed) ? failed : directory.resolve("executor.log"));
                delete(directory);
                throw new TaskException("the task's command was not run: " + reason.trim());
            }
            // Once more after its end: it may have left its files in between.
            ended = executor.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** What executor.pl reads. Nobody else may: there may be secrets in it. */
    private static void describe(
            Path file, TaskConfig config, String program, List<String> command, boolean redirected, boolean grouped)
            throws IOException {
        ByteArrayOutputStream description = new ByteArrayOutputStream();
        entry(description, 'c', program);
        for (String argument : command) {
            entry(description, 'a', argument);
        }
        for (Map.Entry<String, String> one : config.getEnvMap().entrySet()) {
            entry(description, 'e', one.getKey() + "=" + one.getValue());
        }
        entry(description, 'd', taskDirectory(config).toString());
        if (isRoot()) {
            for (Path group : grouped ? groups(config) : List.<Path>of()) {
                entry(description, 'g', group.toString());
            }
            if (!config.getUser().isEmpty()) {
                entry(description, 'u', config.getUser());
            }
        }
        if (redirected) {
            entry(description, 'o', config.getStdoutPath().isEmpty() ? "/dev/null" : config.getStdoutPath());
            entry(description, 'r', config.getStderrPath().isEmpty() ? "/dev/null" : config.getStderrPath());
        }
        Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.write(file, description.toByteArray());
    }

    private static void entry(ByteArrayOutputStream description, char kind, String value) {
        if (value.indexOf('\0') >= 0) {
            throw new TaskException("arguments and environment can't have a NUL character");
        }
        description.write(kind);
        description.writeBytes(value.getBytes(StandardCharsets.UTF_8));
        description.write(0);
    }

    /** The groups of the host that exist; it makes them before it starts a task. */
    private static List<Path> groups(TaskConfig config) {
        String name = Path.of(config.getAllocDir()).getFileName() + "." + config.getName();
        // In version 2 it is the only one.
        String cpuset = config.getResources().getLinuxResources().getCpusetCgroup();
        Stream<Path> processors = cpuset.isEmpty() ? Stream.empty() : Stream.of(Path.of(cpuset));
        return Stream.concat(
                        Stream.of("freezer/nomad/" + name, "cpu/nomad/" + name, "memory/nomad/" + name)
                                .map(GROUPS::resolve),
                        processors)
                .map(group -> group.resolve("cgroup.procs"))
                .filter(Files::exists)
                .toList();
    }

    private static boolean isRoot() throws IOException {
        return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
    }

    /** As execvp(3) finds it, with the task's own PATH. */
    private static String program(String command, Path home, Map<String, String> environment) {
        Stream<Path> places = command.contains("/")
                ? Stream.of(home.resolve(command))
                : Stream.of(environment.getOrDefault("PATH", PATH).split(":", -1))
                        .filter(place -> !place.isEmpty())
                        .map(place -> home.resolve(place).resolve(command));
        return places.filter(place -> Files.isRegularFile(place) && Files.isExecutable(place))
                .findFirst()
                .map(Path::toString)
                .orElseThrow(() ->
                        new TaskException("there is no program " + command + " in " + home + " or on the task's PATH"));
    }

    private static void refuseSymlink(@Nullable String path) {
        if (path != null && !path.isEmpty() && Files.isSymbolicLink(Path.of(path))) {
            throw new TaskException(path + " is a symbolic link, and is not followed");
        }
    }

    /** Removes a task's directory of the executor, if there is one. */
    static void delete(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return;
        }
        List<Path> files;
        try (Stream<Path> entries = Files.list(directory)) {
            files = entries.toList();
        }
        for (Path file : files) {
            Files.deleteIfExists(file);
        }
        Files.deleteIfExists(directory);
    }
}
