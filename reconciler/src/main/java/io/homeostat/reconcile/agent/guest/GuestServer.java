package io.homeostat.reconcile.agent.guest;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.guest.VsockAcceptor;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.ttrpc.SocketAcceptor;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.reconcile.agent.api.PrivateSocket;
import io.homeostat.reconcile.agent.frontend.AgentLink;
import io.homeostat.reconcile.agent.telemetry.AgentLog;
import io.homeostat.reconcile.command.FrontEnd;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code homeostat guest}: serves the protocol of Kata's agent in a virtual machine until it is told to end, or its sandbox is destroyed.
 * Containers outlive it in the first case.
 */
public final class GuestServer {
    private static final Logger LOG = LoggerFactory.getLogger(GuestServer.class);

    /** As Kata's agent has it from its configuration. */
    private static final String ADDRESS = "KATA_AGENT_SERVER_ADDR";

    /** On whatever CID this machine has. */
    private static final String ANY = "vsock://-1:";

    /** In the place of that where one only has to be read. */
    private static final String NO_CID = "vsock://0:";

    private static final String USUAL = ANY + "1024";
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** What is under way when a sandbox was destroyed gets this long, so that its answer is sent. */
    private static final Duration LAST_ANSWER = Duration.ofMillis(200);

    private final Environment environment;
    private final GlobalOptions options;
    private final Settings settings;

    /**
     * What was typed; the default holds for what is empty.
     *
     * @param listen where to
     * @param runtime the runtime of the Open Container Initiative, as a path or a name
     * @param config of an agent that is started
     */
    public record Settings(Optional<String> listen, Optional<String> runtime, Optional<String> config) {}

    public GuestServer(Environment environment, GlobalOptions options, Settings settings) {
        this.environment = environment;
        this.options = options;
        this.settings = settings;
    }

    /** Returns the exit status. */
    public int run() {
        GuestEndpoint endpoint = endpoint();
        if (environment.uid() != 0) {
            throw new CommandFailure(
                    "only root runs containers: start homeostat guest as root, in the virtual machine");
        }
        UserDirectories directories = new UserDirectories(environment);
        Layout layout = directories.layout(options);
        try (AgentLog _ = AgentLog.use(
                        environment.err(),
                        AgentConfig.Log.Format.TEXT,
                        options.logLevel().orElse(AgentConfig.Log.Level.INFO));
                Environment.Interrupts.Guard _ = environment.interrupts().daemon(() -> {})) {
            return serve(endpoint, layout, directories);
        } catch (IOException e) {
            throw new CommandFailure("it can't go on: " + IoReason.withFile(e), e);
        }
    }

    private int serve(GuestEndpoint endpoint, Layout layout, UserDirectories directories) throws IOException {
        Path lock = layout.stateDir().resolve("guest.lock");
        try (StateLock _ = StateLock.acquire(lock, "guest", PATIENCE, environment.clock(), LOG::info)) {
            // The kernel tells mounts by real paths.
            GuestPaths paths = new GuestPaths(layout.stateDir().toRealPath().resolve("guest"));
            GuestSystem system = GuestSystem.real(environment.ticker(), environment.clock());
            OciRuntime runtime = new OciRuntime(runtime(), paths.runtime(), system.starter(), system.ticker());
            AgentLink agent = new AgentLink(
                    FrontEnd.GUEST, layout, agentConfig(layout, directories), AgentLink.program(), LOG::info);
            GuestMachine machine = new GuestMachine(paths, agent, runtime, system);
            serve(endpoint, machine);
            return ExitStatus.OK;
        } catch (InterruptedException e) {
            LOG.info("told to end; containers go on");
            return ExitStatus.OK;
        }
    }

    /** Serves a machine at an endpoint, and returns when its sandbox was destroyed. */
    static void serve(GuestEndpoint endpoint, GuestMachine machine) throws IOException, InterruptedException {
        ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
                1, Thread.ofPlatform().daemon().name("deadlines").factory());
        timer.setRemoveOnCancelPolicy(true);
        switch (endpoint) {
            case GuestEndpoint.Unix(String path) -> {
                try (PrivateSocket socket = PrivateSocket.prepare(Path.of(path));
                        TtrpcServer server =
                                server(new SocketAcceptor(socket.address().getPath()), timer, machine)) {
                    socket.publish();
                    serve(server, endpoint, machine);
                }
            }
            case GuestEndpoint.Vsock(int cid, int port) -> {
                try (TtrpcServer server = server(new VsockAcceptor(cid, port), timer, machine)) {
                    serve(server, endpoint, machine);
                }
            }
            case GuestEndpoint.HybridVsock _ -> throw new IllegalStateException("nobody listens there");
        }
        timer.shutdownNow();
    }

    private static TtrpcServer server(
            TtrpcServer.Acceptor acceptor, ScheduledThreadPoolExecutor timer, GuestMachine machine) {
        return new TtrpcServer(
                acceptor,
                timer,
                ImmutableList.of(
                        new GuestService(machine).bindService(),
                        new GuestHealthService(machine.version()).bindService()));
    }

    private static void serve(TtrpcServer server, GuestEndpoint endpoint, GuestMachine machine)
            throws InterruptedException {
        server.start();
        LOG.info("serves at {}", endpoint);
        machine.awaitEnd();
        LOG.info("the sandbox was destroyed, and this agent ends with it");
        Thread.sleep(LAST_ANSWER);
    }

    /**
     * Returns the endpoint that was typed or configured.
     *
     * @throws UsageException when nobody can listen there
     */
    GuestEndpoint endpoint() {
        String configured = environment.variable(ADDRESS);
        boolean isTyped = settings.listen().isPresent() || configured.isEmpty();
        String address = settings.listen().orElse(configured.isEmpty() ? USUAL : configured);
        try {
            // Where one can listen and not connect.
            GuestEndpoint endpoint = address.startsWith(ANY)
                    ? ofAnyCid(GuestEndpoint.parse(NO_CID + address.substring(ANY.length())))
                    : GuestEndpoint.parse(address);
            if (endpoint instanceof GuestEndpoint.HybridVsock) {
                throw new IllegalArgumentException(
                        "'" + address + "' is where its host reaches a guest; in the guest write " + USUAL);
            }
            return endpoint;
        } catch (IllegalArgumentException e) {
            throw new UsageException((isTyped ? "--listen" : ADDRESS) + ": "
                    + String.valueOf(e.getMessage()).replace(NO_CID, ANY));
        }
    }

    private static GuestEndpoint ofAnyCid(GuestEndpoint endpoint) {
        return endpoint instanceof GuestEndpoint.Vsock(int _, int port) ? new GuestEndpoint.Vsock(-1, port) : endpoint;
    }

    private Path runtime() {
        String name = settings.runtime().orElse("runc");
        return Executables.find(name)
                .orElseThrow(() -> new CommandFailure("there is no OCI runtime '" + name
                        + "' on this machine; install runc, or name another one by --runtime"));
    }

    /** With a state directory of its own an agent has nothing else to enforce. */
    private Optional<Path> agentConfig(Layout layout, UserDirectories directories) throws IOException {
        if (settings.config().isPresent()) {
            return Optional.of(
                    directories.absolute("--config", settings.config().get()));
        }
        return options.stateDir().isPresent()
                ? Optional.of(AgentLink.configOfItsOwn(FrontEnd.GUEST, layout.stateDir()))
                : Optional.empty();
    }
}
