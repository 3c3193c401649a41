package io.homeostat.reconcile.agent.frontend;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.StateStores;
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
import io.homeostat.reconcile.command.FrontEnd;
import io.homeostat.reconcile.command.FrontEndCommand;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.CodeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The agent that enforces what a front end declares. When none runs on the state directory one is started, in a session of its own: it
 * outlives this process, as it would any other that has started it.
 */
public final class AgentLink implements FrontEndAgent {
    private static final Duration START = Duration.ofSeconds(30);
    private static final Duration REMOVAL = Duration.ofSeconds(60);
    private static final Duration LOOK = Duration.ofMillis(20);
    private static final long MOST_LOG = 4L << 20;

    /** Declares nothing: a state directory that only what a front end declares is in. */
    private static final String NOTHING_ELSE =
            "sources: {files: [], local: {directories: []}}\nmetrics: {listen: \"\"}\n";

    private final FrontEnd frontEnd;
    private final Layout layout;
    private final Optional<Path> config;
    private final Path program;
    private final Consumer<String> say;
    private final Surroundings surroundings;
    private final String log;

    /** The machine outside of this process: agents, processes and time. */
    interface Surroundings {
        /** Returns the agent that runs on the state directory of this layout, if any. */
        Optional<AgentFile> running(Layout layout);

        /** Starts an agent. */
        Process start(ProcessBuilder builder) throws IOException;

        /**
         * Calls the agent that listens at this socket; returns the exit status of the command.
         *
         * @throws ApiException when there is none
         */
        int run(Path socket, CommandRequest request, ApiClient.Reader reader) throws InterruptedException;

        /** Waits before the next attempt. */
        void pause(Duration pause) throws InterruptedException;
    }

    private static final Surroundings MACHINE = new Surroundings() {
        @Override
        public Optional<AgentFile> running(Layout layout) {
            return AgentFile.running(layout);
        }

        @Override
        public Process start(ProcessBuilder builder) throws IOException {
            return builder.start();
        }

        @Override
        public int run(Path socket, CommandRequest request, ApiClient.Reader reader) throws InterruptedException {
            try (ApiClient client = new ApiClient(socket, ApiClient.PATIENCE)) {
                return client.run(request, reader);
            }
        }

        @Override
        public void pause(Duration pause) throws InterruptedException {
            Thread.sleep(pause);
        }
    };

    /**
     * @param config of an agent that is started; empty: the usual one
     * @param program the command {@code homeostat}
     * @param say told when one has been found or started
     */
    public AgentLink(FrontEnd frontEnd, Layout layout, Optional<Path> config, Path program, Consumer<String> say) {
        this(frontEnd, layout, config, program, say, MACHINE);
    }

    AgentLink(
            FrontEnd frontEnd,
            Layout layout,
            Optional<Path> config,
            Path program,
            Consumer<String> say,
            Surroundings surroundings) {
        this.surroundings = surroundings;
        this.frontEnd = frontEnd;
        this.layout = layout;
        this.config = config;
        this.program = program;
        this.say = say;
        this.log = frontEnd.command() + "-agent.log";
    }

    @Override
    public Layout layout() {
        return layout;
    }

    /** Writes the configuration of an agent for which nothing but by this front end is declared, and returns its path. */
    public static Path configOfItsOwn(FrontEnd frontEnd, Path stateDir) throws IOException {
        create(stateDir);
        Path file = stateDir.resolve(frontEnd.command() + "-agent.yaml");
        byte[] content = NOTHING_ELSE.getBytes(StandardCharsets.UTF_8);
        // An agent may be reading it.
        if (!Files.exists(file) || !Arrays.equals(content, Files.readAllBytes(file))) {
            new LocalDisk().replace(file, content);
        }
        return file;
    }

    /** Before anything is written there: somebody else could have put links in the places of our files. */
    private static void create(Path stateDir) {
        try {
            StateStores.createDirectory(stateDir);
        } catch (StoreException e) {
            throw new CommandFailure(e.getMessage(), e);
        }
    }

    /** The start script of the distribution that this runs from. */
    public static Path program() {
        CodeSource source = AgentLink.class.getProtectionDomain().getCodeSource();
        try {
            Path library = Path.of(source.getLocation().toURI());
            Path program = library.resolveSibling("../bin/homeostat").normalize();
            if (Files.isExecutable(program)) {
                return program;
            }
            throw new CommandFailure("this does not run from a distribution of homeostat: there is no " + program);
        } catch (URISyntaxException e) {
            throw new CommandFailure("where this runs from is no path: " + e.getMessage(), e);
        }
    }

