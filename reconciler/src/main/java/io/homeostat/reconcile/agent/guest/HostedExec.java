package io.homeostat.reconcile.agent.guest;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.PseudoTerminal;
import io.homeostat.reconcile.agent.frontend.BoundedCommand;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A command in a container that runs. It ends with its container, and with this process its streams do. */
final class HostedExec {
    private static final Logger LOG = LoggerFactory.getLogger(HostedExec.class);
    private static final int CHUNK = 64 << 10;
    private static final Duration START = Duration.ofSeconds(30);
    private static final long LOOK = 5;

    private final Process process;
    private final @Nullable PseudoTerminal terminal;
    private final Path pidFile;
    private final OutputBuffer stdout = new OutputBuffer();
    private final OutputBuffer stderr = new OutputBuffer();
    private final CompletableFuture<Integer> end = new CompletableFuture<>();
    private final GuestSystem system;
    private final ThreadPoolExecutor inputs = new ThreadPoolExecutor(
            0,
            1,
            1,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            Thread.ofPlatform().daemon().name("exec input").factory());
    private ProcFs.@Nullable ProcessKey key;

    private HostedExec(GuestSystem system, Process process, @Nullable PseudoTerminal terminal, Path pidFile) {
        this.system = system;
        this.process = process;
        this.terminal = terminal;
        this.pidFile = pidFile;
    }

    /**
     * Begins one, and returns when it runs or has run.
     *
     * @param command by which the runtime executes it; it writes its number to that file
     * @param log what the runtime writes of a failure
     * @throws io.grpc.StatusRuntimeException when the runtime can't start it
     */
    static HostedExec begin(GuestSystem system, List<String> command, boolean hasTerminal, Path pidFile, Path log)
            throws IOException, InterruptedException {
        List<String> whole = new ArrayList<>(List.of("setsid"));
        if (hasTerminal) {
            whole.add("--ctty");
        }
        whole.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(whole).directory(new File("/"));
        HostedExec exec;
        if (hasTerminal) {
            PseudoTerminal pty = PseudoTerminal.open();
            File device = new File(pty.device());
            try {
                exec = new HostedExec(
                        system,
                        system.starter()
                                .start(builder.redirectInput(device)
                                        .redirectOutput(device)
                                        .redirectError(device)),
                        pty,
                        pidFile);
            } catch (IOException e) {
                pty.close();
                throw e;
            }
        } else {
            exec = new HostedExec(system, system.starter().start(builder), null, pidFile);
        }
        exec.serve();
        exec.awaitStart(log);
        return exec;
    }

