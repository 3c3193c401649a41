package io.homeostat.reconcile.agent.frontend;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.stop.Signals;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Commands that somebody waits for, within bounds. */
public final class BoundedCommand {
    private static final int SIGKILL = 9;
    private static final int MOST_OUTPUT = 2 << 20;
    private static final int CHUNK = 16 << 10;
    private static final long SHORTEST_LOOK = 2;
    private static final long LONGEST_LOOK = 50;
    private static final Duration LAST_OUTPUT = Duration.ofSeconds(5);
    private static final ProcFs PROC_FS = new ProcFs();

    private BoundedCommand() {}

    /** What has become of one. */
    public sealed interface Outcome {}

    /** It has ended by itself. */
    public record Ended(int exitStatus, ByteString stdout, ByteString stderr) implements Outcome {}

    /** Nobody waits for it any more, and it was killed. */
    public record Cancelled() implements Outcome {}

    /** It took too long, and was killed. */
    public record TimedOut() implements Outcome {}

    /**
     * Runs a command without input. What it leaves in the background goes on, and its output is not waited for. Of each output the first
     * two MiB are kept.
     *
     * @param timeout 0 for none
     * @throws IOException when it can't be started
     */
    public static Outcome run(ProcessBuilder builder, Duration timeout, Ticker ticker, BooleanSupplier isCancelled)
            throws IOException, InterruptedException {
        return run(ProcessBuilder::start, builder, timeout, ticker, isCancelled);
    }

    /** Runs a command in the same way, by a process that this starter starts. */
    public static Outcome run(
            ProcessStarter starter,
            ProcessBuilder builder,
            Duration timeout,
            Ticker ticker,
            BooleanSupplier isCancelled)
            throws IOException, InterruptedException {
        long began = ticker.read();
        Process process = starter.start(builder);
        boolean finished = false;
        try {
            process.getOutputStream().close();
            Output stdout = new Output(process.getInputStream());
            Output stderr = new Output(process.getErrorStream());
            long look = SHORTEST_LOOK;
            while (!process.waitFor(look, TimeUnit.MILLISECONDS)) {
                if (isCancelled.getAsBoolean()) {
                    return new Cancelled();
                }
                if (timeout.isPositive() && ticker.read() - began >= timeout.toNanos()) {
                    return new TimedOut();
                }
                look = Math.min(LONGEST_LOOK, 2 * look);
            }
            finished = true;
            boolean _ = stdout.awaitEnd(LAST_OUTPUT) && stderr.awaitEnd(LAST_OUTPUT);
            return new Ended(process.exitValue(), stdout.bytes(), stderr.bytes());
        } finally {
            if (!finished) {
                kill(process);
            }
        }
    }

    /** The beginning of an output: what is too much for one answer is read and dropped. */
    private static final class Output {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final Thread thread;

        Output(InputStream from) {
            // Not a virtual one: what was left in the background may keep it waiting.
            thread = Thread.ofPlatform().daemon().name("exec output").start(() -> read(from));
        }

        private void read(InputStream from) {
            byte[] chunk = new byte[CHUNK];
            try (from) {
                for (int length = from.read(chunk); length >= 0; length = from.read(chunk)) {
                    add(chunk, length);
                }
            } catch (IOException e) {
                // It was killed while it was being read: that is its end, too.
                return;
            }
        }

        private synchronized void add(byte[] chunk, int length) {
            bytes.write(chunk, 0, Math.min(length, MOST_OUTPUT - bytes.size()));
        }

        boolean awaitEnd(Duration within) throws InterruptedException {
            return thread.join(within);
        }

        synchronized ByteString bytes() {
            return ByteString.copyFrom(bytes.toByteArray());
        }
    }

    /** Kills a command and all that it has started, except what has lost its parent and got a session of its own. */
    public static void kill(Process process) {
        List<ProcessHandle> below = process.descendants().toList();
        process.destroyForcibly();
        below.forEach(ProcessHandle::destroyForcibly);
        try {
            // Their number is not given to another process as long as any of them lives. What it is now, if it is not
            // ours, is a stranger.
            if (!process.isAlive() && PROC_FS.stat(process.pid()).isPresent()) {
                return;
            }
            Signals signals = new Signals(PROC_FS);
            for (Stat one : PROC_FS.processes()) {
                if (one.session() == process.pid()) {
                    boolean _ = signals.send(one.pid(), one.startTicks(), SIGKILL);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("what a command has started could not be killed", e);
        }
    }
}
