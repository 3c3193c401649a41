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
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A command in a running container. It ends with its own process: what that leaves in the background goes on, and its output is not waited
 * for. It also ends with its container, and its streams end with the guest agent.
 */
final class HostedExec {
    private static final Logger LOG = LoggerFactory.getLogger(HostedExec.class);
    private static final int CHUNK = 64 << 10;
    private static final Duration START = Duration.ofSeconds(30);
    private static final long LOOK = 5;
    private static final long LOOK_AT_PROCESS = 50;

    /** Time to read the output that a process has left behind, not counting the time that readers need. */
    private static final Duration LINGER = Duration.ofSeconds(1);

    /** A command ends when no call has asked about it for so long. Somebody may have stopped the terminal that it prints to. */
    private static final Duration FORSAKEN = Duration.ofMinutes(10);

    private static final int SIGKILL = 9;

    /** The exit status of a command that was ended so. */
    private static final int KILLED = 128 + SIGKILL;

    private final Process process;
    private final @Nullable PseudoTerminal terminal;
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
    private final AtomicInteger calls = new AtomicInteger();
    private volatile long lastCall;
    private volatile boolean killed;
    private long pid;
    private ProcFs.@Nullable ProcessKey key;

    private HostedExec(GuestSystem system, Process process, @Nullable PseudoTerminal terminal) {
        this.system = system;
        this.process = process;
        this.terminal = terminal;
        this.lastCall = system.ticker().read();
    }

    /**
     * Begins one, and returns when it runs or has run.
     *
     * @param command by which the runtime executes it; it writes its number to that file
     * @param log a file in which the runtime logs failures and the exit status of the command; it may be deleted once this returns
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
        RuntimeLog messages = RuntimeLog.open(log);
        HostedExec exec = null;
        boolean started = false;
        try {
            exec = hasTerminal
                    ? startAtTerminal(system, builder)
                    : new HostedExec(system, system.starter().start(builder), null);
            exec.serve();
            exec.awaitStart(pidFile, messages);
            exec.followProcess(messages);
            started = true;
            return exec;
        } finally {
            if (!started) {
                messages.close();
                if (exec != null) {
                    exec.abandon();
                }
            }
        }
    }

    private static HostedExec startAtTerminal(GuestSystem system, ProcessBuilder builder) throws IOException {
        PseudoTerminal pty = PseudoTerminal.open();
        File device = new File(pty.device());
        try {
            return new HostedExec(
                    system,
                    system.starter()
                            .start(builder.redirectInput(device)
                                    .redirectOutput(device)
                                    .redirectError(device)),
                    pty);
        } catch (IOException e) {
            pty.close();
            throw e;
        }
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
    }

    private void followProcess(RuntimeLog messages) {
        thread("exec end", () -> {
                    try (messages) {
                        awaitEnd(messages);
                        end.complete(status(messages).orElse(process.exitValue()));
                    } catch (IOException e) {
                        LOG.warn("the log of the runtime can't be closed: {}", e.getMessage());
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    } finally {
                        // Whatever has failed: somebody waits, and it has one of few places.
                        process.destroyForcibly();
                        end.complete(KILLED);
                    }
                })
                .start();
    }

    /**
     * Waits for the end of the runtime's process. By itself it would not end as long as any process has an output of the command open, which
     * may be in another container, nor as long as the command's process is kept from its end, as by one that traces it.
     */
    private void awaitEnd(RuntimeLog messages) throws InterruptedException {
        long left = LINGER.toNanos();
        long before = system.ticker().read();
        while (!process.waitFor(LOOK_AT_PROCESS, TimeUnit.MILLISECONDS)) {
            Optional<Integer> _ = status(messages);
            long now = system.ticker().read();
            endForsaken(now);
            if (killed || (!isRunning() && !stdout.isFull() && !stderr.isFull())) {
                left -= now - before;
                if (left <= 0) {
                    process.destroyForcibly();
                }
            }
            before = now;
        }
    }

