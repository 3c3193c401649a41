package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.reconcile.ControlGroups;
import io.homeostat.reconcile.agent.telemetry.Telemetry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A machine's directories with one agent at a time, and what it needs to declare processes that sleep. */
final class AgentBench implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path directory;
    private final Clock clock = Clock.tickMillis(ZoneOffset.UTC);
    private final Layout layout;
    private final StateStore store;
    private @Nullable Agent agent;

    AgentBench() {
        try {
            // Not JUnit's: sockets need a short path.
            directory = Files.createTempDirectory("ha");
            Files.createDirectory(directory.resolve("d"));
            Files.createDirectory(directory.resolve("r"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        store = StateStores.openForWriting(layout, clock).store();
    }

    StateStore store() {
        return store;
    }

    Layout layout() {
        return layout;
    }

    Path declared() {
        return directory.resolve("d");
    }

    /** An agent that reads the declared files; there is none yet. */
    Agent start(String resync, boolean hinted) {
        return start(config("resync: " + resync), hinted);
    }

    Agent start(AgentConfig config, boolean hinted) {
        Agent started = assertDoesNotThrow(() -> new Agent(
                layout,
                config,
                ImmutableList.of(declared()),
                store,
                path -> new MetadataServer.Answer.Absent(),
                clock,
                hinted,
                Telemetry.of(Ticker.systemTicker(), "test", clock.instant())));
        agent = started;
        started.start(() -> {});
        return started;
    }

    AgentConfig config(String text) {
        try {
            Path file = Files.writeString(
                    directory.resolve("agent.yaml"),
                    text + (text.contains("sources:") ? "" : "\nsources: {local: {directories: []}}\n"));
            return assertNotNullAndGet(AgentConfigReader.read(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static AgentConfig assertNotNullAndGet(AgentConfigReader.Result result) {
        AgentConfig config = result.config();
        assertNotNull(config, () -> result.errors().toString());
        return config;
    }

    void stop() {
        if (agent != null) {
            agent.close();
            agent = null;
        }
    }

    void write(String file, String text) {
        try {
            Files.writeString(declared().resolve(file), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void delete(String file) {
        try {
            Files.delete(declared().resolve(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String timer(String name) {
        return """
                apiVersion: homeostat.io/v1
                kind: Timer
                metadata: {name: %s}
                spec: {revision: "1", interval: 5s}
                """.formatted(name);
    }

    static String sleeper(String name, int seconds) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec: {install: local, entryPoint: /bin/sleep, arguments: ["%d"]}
                """.formatted(name, seconds);
    }

    /** The process of a workload that was seen well; waits for it. */
    ProcessIdentity running(WorkloadId id) {
        return await().atMost(PATIENCE)
                .until(() -> process(id), Optional::isPresent)
                .orElseThrow();
    }

    /** Another process than that one. */
    ProcessIdentity runningAfter(WorkloadId id, ProcessIdentity former) {
        return await().atMost(PATIENCE)
                .until(() -> process(id).filter(now -> !now.equals(former)), Optional::isPresent)
                .orElseThrow();
    }

    void awaitNone(WorkloadId id) {
        await().atMost(PATIENCE).until(() -> store.instances(id).isEmpty());
    }

    private Optional<ProcessIdentity> process(WorkloadId id) {
        return store.instances(id).stream()
                .filter(instance -> instance.phase() == Phase.STARTED)
                .map(Instance::process)
                .flatMap(Stream::ofNullable)
                .findFirst();
    }

    static void kill(ProcessIdentity process) {
        ProcessHandle.of(process.pid()).orElseThrow().destroyForcibly();
    }

    /** Ends the agent after everything was withdrawn and has ended. */
    @Override
    public void close() throws IOException {
        stop();
        try (var files = Files.list(declared())) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        store.delete(store.declarations().stream()
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableList.toImmutableList()));
        start("1s", true);
        await().atMost(PATIENCE).until(() -> store.instances().isEmpty());
        stop();
        store.close();
        ControlGroups.removeEmpty(layout);
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }
}
