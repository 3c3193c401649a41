package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableMap;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** An agent that is told to end before it has come to its work. */
@Timeout(60)
@Isolated("Takes over what all of this JVM logs.")
class RunCommandTest {
    private final Path directory;
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    RunCommandTest(@TempDir Path directory) {
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

    private int run(Interrupts interrupts) throws IOException {
        Path config = Files.writeString(
                directory.resolve("agent.yaml"),
                "sources: {files: [], local: {directories: []}}\nmetrics: {listen: \"\"}\n");
        PrintStream messages = new PrintStream(err, true, StandardCharsets.UTF_8);
        Environment environment = new Environment(
                ImmutableMap.of(),
                directory,
                ((Number) Files.getAttribute(directory, "unix:uid")).longValue(),
                InputStream.nullInputStream(),
                messages,
                messages,
                false,
                false,
                Clock.systemUTC(),
                interrupts);
        String[] words = {"run", "--config", config.toString(), "--state-dir", "state", "--run-dir", "run"};
        return Homeostat.run(words, environment);
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
