package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.channel.ControlPlaneChannel;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.agent.hooks.Hooks;
import io.homeostat.reconcile.agent.telemetry.AgentLog;
import io.homeostat.reconcile.agent.telemetry.LoopWatch;
import io.homeostat.reconcile.agent.telemetry.MetricsServer.MetricsEndpoint;
import io.homeostat.reconcile.agent.telemetry.Telemetry;
import io.homeostat.reconcile.agent.ui.UiEndpoint;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ConfigFile;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.MachineClaim;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.controlplane.ControlPlane;
import io.homeostat.reconcile.controlplane.Modules;
import io.homeostat.reconcile.controlplane.SampledStates;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The agent as a process: enforces what is declared on a state directory until it is told to end. */
public final class Daemon {
    private static final Logger LOG = LoggerFactory.getLogger(Daemon.class);

    /** For an apply that is under way; another agent would never end. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** How soon a lost socket or database is noticed. */
    private static final Duration LOOK = Duration.ofSeconds(10);

    private final Environment environment;
    private final Console console;
    private final GlobalOptions options;
    private final ConfigFile file;
    private final Function<CommandRequest, Command> commands;
    /** Why the configuration that was read last is not in force; empty when it is. */
    private volatile String invalid = "";

    /** @param commands which command a request on the socket is for */
    public Daemon(
            Environment environment,
            Console console,
            GlobalOptions options,
            ConfigFile file,
            Function<CommandRequest, Command> commands) {
        this.environment = environment;
        this.console = console;
        this.options = options;
        this.file = file;
        this.commands = commands;
    }

    /** Runs until it is told to end; returns the exit status. */
    public int run() {
        AgentConfig config = file.read();
        Layout unclaimed = new UserDirectories(environment).layout(options, config);
        refuseBesideAnother(unclaimed);
        Clock clock = environment.clock();
        Semaphore hangUps = new Semaphore(0);
        try (AgentLog log = AgentLog.use(environment.err(), config.log().format(), level(config));
                Interrupts.Guard _ = environment.interrupts().daemon(hangUps::release);
                ProgramFiles program = ProgramFiles.of(clock, Thread.currentThread()::interrupt)) {
            if (program.overwritten().isPresent()) {
                return endedEarly(log, program);
            }
            return run(config, unclaimed, hangUps, log, program);
        }
    }

    private int run(AgentConfig config, Layout unclaimed, Semaphore hangUps, AgentLog log, ProgramFiles program) {
        Clock clock = environment.clock();
        try (StateLock _ = StateLock.acquire(unclaimed.lock(), "run", PATIENCE, clock, say(log))) {
            MachineClaim.Claimed claimed = new MachineClaim(environment).claim(unclaimed, config.instanceId());
            Layout layout = claimed.layout();
            StateStores.Opened opened = StateStores.openForWriting(layout, clock);
            try (StateStore store = opened.store()) {
                opened.setAside().ifPresent(say(log));
                claimed.tell(store, say(log), clock);
                new UserDirectories(environment).createRunDirectory(layout.runDir());
                return enforce(config, claimed, store, hangUps, log, program);
            }
        } catch (InterruptedException e) {
            return endedEarly(log, program);
        } catch (CommandFailure | StoreException e) {
            if (!Thread.interrupted()) {
                throw e;
            }
            // Told to end before it had begun: nothing of what it then could not do went wrong.
            return endedEarly(log, program);
        }
    }

    private int endedEarly(AgentLog log, ProgramFiles program) {
        Optional<String> overwritten = program.overwritten();
        say(log).accept(whyEnded(overwritten) + "; nothing was enforced yet");
        return exitStatus(overwritten);
    }

    private static String whyEnded(Optional<String> overwritten) {
        return overwritten
                .map(fact -> fact + ", so it ends; start it again when that is done")
                .orElse("told to end");
    }

    /** Nobody told it to end whose program was overwritten: a service manager that restarts what failed shall start it again. */
    private static int exitStatus(Optional<String> overwritten) {
        return overwritten.isPresent() ? ExitStatus.FAILED : ExitStatus.OK;
    }

