package io.homeostat.reconcile.agent.guest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Streams;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import io.homeostat.reconcile.agent.frontend.BoundedCommand;
import io.homeostat.reconcile.agent.frontend.ProcessStarter;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The runtime of the Open Container Initiative that containers run through, by its commands, as runc 1.1 has them. None of them is waited for
 * without end.
 */
final class OciRuntime {
    /** What it says of a container that it does not have. */
    private static final String UNKNOWN = "does not exist";

    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final Path program;
    private final Path root;
    private final ProcessStarter starter;
    private final Ticker ticker;
    private final ImmutableSet<String> capabilities;
    private final boolean seccomp;

    /** How a container is. */
    enum State {
        NONE,
        CREATED,
        RUNNING,
        PAUSED,
        STOPPED
    }

    /**
     * Asks it what it can do.
     *
     * @param root what it keeps of containers
     * @throws IOException when it is none, or can't be started
     */
    OciRuntime(Path program, Path root, ProcessStarter starter, Ticker ticker)
            throws IOException, InterruptedException {
        this.program = program;
        this.root = root;
        this.starter = starter;
        this.ticker = ticker;
        BoundedCommand.Outcome outcome =
                BoundedCommand.run(starter, builder(List.of("features")), TIMEOUT, ticker, () -> false);
        if (!(outcome instanceof BoundedCommand.Ended ended) || ended.exitStatus() != 0) {
            throw new IOException(program + " is no runtime that tells its features, as runc does from version 1.1 on");
        }
        JsonNode linux = MAPPER.readTree(ended.stdout().toByteArray()).path("linux");
        ImmutableSet.Builder<String> names = ImmutableSet.builder();
        linux.path("capabilities").forEach(name -> names.add(name.asText()));
        this.capabilities = names.build();
        this.seccomp = linux.path("seccomp").path("enabled").asBoolean();
    }

    /** Whether it filters system calls. */
    boolean filtersCalls() {
        return seccomp;
    }

    /** Whether it knows a capability; it would leave out any other without a word. */
    boolean knowsCapability(String name) {
        return capabilities.contains(name);
    }

    private ProcessBuilder builder(List<String> arguments) {
        return new ProcessBuilder(command(arguments)).directory(new File("/"));
    }

    /** A command line; what goes wrong is told in JSON, at the end of its standard error. */
    ImmutableList<String> command(List<String> arguments) {
        return ImmutableList.<String>builder()
                .add(program.toString(), "--root", root.toString(), "--log-format", "json")
                .addAll(arguments)
                .build();
    }

    /** Standard output of a command that has succeeded; its failure is thrown as that of the call. */
    private byte[] run(String... arguments) throws InterruptedException {
        return run(Context.current()::isCancelled, arguments);
    }

    private byte[] run(BooleanSupplier isCancelled, String... arguments) throws InterruptedException {
        try {
            return switch (BoundedCommand.run(starter, builder(List.of(arguments)), TIMEOUT, ticker, isCancelled)) {
                case BoundedCommand.Ended ended
                when ended.exitStatus() == 0 -> ended.stdout().toByteArray();
                case BoundedCommand.Ended ended ->
                    throw Refusals.internal(failure(ended.stderr().toStringUtf8())
                            .orElse(program.getFileName() + " has ended with exit status " + ended.exitStatus()));
                case BoundedCommand.Cancelled _ -> throw Refusals.cancelled();
                case BoundedCommand.TimedOut _ ->
                    throw Refusals.internal(program.getFileName() + " " + arguments[0] + " has not ended after "
                            + TIMEOUT.toSeconds() + " s, and was killed");
            };
        } catch (IOException e) {
            throw Refusals.internal("cannot start " + program + ": " + e.getMessage());
        }
    }

    /** What it says of a failure: the last of its messages that is one. */
    static Optional<String> failure(String log) {
        List<String> lines = log.lines().toList();
        for (String line : lines.reversed()) {
            try {
                JsonNode json = MAPPER.readTree(line);
                if (json.path("level").asText().equals("error")
                        || json.path("level").asText().equals("fatal")) {
                    return Optional.of(json.path("msg").asText());
                }
            } catch (JsonProcessingException e) {
                // Of somebody else, as of a library that could not be loaded.
                return Optional.of(line);
            }
        }
        return Optional.empty();
    }