    /**
     * Has an agent run.
     *
     * @throws CommandFailure when none could be started
     */
    synchronized AgentFile ensure() throws InterruptedException {
        Optional<AgentFile> running = surroundings.running(layout);
        if (running.isPresent()) {
            return running.get();
        }
        try {
            Process agent = start();
            for (long looks = START.dividedBy(LOOK); looks > 0; looks--) {
                running = surroundings.running(layout);
                if (running.isPresent()) {
                    say.accept("an agent enforces what is declared in " + layout.stateDir() + ", pid "
                            + running.get().identity().pid());
                    return running.get();
                }
                if (!agent.isAlive() && agent.exitValue() != ExitStatus.OK) {
                    // Another one may have been started at the same moment, and this one has made way for it.
                    surroundings.pause(LOOK);
                    return surroundings
                            .running(layout)
                            .orElseThrow(() -> new CommandFailure("the agent on " + layout.stateDir()
                                    + " ended with exit status " + agent.exitValue() + "; "
                                    + layout.stateDir().resolve(log) + " says why"));
                }
                surroundings.pause(LOOK);
            }
        } catch (IOException e) {
            throw new CommandFailure("cannot start " + program + " run: " + CommandFailure.reason(e), e);
        }
        throw new CommandFailure("the agent on " + layout.stateDir() + " is not ready after " + START.toSeconds()
                + " s; " + layout.stateDir().resolve(log) + " says why");
    }

    private Process start() throws IOException {
        create(layout.stateDir());
        List<String> command = new ArrayList<>(List.of(
                "setsid",
                program.toString(),
                "run",
                "--state-dir",
                layout.stateDir().toString(),
                "--run-dir",
                layout.runDir().toString()));
        config.ifPresent(file -> command.addAll(List.of("--config", file.toString())));
        Path written = layout.stateDir().resolve(log);
        if (Files.exists(written) && Files.size(written) > MOST_LOG) {
            Files.move(written, written.resolveSibling(log + ".1"), StandardCopyOption.REPLACE_EXISTING);
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
        return surroundings.start(builder);
    }

    /** Starts an agent when none runs, as all of these. */
    @Override
    public List<WorkloadLook> former(String task) throws InterruptedException {
        List<WorkloadLook> looks = new ArrayList<>();
        follow(FrontEndCommand.former(frontEnd, task), looks::add);
        return looks;
    }

    @Override
    public WorkloadLook look(WorkloadId workload) throws InterruptedException {
        List<WorkloadLook> looks = new ArrayList<>();
        follow(FrontEndCommand.about(frontEnd, ImmutableList.of(workload), false), looks::add);
        if (looks.isEmpty()) {
            throw new CommandFailure("the agent says nothing of " + workload);
        }
        return looks.getFirst();
    }

    @Override
    public void follow(ImmutableList<WorkloadId> workloads, Predicate<WorkloadLook> goesOn)
            throws InterruptedException {
        follow(FrontEndCommand.about(frontEnd, workloads, true), goesOn);
    }

    private void follow(FrontEndCommand command, Predicate<WorkloadLook> goesOn) throws InterruptedException {
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
                    more &= goesOn.test(WorkloadLook.of(mapper.readTree(line.toByteArray())));
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

    @Override
    public void declare(String origin, String document) throws InterruptedException {
        run(FrontEndCommand.declare(frontEnd, origin, document));
    }

    @Override
    public void withdraw(WorkloadId workload) throws InterruptedException {
        run(FrontEndCommand.withdraw(frontEnd, workload));
        for (long looks = REMOVAL.dividedBy(LOOK); looks > 0; looks--) {
            if (!look(workload).known()) {
                return;
            }
            surroundings.pause(LOOK);
        }
        throw new CommandFailure(workload + " is withdrawn, and not gone after " + REMOVAL.toSeconds() + " s");
    }

    @Override
    public void resume(String origin, WorkloadId workload) throws InterruptedException {
        run(FrontEndCommand.resume(frontEnd, origin, workload));
    }

    @Override
    public void run(Command command) throws InterruptedException {
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
        try {
            status = surroundings.run(ensure().socket(), request.build(), new ApiClient.Reader() {
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
    public static boolean isOpen(CommandFailure failure) {
        return failure.getCause() instanceof ApiException e
                && (e.kind() == ApiException.Kind.UNANSWERED || e.kind() == ApiException.Kind.LOST);
    }
}