    /** Tells of the agent's course: whoever reads lines of JSON gets nothing else. */
    private Consumer<String> say(AgentLog log) {
        return words -> {
            if (log.isForPrograms()) {
                LOG.info("{}", words);
            } else {
                console.say(words);
            }
        };
    }

    /** Waiting for its lock would be useless. An agent that is just ending has withdrawn its announcement, and is waited for. */
    private static void refuseBesideAnother(Layout layout) {
        try {
            AgentFile.running(layout, new ProcFs()).ifPresent(other -> {
                throw new CommandFailure(
                        "homeostat run (pid " + other.identity().pid() + ") is working on " + layout.stateDir()
                                + "; end it first, or choose another directory with --state-dir");
            });
        } catch (IOException e) {
            LOG.debug("whether another agent runs will show when the lock is taken", e);
        }
    }

    private int enforce(
            AgentConfig config,
            MachineClaim.Claimed claimed,
            StateStore store,
            Semaphore hangUps,
            AgentLog log,
            ProgramFiles program) {
        Layout layout = claimed.layout();
        ImmutableList<Path> sources = new UserDirectories(environment).desiredFiles();
        Telemetry telemetry = Telemetry.of(
                environment.ticker(), Version.current(), environment.clock().instant());
        telemetry.metrics().log(log);
        SystemdNotifier manager = new SystemdNotifier(
                environment::variable, ProcessHandle.current().pid());
        try (OwnGroup group = OwnGroup.enter(
                        Path.of("/sys/fs/cgroup"),
                        Path.of("/proc"),
                        !environment.variable(AgentGroup.OPTION).isEmpty(),
                        layout,
                        OwnGroup.mount(layout.stateDir()),
                        config.limits());
                MetadataClient metadata = environment.metadata();
                Agent agent =
                        new Agent(layout, config, sources, store, metadata, environment.clock(), true, telemetry);
                ControlPlane controlPlane = controlPlane(agent, claimed.metadataId(), store, metadata);
                JournalForwarding journal = new JournalForwarding(
                        layout, store, agent::config, environment.journalSocket(), JournalForwarding.PAUSE);
                MetricsEndpoint metrics = new MetricsEndpoint(telemetry);
                UiEndpoint ui = new UiEndpoint(layout, environment.ticker());
                Hooks hooks = new Hooks(store, layout, telemetry.metrics().hooks())) {
            telemetry.metrics().controlPlane(controlPlane::status);
            listen(metrics, config, agent.modules());
            AgentIdentity identity = AgentIdentity.ofThisProcess(environment.clock());
            // First, because it may fail; what is declared meanwhile is stored, and enforced in a moment.
            AgentEnforcer enforcer = new AgentEnforcer(
                    agent,
                    store,
                    identity,
                    controlPlane::status,
                    () -> problems(agent, telemetry.watch(), metrics, ui, hooks, journal));
            Instant opening = environment.clock().instant();
            try (CommandServer server = new CommandServer(environment, layout, enforcer, commands)) {
                Instant opened = environment.clock().instant();
                agent.modules().ran(Modules.Part.COMMANDS, opening, opened, Optional.empty());
                journal.use();
                agent.start(manager::ready);
                controlPlane.use(config);
                hooks.use(config);
                ui.serve(config.ui(), server::run);
                say(log).accept("enforcing what is declared in " + layout.stateDir());
                record(
                        store,
                        EventType.AGENT_STARTED,
                        "version " + Version.current() + ", pid "
                                + ProcessHandle.current().pid());
                try {
                    Duration look = manager.watchdog()
                            .filter(interval -> interval.compareTo(LOOK) < 0)
                            .orElse(LOOK);
                    while (true) {
                        if (telemetry.watch().goesRound()) {
                            manager.alive();
                        }
                        if (hangUps.tryAcquire(look.toMillis(), TimeUnit.MILLISECONDS)) {
                            hangUps.drainPermits();
                            reload(
                                    agent,
                                    group,
                                    controlPlane,
                                    layout,
                                    store,
                                    log,
                                    journal,
                                    metrics,
                                    hooks,
                                    read -> ui.serve(read, server::run));
                        }
                        // Whoever starts it again gets one that knows what runs, and reads files anew.
                        store.checkInPlace();
                        server.ensure();
                        metrics.ensure();
                        ui.ensure(server::run);
                    }
                } finally {
                    manager.stopping();
                }
            }
        } catch (ActuationFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        } catch (InterruptedException e) {
            Optional<String> overwritten = program.overwritten();
            String why = whyEnded(overwritten) + "; workloads go on running";
            say(log).accept(why);
            record(store, EventType.AGENT_STOPPED, why);
            return exitStatus(overwritten);
        }
    }

