package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.command.environment.AgentFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A command while something else holds the lock of the state. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ApplyTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void whoeverComesSecondWaitsAndSaysForWhom() throws IOException {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        try (StateLock _ = StateLock.acquire(
                shell.layout().lock(), "apply", Duration.ofSeconds(5), Clock.systemUTC(), waiting -> {})) {
            Result result = shell.run("apply", "-f", directory + "/a.yaml", "--timeout", "1s");
            assertEquals(1, result.status());
            assertTrue(result.err().contains("homeostat: waiting for "), result.err());
        }
        assertEquals(0, apply().status());
    }

    @Test
    void whoeverWaitsForAnAgentThatStartsAsksItOnceItListens() throws Exception {
        shell.write("a.yaml", Shell.sleeper("a", 600));
        try (StateLock _ = StateLock.acquire(
                        shell.layout().lock(), "run", Duration.ofSeconds(5), Clock.systemUTC(), waiting -> {});
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            AtomicReference<Thread> waiter = new AtomicReference<>();
            Future<Result> apply = threads.submit(() -> {
                waiter.set(Thread.currentThread());
                return shell.run("apply", "-f", directory + "/a.yaml", "--timeout", "1h");
            });
            await().atMost(Duration.ofMinutes(1))
                    .until(() -> waiter.get() != null
                            && Stream.of(waiter.get().getStackTrace())
                                    .anyMatch(frame -> frame.getClassName().equals(StateLock.class.getName())
                                            && frame.getMethodName().equals("pause")));
            Path nowhere = directory.resolve("no.sock");
            AgentFile.ofThisProcess(nowhere, "1", new ProcFs()).write(shell.layout());

            Result result = apply.get();
            assertEquals(1, result.status());
            assertTrue(result.err().contains(" does not answer: "), result.err());
        }
    }

    private Result apply() {
        return shell.run("apply", "-f", directory + "/a.yaml");
    }
}