    private void endForsaken(long now) {
        if (calls.get() > 0) {
            lastCall = now;
        } else if (!killed && now - lastCall >= FORSAKEN.toNanos()) {
            LOG.info("process {} of a command is killed: nobody has asked about it for {}", pid, FORSAKEN);
            try {
                boolean _ = signal(SIGKILL);
            } catch (IOException e) {
                LOG.warn("process {} of a command can't be killed: {}", pid, e.getMessage());
            }
        }
    }

    /** Returns the exit status that the runtime has logged for the command's process. The runtime may have been killed after that. */
    private Optional<Integer> status(RuntimeLog messages) {
        try {
            return messages.statusOf(pid);
        } catch (IOException e) {
            LOG.warn("the log of the runtime can't be read: {}", e.getMessage());
            return Optional.empty();
        }
    }

    /** Returns whether the process of the command runs. One that has ended stays as a zombie as long as another one traces it. */
    private boolean isRunning() {
        ProcFs.ProcessKey own = key;
        try {
            return own != null
                    && system.procFs()
                            .stat(own.pid())
                            .filter(ProcFs.Stat::alive)
                            .map(ProcFs.ProcessKey::of)
                            .filter(own::equals)
                            .isPresent();
        } catch (IOException e) {
            LOG.debug("process {} of a command: {}", own, e.getMessage());
            return true;
        }
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

    private void awaitStart(Path pidFile, RuntimeLog messages) throws IOException, InterruptedException {
        long deadline = system.ticker().read() + START.toNanos();
        while (true) {
            // In this order: one that has ended has written its number before.
            boolean ended = !process.isAlive();
            if (Files.exists(pidFile)) {
                break;
            }
            if (ended) {
                throw Refusals.internal(OciRuntime.failure(messages.end())
                        .orElse("the runtime has ended with exit status " + process.exitValue()));
            }
            if (system.ticker().read() - deadline >= 0) {
                throw Refusals.internal("the runtime has not started it after " + START.toSeconds() + " s");
            }
            messages.bound();
            Thread.sleep(LOOK);
        }
        noteProcess(pidFile);
    }

    /** Before its number may be given to another process: it is written after it was started. */
    private void noteProcess(Path pidFile) throws IOException {
        pid = Long.parseLong(Files.readString(pidFile).strip());
        key = system.procFs().stat(pid).map(ProcFs.ProcessKey::of).orElse(null);
        if (!process.isAlive()) {
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

    /** A call about the command, which somebody wants as long as that is under way. */
    private interface Use extends AutoCloseable {
        @Override
        void close();
    }

    private Use use() {
        int _ = calls.incrementAndGet();
        return () -> {
            lastCall = system.ticker().read();
            int _ = calls.decrementAndGet();
        };
    }

    /** Waits for the next piece of its output; empty at the end. */
    ByteString read(boolean isError, int length) throws InterruptedException {
        try (Use _ = use()) {
            return output(isError).take(length);
        }
    }

    /** Waits for its exit status, 128 and its number for a signal. */
    int await() throws InterruptedException {
        try (Use _ = use()) {
            return HostedContainer.await(end.copy());
        }
    }

    boolean hasEnded() {
        return end.isDone();
    }

    /**
     * Sends a signal to the process of the command. SIGKILL ends the command, too, whatever keeps its process from its end, and whoever
     * still reads its output.
     *
     * @return false when it has ended
     */
    boolean signal(int number) throws IOException {
        if (end.isDone()) {
            return false;
        }
        if (number == SIGKILL) {
            killed = true;
        }
        ProcFs.ProcessKey to = key;
        boolean sent = to != null && isRunning() && system.signals().send(to.pid(), to.startTicks(), number);
        if (number != SIGKILL) {
            return sent;
        }
        if (!sent) {
            process.destroyForcibly();
        }
        return true;
    }

    /**
     * Waits until it has taken all of it, or has ended, or nobody waits for that.
     *
     * @throws IOException when nobody reads it any more
     */
    void write(ByteString bytes) throws IOException, InterruptedException {
        try (Use _ = use()) {
            input(() -> writeNow(bytes));
        }
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
        if (process.isAlive()) {
            BoundedCommand.kill(process);
        }
    }
}
