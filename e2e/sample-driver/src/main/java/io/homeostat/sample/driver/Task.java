package io.homeostat.sample.driver;

import com.google.protobuf.Timestamp;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A task that was started, by this process or a former one. */
final class Task {
    private static final Duration DEATH = Duration.ofSeconds(10);

    private final TaskConfig config;
    private final DriverState state;
    private final Clock clock;
    private final CompletableFuture<Ending> end = new CompletableFuture<>();

    Task(TaskConfig config, DriverState state, Clock clock) {
        this.config = config;
        this.state = state;
        this.clock = clock;
    }

    TaskConfig config() {
        return config;
    }

    DriverState state() {
        return state;
    }

    /** Whoever waits for it and gives up leaves the task alone. */
    CompletableFuture<Ending> end() {
        return end.copy();
    }

    boolean hasEnded() {
        return end.isDone();
    }

    ProcessTree processes() {
        return new ProcessTree(state);
    }

    /** Returns when the task has ended; null when interrupted. To be called once. */
    @Nullable
    Ending watch() {
        try {
            Ending ending = awaitEnd();
            end.complete(ending);
            return ending;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private Ending awaitEnd() throws InterruptedException {
        Path exit = state.directory().resolve("exit");
        try {
            awaitExecutor();
            return Files.exists(exit)
                    ? Ending.parse(
                            Files.readString(exit),
                            Files.getLastModifiedTime(exit).toInstant())
                    : Ending.unknown("the executor is gone", clock.instant());
        } catch (ClosedByInterruptException e) {
            throw new InterruptedException();
        } catch (IOException | IllegalArgumentException e) {
            return Ending.unknown("cannot read " + exit + ": " + e, clock.instant());
        }
    }

    /** The executor has a FIFO open for writing as long as it lives, and writes nothing. */
    private void awaitExecutor() throws IOException {
        Path alive = state.directory().resolve("alive");
        // Without a writer, as when the executor has ended, to open it for reading alone would wait for one.
        try (FileChannel both = FileChannel.open(alive, StandardOpenOption.READ, StandardOpenOption.WRITE);
                FileChannel reader = FileChannel.open(alive, StandardOpenOption.READ)) {
            both.close();
            reader.read(ByteBuffer.allocate(1));
        } catch (NoSuchFileException e) {
            // Nor is there anything else of it any more.
        }
    }

    /** To the task's first process only. Throws TaskException for a signal that there is not. */
    void signal(String name) throws IOException, InterruptedException {
        if (!Signals.isKnown(name)) {
            throw new TaskException("unknown signal: " + name);
        }
        if (!hasEnded() && Proc.isAlive(state.pid(), state.pidStart())) {
            Signals.send(name, state.pid());
        }
    }

    /** Returns when it has ended; kills all of it after the timeout. */
    void stop(Duration timeout, String signal) throws IOException, InterruptedException {
        if (timeout.isZero()) {
            kill();
            return;
        }
        signal(signal.isEmpty() ? Signals.TERMINATE : signal);
        if (!ends(timeout)) {
            kill();
        }
    }

    /** Kills all processes of it, also those that its end has left. */
    void kill() throws InterruptedException {
        processes().kill();
        if (!ends(DEATH)) {
            throw new TaskException("the task's processes are killed, and its executor does not say so");
        }
    }

    private boolean ends(Duration timeout) throws InterruptedException {
        try {
            end.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException("the end of a task is always a value", e);
        }
    }

    TaskStatus status() {
        TaskStatus.Builder status = TaskStatus.newBuilder()
                .setId(config.getId())
                .setName(config.getName())
                .setState(TaskState.RUNNING)
                .setStartedAt(timestamp(state.startedAt()));
        @Nullable Ending ending = end.getNow(null);
        if (ending != null) {
            status.setState(TaskState.EXITED)
                    .setCompletedAt(timestamp(ending.at()))
                    .setResult(ending.result());
        }
        return status.build();
    }

    static Timestamp timestamp(Instant time) {
        return Timestamp.newBuilder()
                .setSeconds(time.getEpochSecond())
                .setNanos(time.getNano())
                .build();
    }
}
