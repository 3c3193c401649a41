package io.homeostat.reconcile.agent.guest;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.actuate.stop.Signals;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.agent.frontend.ProcessStarter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;

/**
 * The operating system of this machine: its files, processes and clocks.
 *
 * @param root the directory that all files of the system are below
 * @param clock the time of day
 */
record GuestSystem(
        Path root, ProcFs procFs, ProcessStarter starter, SignalSender signals, Ticker ticker, InstantSource clock) {

    /** Sends signals. */
    @FunctionalInterface
    interface SignalSender {
        /** Sends a signal to the process with this number and start time; returns false when it has ended. */
        boolean send(long pid, long startTicks, int signal) throws IOException;
    }

    /** Returns the system that this process runs on. */
    static GuestSystem real(Ticker ticker, InstantSource clock) {
        ProcFs procFs = new ProcFs();
        return new GuestSystem(Path.of("/"), procFs, ProcessBuilder::start, new Signals(procFs)::send, ticker, clock);
    }

    /** Returns a file of the system. */
    Path file(String absolute) {
        return root.resolve(absolute.substring(1));
    }

    /** Returns the commands of the system. */
    Tools tools() {
        return new Tools(starter, ticker);
    }
}
