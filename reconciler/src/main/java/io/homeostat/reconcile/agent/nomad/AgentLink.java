package io.homeostat.reconcile.agent.nomad;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.goplugin.HostEnvironment;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.Format;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.reconcile.agent.api.ApiClient;
import io.homeostat.reconcile.agent.api.ApiException;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.NomadDriverCommand;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The agent that enforces what the tasks of Nomad are declared in. When none runs on the state directory one is started, in a session of
 * its own: it outlives this process, as it would any other that has started it.
 */
final class AgentLink {
    private static final Duration START = Duration.ofSeconds(30);
    private static final Duration LOOK = Duration.ofMillis(20);
    private static final String LOG = "nomad-driver-agent.log";
    private static final long MOST_LOG = 4L << 20;
    private static final String CONFIG = "nomad-driver-agent.yaml";

    /** Declares nothing: a state directory that only Nomad's tasks are in. */
    private static final String NOTHING_ELSE =
            "sources: {files: [], local: {directories: []}}\nmetrics: {listen: \"\"}\n";

    private final Layout layout;
    private final Optional<Path> config;
    private final Path program;
    private final HostLog log;

    /**
     * @param config of an agent that is started; empty: the usual one
     * @param program the command {@code homeostat}
     */
    AgentLink(Layout layout, Optional<Path> config, Path program, HostLog log) {
        this.layout = layout;
        this.config = config;
        this.program = program;
        this.log = log;
    }

    Layout layout() {
        return layout;
    }

