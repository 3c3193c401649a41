package io.homeostat.actuate.stop;

import io.homeostat.observe.process.Pidfd;
import io.homeostat.observe.process.Pidfd.Opened;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;

/** Sends signals to one certain process and to no other that gets its number in the meantime. */
final class Signals {
    static final int KILL = 9;
    static final int TERM = 15;
    static final int CONT = 18;

    private final ProcFs procFs;

    Signals(ProcFs procFs) {
        this.procFs = procFs;
    }

    /**
     * Sends a signal.
     *
     * @return false when the process is not there any more
     * @throws IOException when the kernel refuses, or who it is can't be seen
     */
    boolean send(long pid, long startTicks, int signal) throws IOException {
        return switch (Pidfd.open(procFs, pid, startTicks)) {
            case Opened.Open(Pidfd pidfd) -> {
                try (pidfd) {
                    yield pidfd.send(signal);
                }
            }
            case Opened.Gone gone -> false;
            // All that remains is to look as short a time before as possible.
            case Opened.Unsupported unsupported -> isThere(pid, startTicks) && Pidfd.sendToNumber(pid, signal);
        };
    }

    private boolean isThere(long pid, long startTicks) throws IOException {
        return procFs.stat(pid).filter(stat -> stat.startTicks() == startTicks).isPresent();
    }
}