    State state(String id) throws InterruptedException {
        if (!Files.exists(root.resolve(id))) {
            return State.NONE;
        }
        JsonNode json;
        try {
            json = json(run(() -> false, "state", id));
        } catch (StatusRuntimeException e) {
            if (String.valueOf(e.getMessage()).contains(UNKNOWN)) {
                // It was killed before it had written what it is.
                return State.NONE;
            }
            throw e;
        }
        return switch (json.path("status").asText()) {
            case "creating", "created" -> State.CREATED;
            case "running" -> State.RUNNING;
            case "paused" -> State.PAUSED;
            default -> State.STOPPED;
        };
    }

    private static JsonNode json(byte[] text) {
        try {
            return MAPPER.readTree(text);
        } catch (IOException e) {
            throw Refusals.internal("the runtime answers with what is no JSON: " + e.getMessage());
        }
    }

    void signal(String id, int signal) throws InterruptedException {
        byte[] _ = run("kill", id, Integer.toString(signal));
    }

    /** Whether anybody waits for that or not. */
    private void killAll(String id) throws InterruptedException {
        byte[] _ = run(() -> false, "kill", "--all", id, "KILL");
    }

    /** Kills all that is left of a container, paused or not. */
    void kill(String id) throws InterruptedException {
        if (state(id) != State.NONE) {
            killAll(id);
            if (state(id) == State.PAUSED) {
                // What is frozen dies as soon as it is not.
                resume(id);
            }
        }
    }

    void pause(String id) throws InterruptedException {
        byte[] _ = run("pause", id);
    }

    void resume(String id) throws InterruptedException {
        byte[] _ = run("resume", id);
    }

    /** The ids of all that it keeps anything of. */
    ImmutableList<String> containers() throws IOException {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(root)) {
            return Streams.stream(all)
                    .map(directory -> directory.getFileName().toString())
                    .collect(ImmutableList.toImmutableList());
        } catch (NoSuchFileException e) {
            return ImmutableList.of();
        }
    }

    /** Whatever is left of a container, running or not; no failure where there is nothing. */
    void delete(String id) throws InterruptedException {
        if (Files.exists(root.resolve(id))) {
            // By itself it would wait for what is paused, in vain.
            kill(id);
            byte[] _ = run(() -> false, "delete", "--force", id);
        }
    }

    /** @param resources a file with what they are to be */
    void update(String id, Path resources) throws InterruptedException {
        byte[] _ = run("update", "--resources", resources.toString(), id);
    }

    /** What a container that runs uses, and may. */
    JsonNode statistics(String id) throws InterruptedException {
        return json(run("events", "--stats", id)).path("data");
    }

    /** How many processes of a container the kernel has killed for want of memory; 0 where nothing tells. */
    long outOfMemory(String id) throws IOException {
        JsonNode paths;
        try {
            paths = MAPPER.readTree(Files.readAllBytes(root.resolve(id).resolve("state.json")))
                    .path("cgroup_paths");
        } catch (NoSuchFileException e) {
            return 0;
        }
        for (String controller : List.of("memory", "")) {
            if (paths.has(controller)) {
                Path group = Path.of(paths.path(controller).asText());
                for (String file : List.of("memory.oom_control", "memory.events")) {
                    Optional<Long> kills = kills(group.resolve(file));
                    if (kills.isPresent()) {
                        return kills.get();
                    }
                }
            }
        }
        return 0;
    }

    private static Optional<Long> kills(Path file) throws IOException {
        try {
            return Files.readString(file, StandardCharsets.US_ASCII)
                    .lines()
                    .filter(line -> line.toLowerCase(Locale.ROOT).startsWith("oom_kill "))
                    .map(line -> Long.parseLong(line.substring("oom_kill ".length())))
                    .findFirst();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }
}