    /** Writes the configuration of an agent for which nothing but tasks of Nomad is declared, and returns its path. */
    static Path configOfItsOwn(Path stateDir) throws IOException {
        Files.createDirectories(
                stateDir, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path file = stateDir.resolve(CONFIG);
        byte[] content = NOTHING_ELSE.getBytes(StandardCharsets.UTF_8);
        // An agent may be reading it.
        if (!Files.exists(file) || !Arrays.equals(content, Files.readAllBytes(file))) {
            new LocalDisk().replace(file, content);
        }
        return file;
    }

    /**
     * Has an agent run.
     *
     * @throws CommandFailure when none could be started
     */
    synchronized AgentFile ensure() throws InterruptedException {
        Optional<AgentFile> running = AgentFile.running(layout);
        if (running.isPresent()) {
            return running.get();
        }
        try {
            Process agent = start();
            for (long looks = START.dividedBy(LOOK); looks > 0; looks--) {
                running = AgentFile.running(layout);
                if (running.isPresent()) {
                    log.info("an agent enforces what is declared in " + layout.stateDir() + ", pid "
                            + running.get().identity().pid());
                    return running.get();
                }
                if (!agent.isAlive() && agent.exitValue() != ExitStatus.OK) {
                    // Another one may have been started at the same moment, and this one has made way for it.
                    Thread.sleep(LOOK);
                    return AgentFile.running(layout)
                            .orElseThrow(() -> new CommandFailure("the agent on " + layout.stateDir()
                                    + " ended with exit status " + agent.exitValue() + "; "
                                    + layout.stateDir().resolve(LOG) + " says why"));
                }
                Thread.sleep(LOOK);
            }
        } catch (IOException e) {
            throw new CommandFailure("cannot start " + program + " run: " + CommandFailure.reason(e), e);
        }
        throw new CommandFailure("the agent on " + layout.stateDir() + " is not ready after " + START.toSeconds()
                + " s; " + layout.stateDir().resolve(LOG) + " says why");
    }

    private Process start() throws IOException {
        Files.createDirectories(
                layout.stateDir(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        List<String> command = new ArrayList<>(List.of(
                "setsid",
                program.toString(),
                "run",
                "--state-dir",
                layout.stateDir().toString(),
                "--run-dir",
                layout.runDir().toString()));
        config.ifPresent(file -> command.addAll(List.of("--config", file.toString())));
        Path written = layout.stateDir().resolve(LOG);
        if (Files.exists(written) && Files.size(written) > MOST_LOG) {
            Files.move(written, written.resolveSibling(LOG + ".1"), StandardCopyOption.REPLACE_EXISTING);
        }
        File output = written.toFile();
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(new File("/"))
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.appendTo(output))
                .redirectError(ProcessBuilder.Redirect.appendTo(output));
        // What the host says to its plugin is not for the agent, nor for what it launches.
        builder.environment()
                .keySet()
                .removeAll(DriverSession.HOST.variables(Path.of("/")).keySet());
        builder.environment().keySet().removeAll(HostEnvironment.WITHHELD);
        // Another Homeostat that has launched the driver would take the agent for a process of it.
        builder.environment().keySet().removeAll(LaunchMarks.ALL);
        return builder.start();
    }

    /** What the same task is declared as under other ids; starts an agent when none runs. */
    List<TaskLook> former(String task) throws InterruptedException {
        List<TaskLook> looks = new ArrayList<>();
        follow(NomadDriverCommand.former(task), looks::add);
        return looks;
    }

    /** How a task is; starts an agent when none runs. */
    TaskLook look(WorkloadId workload) throws InterruptedException {
        List<TaskLook> looks = new ArrayList<>();
        follow(NomadDriverCommand.about(ImmutableList.of(workload), false), looks::add);
        if (looks.isEmpty()) {
            throw new CommandFailure("the agent says nothing of " + workload);
        }
        return looks.getFirst();
    }

    /**
     * Hands on how tasks are, and each change, until the thread is interrupted, the agent goes away or the reader has enough.
     *
     * @param goesOn whether the reader wants more
     */
    void follow(ImmutableList<WorkloadId> workloads, Predicate<TaskLook> goesOn) throws InterruptedException {
        follow(NomadDriverCommand.about(workloads, true), goesOn);
    }

    private void follow(NomadDriverCommand command, Predicate<TaskLook> goesOn) throws InterruptedException {
        ObjectMapper mapper = new ObjectMapper();
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        run(command, bytes -> {
            boolean more = true;
            for (byte one : bytes) {
                if (one != '\n') {
                    line.write(one);
                    continue;
                }
                try {
                    more &= goesOn.test(TaskLook.of(mapper.readTree(line.toByteArray())));
                } catch (JsonProcessingException e) {
                    throw new CommandFailure("the agent answers with what is no JSON; is it of another version?", e);
                } catch (IOException e) {
                    throw new IllegalStateException("memory can't be read", e);
                }
                line.reset();
            }
            return more;
        });
    }

    /** The same for what prints nothing of interest. */
    void run(Command command) throws InterruptedException {
        run(command, bytes -> true);
    }

    /**
     * Runs a command in the agent, which is started when none runs.
     *
     * @param output returns whether it wants more
     *
     * @throws CommandFailure when it can't be done, in the agent's words
     */
    private void run(Command command, Predicate<ByteString> output) throws InterruptedException {
        CommandRequest.Builder request = CommandRequest.newBuilder()
                .setPresentation(Presentation.newBuilder().setFormat(Format.FORMAT_JSON));
        command.write(request);
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int status;
        try (ApiClient client = new ApiClient(ensure().socket(), ApiClient.PATIENCE)) {
            status = client.run(request.build(), new ApiClient.Reader() {
                private boolean more = true;

                @Override
                public void standardOutput(ByteString bytes) {
                    more = output.test(bytes);
                }

                @Override
                public void standardError(ByteString bytes) {
                    errors.writeBytes(bytes.toByteArray());
                }

                @Override
                public boolean readsOn() {
                    return more;
                }
            });
        } catch (ApiException e) {
            throw new CommandFailure(e.getMessage(), e);
        }
        if (status != ExitStatus.OK) {
            throw failure(errors.toString(StandardCharsets.UTF_8).strip());
        }
    }

    /** What an agent that was asked for JSON says of a failure. With problems when what it was given is wrong. */
    private static CommandFailure failure(String said) {
        try {
            JsonNode error = new ObjectMapper().readTree(said).path("error");
            String message = error.path("message").asText();
            if (!message.isEmpty()) {
                ImmutableList.Builder<Problem> problems = ImmutableList.builder();
                error.path("problems").forEach(problem -> problems.add(problem(problem)));
                return new CommandFailure(message, problems.build());
            }
        } catch (JsonProcessingException e) {
            return new CommandFailure(said, e);
        }
        return new CommandFailure(said.isEmpty() ? "the agent has not done it in time" : said);
    }

    private static Problem problem(JsonNode json) {
        return new Problem(
                Problem.Kind.UNSPECIFIED,
                "",
                json.path("file").asText(),
                json.path("line").asInt(),
                json.path("column").asInt(),
                "",
                json.path("message").asText());
    }

    /** Whether what was asked for may have been done, or be done yet. */
    static boolean isOpen(CommandFailure failure) {
        return failure.getCause() instanceof ApiException e
                && (e.kind() == ApiException.Kind.UNANSWERED || e.kind() == ApiException.Kind.LOST);
    }
}
