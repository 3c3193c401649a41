package io.homeostat.sample.driver;

import com.google.protobuf.ByteString;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Other commands beside a task's own, in its surroundings: directory, environment, user, control groups. */
final class Exec {
    private Exec() {}

    /** Returns what it printed, once it has ended. Throws TaskException when it takes too long; then it is killed. */
    static ExecTaskResponse run(Task task, List<String> command, Duration timeout)
            throws IOException, InterruptedException {
        Process process = start(task, command);
        process.getOutputStream().close();
        CompletableFuture<ByteString> stdout =
                CompletableFuture.supplyAsync(() -> all(process, true), Exec::inBackground);
        CompletableFuture<ByteString> stderr =
                CompletableFuture.supplyAsync(() -> all(process, false), Exec::inBackground);
        boolean ended = true;
        if (timeout.isZero()) {
            process.waitFor();
        } else {
            ended = process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS);
        }
        if (!ended) {
            kill(process);
            throw new TaskException("the command has not ended after " + timeout.toMillis() + " ms and is killed");
        }
        return ExecTaskResponse.newBuilder()
                .setStdout(stdout.join())
                .setStderr(stderr.join())
                .setResult(ExitResult.newBuilder().setExitCode(process.exitValue()))
                .build();
    }

    /** With pipes as its standard streams. */
    static Process start(Task task, List<String> command) throws IOException {
        if (command.isEmpty()) {
            throw new TaskException("there is no command to execute");
        }
        if (task.hasEnded()) {
            throw new TaskException("the task has ended");
        }
        return Executor.beside(task.config(), task.state(), command).start();
    }

    static void kill(Process process) {
        List<ProcessHandle> below = process.descendants().toList();
        process.destroyForcibly();
        below.forEach(ProcessHandle::destroyForcibly);
    }

    private static ByteString all(Process process, boolean isStdout) {
        try {
            return ByteString.copyFrom((isStdout ? process.getInputStream() : process.getErrorStream()).readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void inBackground(Runnable action) {
        Background.run("exec", action);
    }
}
