package io.homeostat.reconcile.cli;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.agent.CommandServer;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.DirectEnforcer;
import io.homeostat.reconcile.command.Enforcer;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.plan.Work;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;

/** An agent's API in this process, without an agent: what changes takes the lock as a command of its own would. */
final class TestAgent implements AutoCloseable {
    private final CommandServer server;
    private final DocumentCounter documents = new DocumentCounter();
    private final Map<WorkloadId, Usage> usage = new ConcurrentHashMap<>();

    private TestAgent(Shell shell, Function<CommandRequest, Command> commands) {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        Environment environment = new Environment(
                shell.variables(),
                Path.of("/"),
                shell.uid(),
                InputStream.nullInputStream(),
                nowhere,
                nowhere,
                false,
                false,
                Clock.systemUTC(),
                Ticker.systemTicker(),
                documents,
                Interrupts.none());
        new UserDirectories(environment).createRunDirectory(shell.layout().runDir());
        new UserDirectories(environment).createRunDirectory(shell.layout().stateDir());
        server = new CommandServer(environment, shell.layout(), new Direct(), commands);
    }

    static TestAgent start(Shell shell) {
        return start(shell, Verb::asked);
    }

    /** @param commands what is done for a request */
    static TestAgent start(Shell shell, Function<CommandRequest, Command> commands) {
        return new TestAgent(shell, commands);
    }

    /** What a workload is said to use from now on. */
    void uses(WorkloadId id, Usage sample) {
        usage.put(id, sample);
    }

    /** How many documents the agent has parsed and printed. */
    DocumentCounter documents() {
        return documents;
    }

    /** How many commands came here. */
    long calls() {
        return server.calls();
    }

    @Override
    public void close() {
        server.close();
    }

    private final class Direct implements Enforcer {
        private final Enforcer direct = new DirectEnforcer(AgentConfigReader::defaults);
        private final Instant since = Instant.now();

        @Override
        public int enforce(Workspace workspace, Goal goal) throws InterruptedException {
            return direct.enforce(workspace, goal);
        }

        @Override
        public void remember(Workspace workspace, ImmutableList<WorkloadId> ids, Consumer<StateStore> change)
                throws InterruptedException {
            direct.remember(workspace, ids, change);
        }

        @Override
        public int undisturbed(Workspace workspace, Work work) throws InterruptedException {
            return direct.undisturbed(workspace, work);
        }

        @Override
        public <T> Optional<T> remembered(Layout layout, Function<StateReader, T> look) {
            return direct.remembered(layout, look);
        }

        @Override
        public Optional<Usage> usage(WorkloadId id) {
            return Optional.ofNullable(usage.get(id));
        }

        @Override
        public AgentConfig config() {
            return direct.config();
        }

        @Override
        public Optional<AgentIdentity> agent() {
            return Optional.of(
                    new AgentIdentity(Version.current(), ProcessHandle.current().pid(), since));
        }
    }
}
