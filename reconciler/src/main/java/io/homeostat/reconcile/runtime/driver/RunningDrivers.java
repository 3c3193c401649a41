package io.homeostat.reconcile.runtime.driver;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.reconcile.runtime.Machine;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;

/** The drivers of this machine that can be asked. */
public final class RunningDrivers {
    private final Machine machine;

    public RunningDrivers(Machine machine) {
        this.machine = machine;
    }

    /** A driver could not be asked; the message says which and why. */
    public static final class Absent extends Exception {
        private final boolean known;

        Absent(WorkloadId driver, String why, boolean known) {
            super("driver " + driver.name() + " " + why);
            this.known = known;
        }

        public String words() {
            return String.valueOf(getMessage());
        }

        /** Whether this machine has, or is about to have, such a driver. */
        public boolean isKnown() {
            return known;
        }
    }

    /** A driver that was set up and answers. */
    public record Running(Instance instance, DriverSession session) {}

    /**
     * The session with a driver that was set up.
     *
     * @throws Absent when none runs, or it does not answer within this time
     */
    public DriverSession session(WorkloadId driver, Duration timeout) throws Absent, InterruptedException {
        return running(driver, timeout).session();
    }

    /** The launch that was set up last, which may have ended; empty when there is none. */
    public Optional<Instance> launch(WorkloadId driver) {
        return started(machine.instances().apply(driver));
    }

    private static Optional<Instance> started(ImmutableList<Instance> launches) {
        return launches.stream().filter(Instance::isStarted).max(Comparator.comparing(Instance::launchedAt));
    }

    /** The same with the launch that the session is with. */
    public Running running(WorkloadId driver, Duration timeout) throws Absent, InterruptedException {
        ImmutableList<Instance> launches = machine.instances().apply(driver);
        Optional<Instance> running = started(launches);
        if (running.isEmpty()) {
            // Between two launches of an upgrade nothing is remembered of it but its directory.
            throw absent(driver, !launches.isEmpty() || hasState(driver));
        }
        try {
            ProcessIdentity process = running.get().process();
            if (process == null || !machine.procFs().runs(process)) {
                throw absent(driver, true);
            }
            DriverSession session = machine.drivers().of(running.get());
            session.attachUnlessSilent(timeout);
            machine.drivers().hear(running.get());
            return new Running(running.get(), session);
        } catch (DriverFailure e) {
            throw silent(driver, e.words());
        } catch (Handshake.Refused e) {
            throw silent(driver, e.words());
        } catch (IOException e) {
            if (Thread.interrupted()) {
                // Which ends the reading of files.
                throw new InterruptedException("a look at " + driver + " was interrupted");
            }
            throw silent(driver, e.toString());
        }
    }

    private boolean hasState(WorkloadId driver) {
        try {
            return PinnedFile.exists(machine.layout().workloadState(driver));
        } catch (IOException e) {
            // Its own pass says why that can't be seen.
            return true;
        }
    }

    private static Absent absent(WorkloadId driver, boolean known) {
        return new Absent(driver, "does not run here", known);
    }

    private static Absent silent(WorkloadId driver, String why) {
        return new Absent(driver, "can't be asked: " + why, true);
    }
}
