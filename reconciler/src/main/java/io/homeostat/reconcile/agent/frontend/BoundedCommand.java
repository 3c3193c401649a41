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
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Commands that somebody waits for, within bounds. */
public final class BoundedCommand {
    private static final int SIGKILL = 9;
    private static final int MOST_OUTPUT = 2 << 20;
    private static final int CHUNK = 16 << 10;

    /** Far more than a pipe holds: what the command itself has printed is read before it is left. */
    private static final int MOST_READ_AT_ONCE = 2 * MOST_OUTPUT;

    private static final long SHORTEST_LOOK = 2;
    private static final long LONGEST_LOOK = 50;
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
        Optional<Outcome> outcome = Optional.empty();
        InputStream stdout = process.getInputStream();
        InputStream stderr = process.getErrorStream();
        // At the end of a process the JVM reads what is left, without a bound; it waits for these locks, and then finds
        // the pipes closed.
        synchronized (stdout) {
            synchronized (stderr) {
                try (stdout;
                        stderr) {
                    process.getOutputStream().close();
                    outcome = Optional.of(awaited(process, stdout, stderr, timeout, ticker, began, isCancelled));
                    return outcome.get();
                } finally {
                    if (outcome.filter(Ended.class::isInstance).isEmpty()) {
                        kill(process);
                    }
                }
            }
        }
    }

    /** No thread reads, and nothing that is not there yet: what the command leaves running may hold its outputs open for ever. */
    private static Outcome awaited(
            Process process,
            InputStream stdout,
            InputStream stderr,
            Duration timeout,
            Ticker ticker,
            long began,
            BooleanSupplier isCancelled)
            throws IOException, InterruptedException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        long look = SHORTEST_LOOK;
        while (true) {
            boolean ended = process.waitFor(look, TimeUnit.MILLISECONDS);
            boolean printed = take(stdout, out);
            boolean more = take(stderr, errors) || printed;
            if (ended) {
                return new Ended(
                        process.exitValue(),
                        ByteString.copyFrom(out.toByteArray()),
                        ByteString.copyFrom(errors.toByteArray()));
            }
            if (isCancelled.getAsBoolean()) {
                return new Cancelled();
            }
            if (timeout.isPositive() && ticker.read() - began >= timeout.toNanos()) {
                return new TimedOut();
            }
            // Who prints much stands still until its pipe is read again.
            look = more ? 0 : Math.min(LONGEST_LOOK, Math.max(SHORTEST_LOOK, 2 * look));
        }
    }

    /**
     * Takes what is there of an output: its beginning is kept, what is too much for one answer is dropped.
     *
     * @return whether there was anything
     */
    private static boolean take(InputStream from, ByteArrayOutputStream kept) throws IOException {
        byte[] chunk = new byte[CHUNK];
        int read = 0;
        while (read < MOST_READ_AT_ONCE && from.available() > 0) {
            int length = from.read(chunk);
            kept.write(chunk, 0, Math.min(length, MOST_OUTPUT - kept.size()));
            read += length;
        }
        return read > 0;
    }

    /** Kills a command and all that it has started, except what has lost its parent and got a session of its own. */
    public static void kill(Process process) {
        List<ProcessHandle> below = process.descendants().toList();
        try {
            // By number and time of birth, as both are another one's once they are dead.
            Set<Stat> killed = new HashSet<>();
            PROC_FS.stat(process.pid()).filter(stat -> process.isAlive()).ifPresent(killed::add);
            for (ProcessHandle each : below) {
                PROC_FS.stat(each.pid()).filter(stat -> each.isAlive()).ifPresent(killed::add);
            }
            process.destroyForcibly();
            below.forEach(ProcessHandle::destroyForcibly);
            killSessions(killed);
        } catch (IOException e) {
            throw new UncheckedIOException("what a command has started could not be killed", e);
        }
    }

    /** Kills what is in the sessions that these have led. */
    private static void killSessions(Set<Stat> leaders) throws IOException {
        Set<Long> sessions = new HashSet<>();
        for (Stat leader : leaders) {
            // A session has the number of its leader, which no other process gets as long as any in it lives. What has
            // it
            // now, if it is not the leader, is a stranger.
            if (leader.session() == leader.pid()
                    && PROC_FS.stat(leader.pid())
                            .filter(stat -> stat.startTicks() != leader.startTicks())
                            .isEmpty()) {
                sessions.add(leader.pid());
            }
        }
        Signals signals = new Signals(PROC_FS);
        for (Stat one : PROC_FS.processes()) {
            if (sessions.contains(one.session())) {
                boolean _ = signals.send(one.pid(), one.startTicks(), SIGKILL);
            }
        }
    }
}
