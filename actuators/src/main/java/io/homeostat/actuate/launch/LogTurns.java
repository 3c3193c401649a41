package io.homeostat.actuate.launch;

import com.google.common.util.concurrent.Striped;
import java.nio.file.Path;
import java.util.concurrent.locks.Lock;

/**
 * Whose turn it is with a log. Rotation loses what is written while it truncates: whoever in this process appends to logs takes turns with
 * it, so that nothing is. Programs that have their log open themselves take none.
 */
public final class LogTurns {
    private static final int STRIPES = 64;

    private final Striped<Lock> locks = Striped.lock(STRIPES);

    /** Waits until nobody else has it. The same thread may take it again. */
    public Turn take(Path log) {
        Lock lock = locks.get(log.toAbsolutePath());
        lock.lock();
        return lock::unlock;
    }

    /** Lasts until it is closed, by the thread that took it. */
    public interface Turn extends AutoCloseable {
        @Override
        void close();
    }
}
