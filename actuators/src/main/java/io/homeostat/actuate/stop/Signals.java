package io.homeostat.actuate.stop;

import io.homeostat.desired.model.SignalNames;
import io.homeostat.observe.process.Pidfd;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Sends signals to one particular process and never to another one that reuses its pid. */
public final class Signals {
    static final int KILL = 9;
    static final int TERM = 15;
    static final int CONT = 18;

    private final ProcFs procFs;

    /**
     * The number of a signal, SIGTERM when it has no name.
     *
     * @throws IllegalArgumentException when a declaration may not have it
     */
    public static int number(@Nullable String name) {
        return name == null
                ? TERM
                : SignalNames.number(name)
                        .orElseThrow(() -> new IllegalArgumentException("no signal of a declaration: " + name));
    }

    public Signals(ProcFs procFs) {
        this.procFs = procFs;
    }

    /** Sends a signal; false when the process is gone. */
    public boolean send(long pid, long startTicks, int signal) throws IOException {
        return Pidfd.signal(procFs, pid, startTicks, signal);
    }
}
