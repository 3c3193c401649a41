package io.homeostat.reconcile.command;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import io.homeostat.reconcile.command.Command.Reading;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

final class TypingTest {
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    private Workspace workspace() {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        Environment environment = new Environment(
                ImmutableMap.of(),
                directory,
                0,
                InputStream.nullInputStream(),
                nowhere,
                nowhere,
                false,
                false,
                Clock.systemUTC(),
                Ticker.systemTicker(),
                DocumentFormat.STANDARD,
                Interrupts.none());
        return new Workspace(
                "exec",
                environment,
                new Console(nowhere, nowhere, OutputFormat.TEXT, new Ansi(false)),
                new Layout(directory, directory, "i"),
                new Nobody());
    }

    /** Nothing is to be enforced. */
    private static final class Nobody implements Enforcer {
        @Override
        public AgentConfig config() {
            throw new AssertionError();
        }

        @Override
        public int enforce(Workspace workspace, Goal goal) {
            throw new AssertionError();
        }

        @Override
        public void remember(Workspace workspace, ImmutableList<WorkloadId> ids, Consumer<StateStore> change) {
            throw new AssertionError();
        }

        @Override
        public int undisturbed(Workspace workspace, Work work) {
            throw new AssertionError();
        }
    }

    /** As gRPC lets nobody write to a call that is over until what came before its end is read. */
    @Test
    @Timeout(60)
    void whoReadsWhatTheCommandWroteDoesNotWaitUntilItsInputIsEnded() throws Exception {
        CountDownLatch read = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        Typing.Sink sink = new Typing.Sink() {
            @Override
            public boolean write(ByteString bytes) {
                throw new AssertionError("nobody types");
            }

            @Override
            public boolean endInput() throws InterruptedException {
                read.await();
                ended.countDown();
                return false;
            }

            @Override
            public boolean resize(int rows, int columns) {
                throw new AssertionError("there is no terminal");
            }
        };

        try (Typing _ = Typing.begin(workspace(), new Reading(false, false), sink)) {
            read.countDown();
            assertTrue(ended.await(DEADLINE.toSeconds(), TimeUnit.SECONDS));
        }
    }
}
