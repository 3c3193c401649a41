package io.homeostat.observe.watch;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.process.Libc;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Read leases on files that nobody may write while this process uses them, see F_SETLEASE in fcntl(2). The kernel keeps waiting whoever
 * opens one for writing until this process has ended, at most for /proc/sys/fs/lease-break-time (45 s) a file, and sends SIGIO
 * to the thread that took the lease: the process has to handle it before that, and the thread to live as long as the lease. Only the owner of a file and root get one, and not every file system has them.
 */
public final class FileLeases {
    private final ImmutableMap<Path, Integer> held;

    /** Takes what leases can be had; {@link #held} says which. */
    public FileLeases(ImmutableSet<Path> files) {
        ImmutableMap.Builder<Path, Integer> taken = ImmutableMap.builder();
        for (Path file : files) {
            int descriptor = Libc.open(file.toString());
            if (descriptor < 0) {
                continue;
            }
            if (Libc.takeReadLease(descriptor) < 0) {
                Libc.close(descriptor);
            } else {
                taken.put(file, descriptor);
            }
        }
        held = taken.buildOrThrow();
    }

    /** Files with a lease. Others are being written by somebody, or belong to another user, or can't have one. */
    public ImmutableSet<Path> held() {
        return held.keySet();
    }

    /** A file that somebody waits to write. */
    public Optional<Path> awaited() {
        return held.entrySet().stream()
                .filter(file -> !Libc.holdsReadLease(file.getValue()))
                .map(Map.Entry::getKey)
                .findFirst();
    }
}