    private ControlPlane controlPlane(Agent agent, String instance, StateStore store, MetadataClient metadata) {
        return new ControlPlane(
                agent,
                (endpoint, inbox) -> ControlPlaneChannel.open(endpoint, metadata, instance, inbox, environment.clock()),
                new SampledStates(agent.usage()),
                store,
                agent.modules(),
                Version.current(),
                environment.clock(),
                ControlPlane.REPORT_INTERVAL);
    }

    private void listen(MetricsEndpoint metrics, AgentConfig config, Modules modules) {
        Instant start = environment.clock().instant();
        if (!config.metrics().listen().equals(metrics.wanted())) {
            config.metrics().warning().ifPresent(warning -> LOG.warn("metrics.listen: {}", warning));
        }
        metrics.listen(config.metrics().listen());
        if (config.metrics().listen().isEmpty()) {
            modules.skipped(Modules.Part.TELEMETRY, start);
        } else {
            modules.ran(
                    Modules.Part.TELEMETRY,
                    start,
                    environment.clock().instant(),
                    Optional.of(metrics.problem()).filter(why -> !why.isEmpty()));
        }
    }

    private void reload(
            Agent agent,
            OwnGroup group,
            ControlPlane controlPlane,
            Layout layout,
            StateStore store,
            AgentLog log,
            JournalForwarding journal,
            MetricsEndpoint metrics,
            Hooks hooks,
            Consumer<AgentConfig.Ui> ui) {
        try {
            AgentConfig config = file.read();
            Layout wanted = new UserDirectories(environment).layout(options, config);
            if (!wanted.equals(layout)) {
                LOG.warn("stateDir, runDir and instanceId take effect when the agent is started the next time");
            }
            agent.reload(config);
            group.use(config.limits());
            log.change(config.log().format(), level(config));
            journal.use();
            controlPlane.use(config);
            hooks.use(config);
            listen(metrics, config, agent.modules());
            ui.accept(config.ui());
            invalid = "";
            LOG.info("{} was read again", file.path());
            record(store, EventType.AGENT_CONFIG_LOADED, file.path() + " was read again");
        } catch (CommandFailure | ActuationFailure e) {
            // The file's errors are on lines of their own.
            invalid = Text.oneLine(String.valueOf(e.getMessage()).replaceFirst("\n", ": "))
                    + "; what was read before stays in force";
            LOG.error("{}", invalid);
            record(store, EventType.AGENT_CONFIG_INVALID, e.getMessage() + "\nwhat was read before stays in force");
        }
    }

    private ImmutableList<String> problems(
            Agent agent,
            LoopWatch watch,
            MetricsEndpoint metrics,
            UiEndpoint ui,
            Hooks hooks,
            JournalForwarding journal) {
        String unserved = metrics.problem().isEmpty() ? "" : "metrics.listen: " + metrics.problem();
        return Stream.of(
                        ImmutableList.of(
                                watch.problem().orElse(""), invalid, unserved, ui.problem(), agent.fleetProblem()),
                        hooks.problems(),
                        journal.problems())
                .flatMap(ImmutableList::stream)
                .filter(why -> !why.isEmpty())
                .collect(ImmutableList.toImmutableList());
    }

    /** What can't be written down does not keep the agent from its work. */
    private void record(StateStore store, EventType type, String message) {
        try {
            store.record(new Event(environment.clock().instant(), null, "", type, message));
        } catch (StoreException e) {
            LOG.warn("the event {} is lost: {}", type, e.getMessage());
        }
    }

    /** What was typed wins over what is written. */
    private AgentConfig.Log.Level level(AgentConfig config) {
        return options.logLevel().orElse(config.log().level());
    }
}
