package io.homeostat.reconcile.runtime.kata;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.util.concurrent.Striped;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/**
 * The turn of one who begins a command in a container, or pauses it, in any process: a command that comes to an agent after the pause would
 * hold its lock for ever.
 */
final class CommandTurn implements AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(10);

    /** The lock of a file is one of whole processes, and there can be only one of it in each; so this is one of all that this one does. */
    private static final Striped<Lock> LOCKS = Striped.lazyWeakLock(1 << 30);

    private final Lock lock;
    private final FileChannel channel;

    private CommandTurn(Lock lock, FileChannel channel) {
        this.lock = lock;
        this.channel = channel;
    }

    /**
     * Waits for it.
     *
     * @throws ActuationFailure when somebody else has it for that long
     */
    static CommandTurn take(Path file, Instance instance, Ticker ticker, Duration within)
            throws ActuationFailure, IOException, InterruptedException {
        Lock lock = LOCKS.get(file);
        long end = ticker.read() + within.toNanos();
        if (!lock.tryLock(within.toNanos(), TimeUnit.NANOSECONDS)) {
            throw busy(instance, within);
        }
        boolean taken = false;
        FileChannel channel = null;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            while (!taken) {
                FileLock held = channel.tryLock();
                taken = held != null;
                if (!taken && ticker.read() - end >= 0) {
                    throw busy(instance, within);
                }
                if (!taken) {
                    Thread.sleep(POLL);
                }
            }
            return new CommandTurn(lock, channel);
        } catch (ClosedByInterruptException e) {
            boolean _ = Thread.interrupted();
            throw new InterruptedException("waiting for " + file);
        } finally {
            if (!taken) {
                if (channel != null) {
                    channel.close();
                }
                lock.unlock();
            }
        }
    }

    private static ActuationFailure busy(Instance instance, Duration within) {
        return new ActuationFailure(
                FailureCause.Kind.TIMED_OUT,
                "another command is being begun in " + instance.workload().brief() + ", or it is being paused, since "
                        + within.toMillis() + " ms",
                false);
    }

    /** The lock of the file ends with its channel. */
    @Override
    public void close() throws IOException {
        try {
            channel.close();
        } finally {
            lock.unlock();
        }
    }
}
