package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.TerminalMode.Size;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.Format;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.reconcile.agent.api.ApiException;
import io.homeostat.reconcile.agent.api.ApiInput;
import io.homeostat.reconcile.agent.api.ApiOutput;
import io.homeostat.reconcile.agent.api.ApiServer;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.Enforcer;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.Environment.Interrupts.Guard;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.Terminal;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.TerminalSize;
import io.homeostat.reconcile.command.output.Text;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs in an agent the commands that others ask for, on its own state directory, each with a console that its caller reads. When its
 * socket or its announcement is deleted, it makes them anew.
 */
public final class CommandServer implements ApiServer.Handler, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CommandServer.class);
    private static final int BUFFER = 8192;

    private final Environment environment;
    private final Layout layout;
    private final Enforcer enforcer;
    private final Function<CommandRequest, Command> commands;
    private final AtomicLong calls = new AtomicLong();
    private @Nullable ApiServer listening;

    /**
     * Listens, then announces it in the state directory, so that other commands come here. The run directory exists and the caller holds
     * the lock.
     *
     * @throws CommandFailure when it can't listen
     */
    public CommandServer(
            Environment environment, Layout layout, Enforcer enforcer, Function<CommandRequest, Command> commands) {
        this.environment = environment;
        this.layout = layout;
        this.enforcer = enforcer;
        this.commands = commands;
        listen();
    }

    private void listen() {
        try {
            listening = ApiServer.start(layout.agentSocket(), this);
        } catch (ApiException e) {
            throw new CommandFailure(e.getMessage(), e);
        }
        try {
            AgentFile.ofThisProcess(layout.agentSocket(), Version.current(), new ProcFs())
                    .write(layout);
        } catch (IOException e) {
            close();
            throw new CommandFailure(
                    "cannot write " + layout.agentFile() + ", which other commands find the agent by: "
                            + CommandFailure.reason(e),
                    e);
        }
    }

    /** Recreates what is missing. What can't be recreated is logged, and tried again the next time. */
    public void ensure() {
        if (listening != null
                && Files.exists(layout.agentSocket(), LinkOption.NOFOLLOW_LINKS)
                && Files.exists(layout.agentFile(), LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        LOG.warn("{} or {} is gone; the agent listens again", layout.agentSocket(), layout.agentFile());
        close();
        try {
            new UserDirectories(environment).createRunDirectory(layout.runDir());
            listen();
        } catch (RuntimeException e) {
            // The workloads are enforced all the same, which is what the agent is for.
            LOG.error("other commands can't reach the agent: {}", e.getMessage());
        }
    }

    /** How many commands others have asked for. */
    public long calls() {
        return calls.get();
    }

    @Override
    public int run(CommandRequest request, ApiOutput output) throws InterruptedException {
        return run(request, ApiInput.none(), output);
    }

    @Override
    public int run(CommandRequest request, ApiInput input, ApiOutput output) throws InterruptedException {
        return run(request, input, output.standardOutput(), output.standardError());
    }

    /** The same for a caller in this process, who types nothing. */
    public int run(CommandRequest request, OutputStream out, OutputStream err) throws InterruptedException {
        return run(request, ApiInput.none(), out, err);
    }

    private int run(CommandRequest request, ApiInput input, OutputStream standardOutput, OutputStream standardError)
            throws InterruptedException {
        calls.incrementAndGet();
        Presentation presentation = request.getPresentation();
        String word = presentation.getWord().isEmpty()
                ? request.getCommandCase().name().toLowerCase(Locale.ROOT).replace('_', '-')
                : Text.oneLine(presentation.getWord());
        try (PrintStream out = stream(standardOutput);
                PrintStream err = stream(standardError)) {
            Console console = new Console(
                    out,
                    err,
                    presentation.getFormat() == Format.FORMAT_JSON ? OutputFormat.JSON : OutputFormat.TEXT,
                    new Ansi(presentation.getColour()));
            Workspace workspace =
                    new Workspace(word, environment(presentation, input, out, err), console, layout, enforcer);
            try {
                return console.tellFailures(word, false, () -> logged(word, request, workspace));
            } catch (UsageException e) {
                console.misunderstood(word, word + ": " + e.getMessage());
                return ExitStatus.USAGE;
            }
        }
    }

    /** Its caller gets a sentence; where a defect of ours happened stands in the log. */
    private int logged(String word, CommandRequest request, Workspace workspace) throws InterruptedException {
        try {
            return commands.apply(request).run(workspace);
        } catch (UsageException | CommandFailure | StoreException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            LOG.error("{} ended by a defect of homeostat", word, e);
            throw e;
        }
    }

    /**
     * The caller's environment as far as the request tells it; the rest is the agent's own, but for standard input and terminal. The metadata
     * server and the directory of its configuration are the agent's: a plan made with others would not be what the agent does.
     */
    private Environment environment(Presentation presentation, ApiInput input, PrintStream out, PrintStream err) {
        return new Environment(
                ImmutableMap.<String, String>builder()
                        .putAll(TerminalSize.variables(presentation.getRows(), presentation.getColumns()))
                        .put(MetadataClient.HOST_VARIABLE, environment.variable(MetadataClient.HOST_VARIABLE))
                        .put(UserDirectories.HOME, environment.variable(UserDirectories.HOME))
                        .put(UserDirectories.CONFIG_HOME, environment.variable(UserDirectories.CONFIG_HOME))
                        .buildOrThrow(),
                environment.workingDirectory(),
                environment.uid(),
                input.standardInput(),
                out,
                err,
                presentation.getOutputTerminal(),
                presentation.getErrorTerminal(),
                environment.clock(),
                environment.ticker(),
                environment.documents(),
                Interrupts.none(),
                new CallersTerminal(input));
    }

    /** Whoever asks says how large it is, and does the rest where it is. */
    private record CallersTerminal(ApiInput input) implements Terminal {
        @Override
        public boolean isInput() {
            return true;
        }

        @Override
        public Guard raw() {
            return () -> {};
        }

        @Override
        public Optional<Size> size() {
            return input.size().map(size -> new Size(size.getRows(), size.getColumns()));
        }

        @Override
        public Guard onResize(Runnable changed) {
            input.onResize(changed);
            return () -> input.onResize(() -> {});
        }
    }

    private static PrintStream stream(OutputStream out) {
        return new PrintStream(new BufferedOutputStream(out, BUFFER), false, StandardCharsets.UTF_8);
    }

    /** Ends what is being done for others; they come to the state directory themselves again. */
    @Override
    public void close() {
        try {
            Files.deleteIfExists(layout.agentFile());
        } catch (IOException e) {
            // Its process is gone in a moment, and then it counts for nothing.
            LOG.warn("{} could not be removed: {}", layout.agentFile(), e.getMessage());
        }
        if (listening != null) {
            listening.close();
            listening = null;
        }
    }
}
