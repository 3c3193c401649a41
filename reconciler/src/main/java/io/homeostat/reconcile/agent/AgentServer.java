package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.agent.ApplyRequest;
import io.homeostat.proto.agent.DeleteRequest;
import io.homeostat.proto.agent.EventsRequest;
import io.homeostat.proto.agent.Format;
import io.homeostat.proto.agent.InspectRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.proto.agent.PauseRequest;
import io.homeostat.proto.agent.PlanRequest;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.proto.agent.ResetRequest;
import io.homeostat.proto.agent.ResumeRequest;
import io.homeostat.proto.agent.StartRequest;
import io.homeostat.proto.agent.StatesRequest;
import io.homeostat.proto.agent.StatusRequest;
import io.homeostat.proto.agent.StopRequest;
import io.homeostat.proto.agent.VerifyRequest;
import io.homeostat.proto.agent.VmEventRequest;
import io.homeostat.proto.agent.WatchRequest;
import io.homeostat.reconcile.agent.api.ApiException;
import io.homeostat.reconcile.agent.api.ApiHandler;
import io.homeostat.reconcile.agent.api.ApiOutput;
import io.homeostat.reconcile.agent.api.ApiServer;
import io.homeostat.reconcile.command.AgentCalls;
import io.homeostat.reconcile.command.AgentFile;
import io.homeostat.reconcile.command.Attempt;
import io.homeostat.reconcile.command.CommandFailure;
import io.homeostat.reconcile.command.Enforcer;
import io.homeostat.reconcile.command.Environment;
import io.homeostat.reconcile.command.ExitStatus;
import io.homeostat.reconcile.command.Interrupts;
import io.homeostat.reconcile.command.LogsCommand;
import io.homeostat.reconcile.command.OperationCalls;
import io.homeostat.reconcile.command.Request;
import io.homeostat.reconcile.command.UsageException;
import io.homeostat.reconcile.command.Verb;
import io.homeostat.reconcile.command.VersionCommand;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Ink;
import io.homeostat.reconcile.command.output.OutputFormat;
import io.homeostat.reconcile.command.output.TerminalSize;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs in an agent the commands that others ask for, on its own state directory, each with a console that its caller reads. */
public final class AgentServer implements ApiHandler, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(AgentServer.class);
    private static final int BUFFER = 8192;

    private final Environment environment;
    private final Layout layout;
    private final Enforcer enforcer;

    private final AtomicLong calls = new AtomicLong();
    private @Nullable ApiServer listening;

    private AgentServer(Environment environment, Layout layout, Enforcer enforcer) {
        this.environment = environment;
        this.layout = layout;
        this.enforcer = enforcer;
    }

    /**
     * Listens, and then says so in the state directory, so that other commands come here from now on.
     *
     * @param environment the agent's own
     * @param layout its run directory exists; the caller holds the lock of its state directory
     * @param enforcer of the agent
     * @throws CommandFailure when it is not possible
     */
    public static AgentServer open(Environment environment, Layout layout, Enforcer enforcer) {
        AgentServer server = new AgentServer(environment, layout, enforcer);
        ApiServer api = start(layout, server);
        server.listening = api;
        try {
            AgentFile.ofThisProcess(layout.agentSocket(), VersionCommand.version(), new ProcFs())
                    .write(layout);
            return server;
        } catch (IOException e) {
            api.close();
            throw new CommandFailure(
                    "cannot write " + layout.agentFile() + ", which other commands find the agent by: "
                            + LogsCommand.reason(e),
                    e);
        }
    }

    private static ApiServer start(Layout layout, AgentServer server) {
        try {
            return ApiServer.start(layout.agentSocket(), server);
        } catch (ApiException e) {
            throw new CommandFailure(e.getMessage(), e);
        }
    }

    /** How many commands others have asked for. */
    public long calls() {
        return calls.get();
    }

    @Override
    public int status(StatusRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.STATUS, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int plan(PlanRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.PLAN, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int apply(ApplyRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.APPLY, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int delete(DeleteRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.DELETE, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int pause(PauseRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.PAUSE, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int resume(ResumeRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.RESUME, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int events(EventsRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.EVENTS, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int logs(LogsRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.LOGS, request.getPresentation(), () -> AgentCalls.request(request), output);
    }

    @Override
    public int stop(StopRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.STOP, request.getPresentation(), () -> OperationCalls.request(request), output);
    }

    @Override
    public int start(StartRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.START, request.getPresentation(), () -> OperationCalls.request(request), output);
    }

    @Override
    public int reset(ResetRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.RESET, request.getPresentation(), () -> OperationCalls.request(request), output);
    }

    @Override
    public int verify(VerifyRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.VERIFY, request.getPresentation(), () -> OperationCalls.request(request), output);
    }

    @Override
    public int states(StatesRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.STATES, request.getPresentation(), () -> OperationCalls.request(request), output);
    }

    @Override
    public int vmEvent(VmEventRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.VM_EVENT, request.getPresentation(), () -> OperationCalls.request(request), output);
    }

    @Override
    public int watch(WatchRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.WATCH, request.getPresentation(), () -> OperationCalls.request(request), output);
    }

    @Override
    public int inspect(InspectRequest request, ApiOutput output) throws InterruptedException {
        return run(Verb.DIAGNOSTICS, request.getPresentation(), Request.Inspect::new, output);
    }

    private int run(Verb verb, Presentation presentation, Supplier<Request> request, ApiOutput output)
            throws InterruptedException {
        calls.incrementAndGet();
        try (PrintStream out = stream(output.standardOutput());
                PrintStream err = stream(output.standardError())) {
            Console console = new Console(
                    out,
                    err,
                    presentation.getFormat() == Format.FORMAT_JSON ? OutputFormat.JSON : OutputFormat.TEXT,
                    new Ink(presentation.getColour()));
            Workspace workspace = new Workspace(environment(presentation, out, err), console, layout, enforcer);
            try {
                return new Attempt(verb, console, false)
                        .run(() -> request.get().on(workspace).run());
            } catch (UsageException e) {
                console.say(verb.word() + ": " + e.getMessage());
                return ExitStatus.USAGE;
            }
        }
    }

    /**
     * What is the caller's, as far as he said; what is the agent's own, such as its standard input, is nobody else's. But whom the
     * agent asks about the machine is asked here too: a plan by another one's answers would not be what the agent does.
     */
    private Environment environment(Presentation presentation, PrintStream out, PrintStream err) {
        return new Environment(
                ImmutableMap.<String, String>builder()
                        .putAll(TerminalSize.variables(presentation.getRows(), presentation.getColumns()))
                        .put(MetadataClient.HOST_VARIABLE, environment.variable(MetadataClient.HOST_VARIABLE))
                        .buildOrThrow(),
                environment.workingDirectory(),
                environment.uid(),
                InputStream.nullInputStream(),
                out,
                err,
                presentation.getOutputTerminal(),
                presentation.getErrorTerminal(),
                environment.clock(),
                Interrupts.none());
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
            log.warn("{} could not be removed: {}", layout.agentFile(), e.getMessage());
        }
        if (listening != null) {
            listening.close();
        }
    }
}
