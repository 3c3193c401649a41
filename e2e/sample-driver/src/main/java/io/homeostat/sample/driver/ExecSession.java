package io.homeostat.sample.driver;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest.TerminalSize;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One command that talks with the host while it runs. Empty requests are signs of life. */
final class ExecSession implements StreamObserver<ExecTaskStreamingRequest> {
    private static final int CHUNK = 16 * 1024;
    private static final int SIZE_TRIES = 6000;
    private static final long PAUSE_MILLIS = 10;
    private static final List<Path> SCRIPTS = List.of(Path.of("/usr/bin/script"), Path.of("/bin/script"));

    private final Tasks tasks;
    private final Outlet<ExecTaskStreamingResponse> out;
    private final Faults faults;
    /** Writes what was typed: a command that does not read must not keep the host from being heard. */
    private final java.util.concurrent.Executor input = inOrder("exec stdin");

    /** For the terminal's, of which the last one counts. */
    private final java.util.concurrent.Executor sizes = inOrder("terminal size");

    private @Nullable Process process;
    private boolean isOver;

    ExecSession(Tasks tasks, Outlet<ExecTaskStreamingResponse> out, Faults faults) {
        this.tasks = tasks;
        this.out = out;
        this.faults = faults;
        this.isOver = faults.has("no-exec-streaming") || faults.has("hang-exec-streaming");
    }

    private static java.util.concurrent.Executor inOrder(String name) {
        return new ThreadPoolExecutor(0, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), action -> {
            Thread thread = new Thread(action, name);
            thread.setDaemon(true);
            return thread;
        });
    }

    @Override
    public void onNext(ExecTaskStreamingRequest request) {
        if (isOver) {
            return;
        }
        try {
            Process running = process;
            if (running == null) {
                start(request);
                return;
            }
            if (request.hasTtySize()) {
                sizes.execute(() -> resize(running, request.getTtySize()));
            }
            if (request.hasStdin()) {
                input.execute(() -> give(running.getOutputStream(), request.getStdin()));
            }
        } catch (IOException | TaskException e) {
            isOver = true;
            out.fail(Status.UNKNOWN.withDescription(e.getMessage()).asRuntimeException());
        }
    }

    private void start(ExecTaskStreamingRequest request) throws IOException {
        if (!request.hasSetup()) {
            throw new TaskException("the first message is not the setup");
        }
        ExecTaskStreamingRequest.Setup setup = request.getSetup();
        Task task = tasks.get(setup.getTaskId());
        Process started =
                Exec.start(task, setup.getTty() ? withTerminal(setup.getCommandList()) : setup.getCommandList());
        process = started;
        out.whenCancelled(() -> Exec.kill(started));
        Background.run("exec stream", () -> serve(started));
    }

    /** Only script(1) can make a terminal without native code. */
    private static List<String> withTerminal(List<String> command) {
        Path script = SCRIPTS.stream()
                .filter(Files::isExecutable)
                .findFirst()
                .orElseThrow(() -> new TaskException("no terminal can be had without script(1)"));
        String quoted = command.stream()
                .map(word -> "'" + word.replace("'", "'\\''") + "'")
                .collect(Collectors.joining(" "));
        // A shell starts what runs in its background with SIGINT ignored; a command would inherit that from the driver,
        // and could not be interrupted.
        String line = "exec env --default-signal -- " + quoted;
        return List.of(script.toString(), "-q", "-e", "-f", "-c", line, "/dev/null");
    }

    private static void give(OutputStream stdin, ExecTaskStreamingIOOperation operation) {
        try {
            if (!operation.getData().isEmpty()) {
                operation.getData().writeTo(stdin);
                stdin.flush();
            }
            if (operation.getClose()) {
                stdin.close();
            }
        } catch (IOException e) {
            // Nobody reads it any more: its end says the rest.
            return;
        }
    }

    private void serve(Process running) {
        Thread stderr = Background.run("exec stderr", () -> pump(running.getErrorStream(), false));
        pump(running.getInputStream(), true);
        try {
            stderr.join();
            int code = running.waitFor();
            if (faults.has("exec-without-end")) {
                out.complete();
                return;
            }
            out.send(ExecTaskStreamingResponse.newBuilder()
                    .setExited(true)
                    .setResult(ExitResult.newBuilder().setExitCode(code))
                    .build());
            out.complete();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void pump(InputStream from, boolean isStdout) {
        byte[] chunk = new byte[CHUNK];
        try {
            for (int length = from.read(chunk); length >= 0; length = from.read(chunk)) {
                if (!out.send(output(isStdout, data(ByteString.copyFrom(chunk, 0, length))))) {
                    return;
                }
            }
        } catch (IOException e) {
            // It was killed while it was being read: that is its end, too.
            closed(isStdout);
            return;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        closed(isStdout);
    }

    private void closed(boolean isStdout) {
        try {
            out.send(output(
                    isStdout,
                    ExecTaskStreamingIOOperation.newBuilder().setClose(true).build()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static ExecTaskStreamingIOOperation data(ByteString data) {
        return ExecTaskStreamingIOOperation.newBuilder().setData(data).build();
    }

    private static ExecTaskStreamingResponse output(boolean isStdout, ExecTaskStreamingIOOperation operation) {
        return isStdout
                ? ExecTaskStreamingResponse.newBuilder().setStdout(operation).build()
                : ExecTaskStreamingResponse.newBuilder().setStderr(operation).build();
    }

    /** The terminal is there only some time after the process. A size of 0 is none. */
    private static void resize(Process running, TerminalSize size) {
        if (size.getHeight() <= 0 || size.getWidth() <= 0) {
            return;
        }
        try {
            for (int i = 0; i < SIZE_TRIES && running.isAlive(); i++) {
                Optional<Path> terminal = terminal(running);
                if (terminal.isPresent()) {
                    new ProcessBuilder(
                                    "stty",
                                    "-F",
                                    terminal.get().toString(),
                                    "rows",
                                    Integer.toString(size.getHeight()),
                                    "cols",
                                    Integer.toString(size.getWidth()))
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor();
                    return;
                }
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            }
        } catch (IOException e) {
            throw new IllegalStateException("no stty(1) to set the size of a terminal with", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Optional<Path> terminal(Process running) {
        try (Stream<ProcessHandle> below = running.descendants()) {
            return below.map(process -> Path.of("/proc", Long.toString(process.pid()), "fd", "0"))
                    .flatMap(descriptor -> {
                        try {
                            return Stream.of(Files.readSymbolicLink(descriptor));
                        } catch (IOException e) {
                            return Stream.empty(); // it is gone
                        }
                    })
                    .filter(path -> path.startsWith("/dev/pts"))
                    .findFirst();
        }
    }

    @Override
    public void onError(Throwable error) {
        end();
    }

    @Override
    public void onCompleted() {
        Process running = process;
        if (running == null) {
            isOver = true;
            out.complete();
            return;
        }
        input.execute(() -> give(
                running.getOutputStream(),
                ExecTaskStreamingIOOperation.newBuilder().setClose(true).build()));
    }

    private void end() {
        Process running = process;
        if (running != null) {
            Exec.kill(running);
        }
    }
}
