package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ObjectArrays;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.controlplane.FakeMetadataServer;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

/** How an agent comes to its end. */
@Timeout(60)
@Isolated("Takes over what all of this JVM logs.")
@Execution(ExecutionMode.SAME_THREAD)
class DaemonTest {
    private static final String ENFORCING = "enforcing what is declared";
    private static final int OK = 200;
    private static final int NOT_NOW = 503;

    private final Path directory;
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    DaemonTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @AfterEach
    void clear() {
        boolean ignored = Thread.interrupted();
    }

    @Test
    void anAgentThatIsToldToEndBeforeItHasTheLockHasNotFailed() throws IOException {
        int status = run(new ToldAtOnce());

        assertEquals(ExitStatus.OK, status, this::messages);
        assertTrue(messages().contains("told to end"), this::messages);
        assertFalse(Thread.currentThread().isInterrupted());
    }

    @Test
    void anAgentThatCannotHaveItsDirectoryHasFailed() throws IOException {
        Files.writeString(directory.resolve("state"), "in the way");

        assertEquals(ExitStatus.FAILED, run(Interrupts.none()), this::messages);
    }

    @Test
    void anAgentOnTheStateOfAnotherInstanceTellsTheControlPlaneNothing() throws Exception {
        Files.createDirectory(directory.resolve("state"));
        Files.writeString(
                directory.resolve("state/instance"),
                "{\"id\": \"101\", \"machineId\": \"\", \"metadataId\": \"101\", \"bootId\": \"" + new ProcFs().bootId()
                        + "\"}");
        try (FakeMetadataServer metadata = new FakeMetadataServer();
                FakeControlPlane plane = FakeControlPlane.onUnixSocket(directory.resolve("acs"))) {
            metadata.fail(NOT_NOW);
            String source = ", controlPlane: {endpoint: \"" + plane.endpoint() + "\", identity: none}";
            AtomicInteger status = new AtomicInteger(-1);
            Thread agent = Thread.ofPlatform()
                    .start(() -> status.set(run(
                            Interrupts.none(),
                            source,
                            ImmutableMap.of(MetadataClient.HOST_VARIABLE, metadata.host()))));

            try {
                // The channel asks for the zone first; by then the state was claimed without an answer.
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> metadata.asked().contains(MetadataServer.ZONE));
                metadata.set("instance/id", "202");
                metadata.fail(OK);
                int before = asked(metadata);
                // Whoever is answered what he wanted to hear asks once.
                await().atMost(Duration.ofSeconds(30)).until(() -> asked(metadata) > before + 1);
            } finally {
                agent.interrupt();
                agent.join();
            }

            assertEquals(ExitStatus.OK, status.get(), this::messages);
            assertEquals(List.of(), plane.transcript().entries());
        }
    }

    @Test
    void anAgentWhoseDatabaseIsDeletedEndsSoThatItIsStartedWithAnother() throws Exception {
        AtomicInteger status = new AtomicInteger(-1);
        Thread agent = Thread.ofPlatform().start(() -> status.set(run(Interrupts.none(), "", ImmutableMap.of())));
        try {
            await().atMost(Duration.ofSeconds(30)).until(() -> messages().contains(ENFORCING));
            for (String suffix : List.of("", "-wal", "-shm")) {
                Files.delete(directory.resolve("state/homeostat.db" + suffix));
            }

            await().atMost(Duration.ofSeconds(30)).until(() -> !agent.isAlive());
        } finally {
            agent.interrupt();
            agent.join();
        }

        assertEquals(ExitStatus.FAILED, status.get(), this::messages);
        assertTrue(messages().contains("homeostat.db: "), this::messages);
    }

    @Test
    void whatAnAgentLogsIsOnTheStandardErrorOfItsEnvironment() throws Exception {
        String[] words = ObjectArrays.concat(words(""), new String[] {"--log-level", "debug"}, String.class);
        Environment environment = environment(Interrupts.none(), ImmutableMap.of());
        AtomicInteger status = new AtomicInteger(-1);
        Thread agent = Thread.ofPlatform().start(() -> status.set(Homeostat.run(words, environment)));
        try {
            await().atMost(Duration.ofSeconds(30)).until(() -> messages().contains(ENFORCING));
        } finally {
            agent.interrupt();
            agent.join();
        }

        assertEquals(ExitStatus.OK, status.get(), this::messages);
        assertTrue(messages().contains(" DEBUG "), this::messages);
    }

    /** How often somebody wanted to know the instance's id. */
    private static int asked(FakeMetadataServer metadata) {
        return Collections.frequency(metadata.asked(), MetadataServer.INSTANCE_ID);
    }

    private int run(Interrupts interrupts) throws IOException {
        return run(interrupts, "", ImmutableMap.of());
    }

    private int run(Interrupts interrupts, String source, ImmutableMap<String, String> variables) {
        try {
            return Homeostat.run(words(source), environment(interrupts, variables));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String[] words(String source) throws IOException {
        Path config = Files.writeString(
                directory.resolve("agent.yaml"),
                "sources: {files: [], local: {directories: []}" + source + "}\nmetrics: {listen: \"\"}\n");
        return new String[] {"run", "--config", config.toString(), "--state-dir", "state", "--run-dir", "run"};
    }

    private Environment environment(Interrupts interrupts, ImmutableMap<String, String> variables) throws IOException {
        PrintStream messages = new PrintStream(err, true, StandardCharsets.UTF_8);
        return new Environment(
                ImmutableMap.<String, String>builder()
                        .put("HOME", directory.toString())
                        .putAll(variables)
                        .buildKeepingLast(),
                directory,
                ((Number) Files.getAttribute(directory, "unix:uid")).longValue(),
                InputStream.nullInputStream(),
                messages,
                messages,
                false,
                false,
                Clock.systemUTC(),
                Ticker.systemTicker(),
                DocumentFormat.STANDARD,
                interrupts);
    }

    private String messages() {
        return err.toString(StandardCharsets.UTF_8);
    }

    /** SIGTERM as soon as anybody hears of it. */
    private static final class ToldAtOnce implements Interrupts {
        @Override
        public Guard guard() {
            return () -> {};
        }

        @Override
        public Guard daemon(Runnable onHangUp) {
            Thread.currentThread().interrupt();
            return () -> {};
        }
    }
}
