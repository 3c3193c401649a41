package io.homeostat.reconcile.runtime.kata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whose turn it is in a container, in this process and in others. */
@Timeout(120)
class CommandTurnTest {
    private static final Instance LAUNCH = new Instance(
            "launch",
            new WorkloadId(Kind.CONTAINER, "app"),
            "target",
            "r",
            null,
            ImmutableSortedMap.of(),
            Instant.parse("2026-11-20T12:00:00Z"),
            null,
            Phase.STARTED,
            "");

    @TempDir
    Path root;

    private CommandTurn take(String name, Duration within) throws Exception {
        return CommandTurn.take(root.resolve(name), LAUNCH, Ticker.systemTicker(), within);
    }

    @Test
    void thereIsOneAtATimeInEachContainer() throws Exception {
        try (var others = Executors.newVirtualThreadPerTaskExecutor()) {
            try (CommandTurn _ = take("app", Duration.ofSeconds(60))) {
                Future<String> same = others.submit(() -> assertThrows(
                                ActuationFailure.class, () -> take("app", Duration.ofMillis(50)))
                        .getMessage());
                assertEquals(
                        "another command is being begun in container/app, or it is being paused, since 50 ms",
                        same.get());
                others.submit(() -> {
                            take("other", Duration.ofSeconds(60)).close();
                            return true;
                        })
                        .get();
            }
            take("app", Duration.ofSeconds(60)).close();
        }
    }

    @Test
    void anotherProcessHasItAsWell() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/python3")), "there is no python3");
        Process other = new ProcessBuilder(
                        "/usr/bin/python3",
                        "-c",
                        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('has it',"
                                + " flush=True); sys.stdin.read()",
                        root.resolve("app").toString())
                .start();
        try {
            assertEquals('h', other.getInputStream().read());
            assertThrows(ActuationFailure.class, () -> take("app", Duration.ofMillis(50)));
        } finally {
            other.getOutputStream().close();
            assertEquals(0, other.waitFor());
        }
        take("app", Duration.ofSeconds(60)).close();
    }

    @Test
    void whoIsInterruptedDoesNotGetIt() throws Exception {
        Thread.currentThread().interrupt();

        assertThrows(InterruptedException.class, () -> take("app", Duration.ofSeconds(60)));

        take("app", Duration.ofSeconds(60)).close();
    }

    @Test
    void whereItsLaunchIsForgottenThatIsSaid() {
        IOException e = assertThrows(IOException.class, () -> take("gone/app", Duration.ofSeconds(1)));
        assertTrue(String.valueOf(e.getMessage()).contains("gone"), e::toString);
    }
}
