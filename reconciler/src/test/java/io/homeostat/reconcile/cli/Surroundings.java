package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.io.Closer;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.source.FilesSource;
import io.homeostat.desired.source.StoredWorkloads;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.plugin.Status;
import io.homeostat.reconcile.SharedEtcd;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.logs.LogKeeper;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Clock;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The surroundings of a story's commands: commands in the background, plugins, what an agent does, a web server, and a fleet. */
final class Surroundings implements Closeable {
    private static final long BYTES_OF_LOGS = 1_000_000;

    private final Path directory;
    private final Map<String, String> variables;
    private final Map<String, Background> running = new HashMap<>();
    private final Map<String, FakePlugin> plugins = new HashMap<>();
    private final Set<SourceName> sources = new HashSet<>();
    private @Nullable StoryFleet fleet;
    private @Nullable StoryServer server;
    private @Nullable LogKeeper keeper;
    private @Nullable Path silentAgent;

    /** @param variables of the story */
    Surroundings(Path directory, Map<String, String> variables) {
        this.directory = directory;
        this.variables = variables;
    }

    /**
     * Does what a line of a story says.
     *
     * @param line without its mark
     * @param words of the line
     * @return a command that has ended now
     */
    Optional<Result> prepare(Shell shell, String line, String... words) throws IOException, InterruptedException {
        switch (words[0]) {
            case "begin" -> {
                String[] command = Arrays.copyOfRange(words, 2, words.length);
                running.put(words[1], new Background(shell, shell.withDirectories(command)));
            }
            case "prints" -> background(words[1]).awaitOutput(after(2, line));
            case "interrupt" -> {
                return Optional.of(background(words[1]).interrupt());
            }
            case "logsNoted" -> noteLogs(shell);
            case "plugin" -> beginPlugin(shell, words[1]);
            case "answers" -> {
                Status answer = Status.newBuilder()
                        .setCode(Integer.parseInt(words[2]))
                        .addResults(after(3, line).replace("\\n", "\n"))
                        .build();
                plugin(words[1]).status = request -> answer;
            }
            case "refuses" -> plugin(words[1]).refusal = io.grpc.Status.INTERNAL.withDescription(after(2, line));
            case "refusesStart" -> {
                io.grpc.Status refusal = io.grpc.Status.INTERNAL.withDescription(after(2, line));
                plugin(words[1]).starting = request -> refusal;
            }
            case "server" -> {
                server = new StoryServer(directory.resolve(words[1]));
                variables.put("server", server.url());
            }
            case "serverAnswers" -> Objects.requireNonNull(server, "no server").answers(Integer.parseInt(words[1]));
            case "fleet" -> {
                fleet = StoryFleet.start(directory);
                variables.put("prefix", fleet.prefix());
                variables.put("etcd", SharedEtcd.endpoint());
            }
            case "put", "remove", "stored", "stands" ->
                Objects.requireNonNull(fleet, "no fleet").prepare(words);
            case "silentAgent" -> {
                AgentFile.ofThisProcess(shell.layout().agentSocket(), "1.0.0", new ProcFs())
                        .write(shell.layout());
                silentAgent = shell.state().resolve("agent");
            }
            case "sql" -> execute(shell, after(1, line));
            case "declared" ->
                declare(
                        shell,
                        SourceName.ofWord(words[1]).orElseThrow(),
                        ImmutableList.of(directory.resolve(words[2])));
            default -> fail("unknown preparation");
        }
        return Optional.empty();
    }

    private static void execute(Shell shell, String statement) {
        try (Connection database = DriverManager.getConnection(
                        "jdbc:sqlite:" + shell.layout().database());
                Statement change = database.createStatement()) {
            assertEquals(1, change.executeUpdate(statement), "changed rows");
        } catch (SQLException e) {
            throw new IllegalStateException(statement, e);
        }
    }

    /** Stores what a source declares, as an agent does that has read it. */
    private void declare(Shell shell, SourceName source, ImmutableList<Path> files) {
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store()) {
            SourceContent read = new FilesSource(files, TrustedPath.ANY, Choice.ALL, Clock.systemUTC())
                    .read(StoredWorkloads.of(source, store.declarations()))
                    .content();
            store.replace(
                    new SourceContent(source, read.documents(), read.retainedOrigins(), read.problems()),
                    Instant.now());
        }
        sources.add(source);
    }

    /** Ends what other sources than {@code apply} have declared. */
    void withdraw(Shell shell) {
        for (SourceName source : ImmutableSet.copyOf(sources)) {
            declare(shell, source, ImmutableList.of());
            shell.instances()
                    .forEach(each -> shell.run("delete", each.workload().toString()));
        }
    }

    /** Whatever is to end before workloads do. */
    void endCommands() throws IOException {
        try (Closer steps = Closer.create()) {
            running.values().forEach(each -> steps.register(each::end));
            Path file = silentAgent;
            if (file != null) {
                steps.register(() -> Files.deleteIfExists(file));
            }
        }
    }

    @Override
    public void close() throws IOException {
        try (Closer steps = Closer.create()) {
            if (fleet != null) {
                steps.register(fleet::close);
            }
            if (server != null) {
                steps.register(server::close);
            }
            plugins.values().forEach(each -> steps.register(() -> close(each)));
        }
    }

    private static void close(FakePlugin plugin) {
        try {
            plugin.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** What comes after so many words; quotes mean nothing in it. */
    private static String after(int words, String line) {
        String[] parts = line.split(" ", words + 1);
        return parts.length > words ? parts[words] : "";
    }

    private Background background(String name) {
        return Objects.requireNonNull(running.get(name), "not begun");
    }

    private FakePlugin plugin(String name) {
        return Objects.requireNonNull(plugins.get(name), "no plugin");
    }

    private void beginPlugin(Shell shell, String name) throws IOException {
        FakePlugin plugin = new FakePlugin(shell, name);
        plugins.put(name, plugin);
        Files.writeString(directory.resolve(name + ".yaml"), plugin.document());
    }

    private void noteLogs(Shell shell) {
        if (keeper == null) {
            keeper = new LogKeeper(shell.layout(), shell.clock());
        }
        keeper.keep(BYTES_OF_LOGS);
    }
}
