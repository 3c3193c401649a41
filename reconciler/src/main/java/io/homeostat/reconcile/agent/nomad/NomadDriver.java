package io.homeostat.reconcile.agent.nomad;

import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.goplugin.HostEnvironment;
import io.homeostat.reconcile.agent.frontend.AgentLink;
import io.homeostat.reconcile.command.FrontEnd;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * {@code homeostat nomad-driver}: serves a Nomad client, which starts it, until that says Shutdown. Several may run at once; before Init,
 * or the first call for a task, none of them touches anything.
 */
public final class NomadDriver {
    private static final int PROTOCOL = 2;
    private static final int DIGITS = 8;
    private static final HostEnvironment HOST = DriverSession.HOST;

    private final Environment environment;
    private final GlobalOptions options;
    private final Console console;
    private final HostLog log;
    private final TaskEvents events;
    private PluginSettings settings = PluginSettings.NONE;
    private @Nullable NomadTasks tasks;

    public NomadDriver(Environment environment, Console console, GlobalOptions options) {
        this.environment = environment;
        this.console = console;
        this.options = options;
        this.log = new HostLog(environment.err(), environment.clock());
        this.events = new TaskEvents(environment.clock());
    }

    /** Returns the exit status; ends the process itself when the host says so. */
    public int run() throws InterruptedException {
        if (!environment.variable(HOST.cookieName()).equals(HOST.cookieValue())) {
            throw new CommandFailure(
                    "this is a task driver, which a Nomad client starts: put an executable file into its"
                            + " plugin_dir that runs 'exec homeostat nomad-driver'; by itself it does nothing");
        }
        Path directory = Path.of(environment
                .variables()
                .getOrDefault("PLUGIN_UNIX_SOCKET_DIR", environment.variables().getOrDefault("TMPDIR", "/tmp")));
        Path socket = directory.resolve(
                "plugin" + UUID.randomUUID().toString().replace("-", "").substring(0, DIGITS));
        if (socket.toString().length() > Layout.MAX_SOCKET_PATH) {
            throw new CommandFailure(
                    directory + " is too long for a unix socket; give the Nomad client a shorter TMPDIR");
        }
        // The terminal's ^C is for the host, which ends its plugins itself.
        environment.interrupts().ignoreInterrupt();
        try (GoPluginServer server = listen(socket)) {
            console.out().println(server.handshake(PROTOCOL));
            console.out().flush();
            server.awaitTermination();
            return ExitStatus.OK;
        } catch (IOException e) {
            throw new CommandFailure("cannot listen on " + socket + ": " + CommandFailure.reason(e), e);
        }
    }

    private GoPluginServer listen(Path socket) throws IOException {
        return new GoPluginServer(
                socket,
                () -> end(socket),
                new PluginService(this::configure),
                new DriverService(
                        this::tasks,
                        () -> layout().stateDir(),
                        events,
                        environment.clock(),
                        environment.ticker(),
                        log));
    }

    /** Serves for a moment, so that what that takes has been loaded once. */
    public void rehearse(Path socket) {
        try (GoPluginServer server = listen(socket)) {
            log.debug(server.handshake(PROTOCOL));
        } catch (IOException e) {
            throw new CommandFailure("cannot listen on " + socket + ": " + CommandFailure.reason(e), e);
        }
    }

    /** At once: there is nothing here that could be put in order, and tasks go on. */
    private void end(Path socket) {
        try {
            Files.deleteIfExists(socket);
        } catch (IOException e) {
            log.warn("cannot remove " + socket + ": " + e.getMessage());
        }
        Runtime.getRuntime().halt(ExitStatus.OK);
    }

    private synchronized void configure(PluginSettings given) {
        if (tasks != null && !given.equals(settings)) {
            throw new IllegalArgumentException(
                    "the driver has tasks; another configuration takes effect at its next launch");
        }
        settings = given;
    }

    /** The directories that the host has configured, else the usual ones; fails when others can change them. */
    private synchronized Layout layout() {
        Optional<Path> run = settings.runDir().or(() -> settings.stateDir().map(path -> path.resolve("run")));
        return new UserDirectories(environment)
                .layout(new GlobalOptions(
                        options.format(),
                        settings.stateDir().map(Path::toString).or(options::stateDir),
                        run.map(Path::toString).or(options::runDir),
                        options.logLevel(),
                        options.noColor()));
    }

    private synchronized NomadTasks tasks() {
        if (tasks == null) {
            Layout layout = layout();
            tasks = new NomadTasks(
                    new AgentLink(FrontEnd.NOMAD_DRIVER, layout, agentConfig(layout), AgentLink.program(), log::info),
                    events,
                    log,
                    environment.clock());
        }
        return tasks;
    }

    private Optional<Path> agentConfig(Layout layout) {
        if (settings.agentConfig().isPresent() || settings.stateDir().isEmpty()) {
            return settings.agentConfig();
        }
        try {
            return Optional.of(AgentLink.configOfItsOwn(FrontEnd.NOMAD_DRIVER, layout.stateDir()));
        } catch (IOException e) {
            throw new CommandFailure(
                    "cannot write into the state directory " + layout.stateDir() + ": " + CommandFailure.reason(e), e);
        }
    }
}
