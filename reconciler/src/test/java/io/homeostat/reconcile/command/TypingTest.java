package io.homeostat.reconcile.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import io.homeostat.observe.process.TerminalMode.Size;
import io.homeostat.reconcile.command.Command.Reading;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.Environment.Interrupts.Guard;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.Terminal;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

final class TypingTest {
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    private Workspace workspace(Terminal terminal) {
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
                Interrupts.none(),
                terminal);
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

        try (Typing _ = Typing.begin(workspace(Terminal.none()), new Reading(false, false), sink)) {
            read.countDown();
            assertTrue(ended.await(DEADLINE.toSeconds(), TimeUnit.SECONDS));
        }
    }

    /** A terminal whose size is set here. */
    private static final class Window implements Terminal {
        private final AtomicReference<Optional<Size>> size = new AtomicReference<>(Optional.empty());
        private final AtomicReference<Runnable> changed = new AtomicReference<>(() -> {});

        void drag(int rows, int columns) {
            size.set(Optional.of(new Size(rows, columns)));
        }

        void tell() {
            changed.get().run();
        }

        @Override
        public boolean isInput() {
            return true;
        }

        @Override
        public Guard raw() {
            return () -> {};
        }

        @Override
        public Optional<Size> size() {
            return size.get();
        }

        @Override
        public Guard onResize(Runnable next) {
            changed.set(next);
            return () -> changed.set(() -> {});
        }
    }

    @Test
    @Timeout(60)
    void whicheverChangeIsToldOfLastTheCommandGetsTheSizeThatTheTerminalHas() {
        Window window = new Window();
        window.drag(40, 100);
        BlockingQueue<Size> told = new LinkedBlockingQueue<>();
        Typing.Sink sink = new Typing.Sink() {
            @Override
            public boolean write(ByteString bytes) {
                throw new AssertionError("nobody types");
            }

            @Override
            public boolean endInput() {
                throw new AssertionError("a terminal does not end");
            }

            @Override
            public boolean resize(int rows, int columns) {
                return told.add(new Size(rows, columns));
            }
        };

        try (Typing _ = Typing.begin(workspace(window), new Reading(false, true), sink)) {
            assertEquals(new Size(40, 100), Uninterruptibles.takeUninterruptibly(told));

            // The first change is told of when the second one has been made already.
            window.drag(50, 100);
            window.drag(50, 120);
            window.tell();
            window.tell();
            assertEquals(new Size(50, 120), Uninterruptibles.takeUninterruptibly(told));

            window.drag(60, 120);
            window.tell();
            assertEquals(new Size(60, 120), Uninterruptibles.takeUninterruptibly(told), "each size is told of once");
        }
    }
}