    private void serve() {
        PseudoTerminal pty = terminal;
        Thread errors = thread("exec errors", () -> pump(process.getErrorStream(), stderr));
        Thread output = thread("exec output", () -> {
            if (pty == null) {
                pump(process.getInputStream(), stdout);
            } else {
                pump(pty);
            }
        });
        if (pty == null) {
            errors.start();
        } else {
            stderr.end();
        }
        output.start();
        thread("exec end", () -> {
                    try {
                        end.complete(process.waitFor());
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                })
                .start();
    }

    /** Not a virtual one: each waits as long as the command runs. */
    private static Thread thread(String name, Runnable work) {
        return Thread.ofPlatform().daemon().name(name).unstarted(work);
    }

    private static void pump(InputStream from, OutputBuffer to) {
        byte[] chunk = new byte[CHUNK];
        try (from) {
            for (int length = from.read(chunk); length >= 0; length = from.read(chunk)) {
                to.put(ByteString.copyFrom(chunk, 0, length));
            }
        } catch (IOException e) {
            // It was killed while it was being read: that is its end, too.
            LOG.debug("the output of a command: {}", e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            to.end();
        }
    }

    private void pump(PseudoTerminal pty) {
        byte[] chunk = new byte[CHUNK];
        try (pty) {
            for (int length = pty.read(chunk); length > 0; length = pty.read(chunk)) {
                stdout.put(ByteString.copyFrom(chunk, 0, length));
            }
        } catch (IOException e) {
            LOG.debug("the terminal of a command: {}", e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            stdout.end();
        }
    }

    private void awaitStart(Path log) throws IOException, InterruptedException {
        long deadline = system.ticker().read() + START.toNanos();
        while (true) {
            // In this order: one that has ended has written its number before.
            boolean ended = end.isDone();
            if (Files.exists(pidFile)) {
                break;
            }
            if (ended) {
                abandon();
                String said = Files.exists(log) ? Files.readString(log) : "";
                throw Refusals.internal(
                        OciRuntime.failure(said).orElse("the runtime has ended with exit status " + end.getNow(-1)));
            }
            if (system.ticker().read() - deadline >= 0) {
                abandon();
                throw Refusals.internal("the runtime has not started it after " + START.toSeconds() + " s");
            }
            Thread.sleep(LOOK);
        }
        noteProcess();
    }

    /** Before its number may be given to another process: it is written after it was started. */
    private void noteProcess() throws IOException {
        String pid = Files.readString(pidFile).strip();
        key = system.procFs()
                .stat(Long.parseLong(pid))
                .map(ProcFs.ProcessKey::of)
                .orElse(null);
        if (end.isDone()) {
            key = null;
        }
    }

    /** Whether its output is one stream. */
    boolean hasTerminal() {
        return terminal != null;
    }

    OutputBuffer output(boolean isError) {
        return isError ? stderr : stdout;
    }

    /** Its exit status, 128 and its number for a signal. */
    CompletableFuture<Integer> end() {
        return end.copy();
    }

    boolean hasEnded() {
        return end.isDone();
    }

    /** False when it has ended. */
    boolean signal(int number) throws IOException {
        ProcFs.ProcessKey to = key;
        return to != null && !end.isDone() && system.signals().send(to.pid(), to.startTicks(), number);
    }

    /**
     * Waits until it has taken all of it, or has ended, or nobody waits for that.
     *
     * @throws IOException when nobody reads it any more
     */
    void write(ByteString bytes) throws IOException, InterruptedException {
        input(() -> writeNow(bytes));
    }

    void closeInput() throws IOException, InterruptedException {
        input(this::closeNow);
    }

    private interface Input {
        void give() throws IOException;
    }

    /** By a thread of its own, which a command that does not read may keep as long as it lives. */
    private void input(Input input) throws IOException, InterruptedException {
        Callable<Boolean> giving = () -> {
            input.give();
            return true;
        };
        Future<Boolean> given = null;
        while (true) {
            try {
                if (given == null) {
                    given = inputs.submit(giving);
                }
                boolean _ = given.get(LOOK, TimeUnit.MILLISECONDS);
                return;
            } catch (RejectedExecutionException e) {
                // Somebody else's input is being taken.
                Thread.sleep(LOOK);
            } catch (TimeoutException e) {
                if (hasEnded()) {
                    throw new IOException("the command has ended", e);
                }
            } catch (ExecutionException e) {
                throw new IOException(e.getCause() == null ? e : e.getCause());
            }
            if (Context.current().isCancelled()) {
                throw Refusals.cancelled();
            }
        }
    }

    private void writeNow(ByteString bytes) throws IOException {
        PseudoTerminal pty = terminal;
        if (pty != null) {
            pty.write(bytes.toByteArray());
            return;
        }
        OutputStream stdin = process.getOutputStream();
        bytes.writeTo(stdin);
        stdin.flush();
    }

    private void closeNow() throws IOException {
        PseudoTerminal pty = terminal;
        if (pty != null) {
            pty.write(new byte[] {PseudoTerminal.END_OF_INPUT});
        } else {
            process.getOutputStream().close();
        }
    }

    void resize(int rows, int columns) throws IOException {
        PseudoTerminal pty = terminal;
        if (pty != null) {
            pty.resize(rows, columns);
        }
    }

    /** Whoever asks for its end has read what it wanted, as Kata's agent has it. */
    void forgetOutput() {
        stdout.abandon();
        stderr.abandon();
    }

    /** Whatever it does: nobody wants it any more. */
    void abandon() {
        forgetOutput();
        if (!end.isDone()) {
            BoundedCommand.kill(process);
        }
    }
}
