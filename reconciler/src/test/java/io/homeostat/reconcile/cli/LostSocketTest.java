package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.reconcile.agent.CommandServer;
import io.homeostat.reconcile.command.DirectEnforcer;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of an agent's socket while it runs. */
@Timeout(60)
class LostSocketTest {
    private final Path directory = directory();
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private final Layout layout = new Layout(directory.resolve("state"), directory.resolve("run"), "test");

    @BeforeEach
    void makeStateDirectory() throws IOException {
        Files.createDirectory(layout.stateDir());
        Files.createDirectory(
                layout.runDir(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    @AfterEach
    void delete() throws IOException {
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    @Test
    void aDeletedRunDirectoryIsMadeAnewAndCommandsReachTheAgentAgain() throws IOException {
        try (CommandServer server = server()) {
            MoreFiles.deleteRecursively(layout.runDir(), RecursiveDeleteOption.ALLOW_INSECURE);

            server.ensure();

            assertEquals(ExitStatus.NOTHING_DECLARED, status(), this::messages);
            assertFalse(messages().contains("does not answer"), this::messages);
        }
    }

    @Test
    void aDeletedAnnouncementIsMadeAnew() throws IOException {
        try (CommandServer server = server()) {
            Files.delete(layout.agentFile());

            server.ensure();

            assertTrue(Files.exists(layout.agentFile()));
        }
    }

    @Test
    void whatCanNotBeMadeAnewIsTriedAgainTheNextTime() throws IOException {
        try (CommandServer server = server()) {
            MoreFiles.deleteRecursively(layout.runDir(), RecursiveDeleteOption.ALLOW_INSECURE);
            Files.writeString(layout.runDir(), "in the way");
            server.ensure();
            assertFalse(Files.exists(layout.agentFile()));
            Files.delete(layout.runDir());

            server.ensure();

            assertTrue(Files.exists(layout.agentSocket()));
            assertTrue(Files.exists(layout.agentFile()));
        }
    }

    private CommandServer server() {
        return new CommandServer(environment(), layout, new DirectEnforcer(AgentConfigReader::defaults), Verb::asked);
    }

    private int status() {
        String[] words = {"status", "--state-dir", "state", "--run-dir", "run"};
        return Homeostat.run(words, environment());
    }

    private String messages() {
        return said.toString(StandardCharsets.UTF_8);
    }

    private Environment environment() {
        PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8);
        try {
            return new Environment(
                    ImmutableMap.of("HOME", directory.toString()),
                    directory,
                    ((Number) Files.getAttribute(directory, "unix:uid")).longValue(),
                    InputStream.nullInputStream(),
                    out,
                    out,
                    false,
                    false,
                    Clock.systemUTC(),
                    Ticker.systemTicker(),
                    DocumentFormat.STANDARD,
                    Interrupts.none());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Not JUnit's: sockets need a short path. */
    private static Path directory() {
        try {
            return Files.createTempDirectory("hr");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
