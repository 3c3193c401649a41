package io.homeostat.actuate.launch;

import com.google.common.collect.Comparators;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.DriverSessions;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.goplugin.HostEnvironment;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drivers are told by their environment where to make their sockets, say on standard output which one it is, and end when they are asked
 * to. What they log goes to a file: a pipe would break with us, and a driver that logs into a broken pipe dies of it.
 */
public final class DriverProtocol implements ProcessProtocol {
    private static final Logger LOG = LoggerFactory.getLogger(DriverProtocol.class);

    /** From its promise to end until it has. */
    private static final Duration GRACE = Duration.ofSeconds(2);

    private static final Duration POLL = Duration.ofMillis(5);

    private final Layout layout;
    private final ProcFs procFs;
    private final DriverSessions sessions;

    /** @param sessions used, not closed */
    public DriverProtocol(Layout layout, ProcFs procFs, DriverSessions sessions) {
        this.layout = layout;
        this.procFs = procFs;
        this.sessions = sessions;
    }

    @Override
    public Preparation prepare(Instance instance, @Nullable Account account) throws IOException {
        Path sockets = layout.driverSockets(instance.workload());
        SecureDirectories.create(parent(sockets), SecureDirectories.OURS);
        SecureDirectories.create(sockets, SecureDirectories.OURS);
        if (Account.ourUid() == 0) {
            // Also taken back from the user that a former declaration named, who could listen in the driver's place.
            StateOwner.of(account).ownDirectory(sockets);
        }
        if (account != null) {
            SecureDirectories.letThrough(layout.runDir(), sockets);
        }
        sessions.forgetEnded();
        return new Preparation(
                ImmutableList.of(), DriverSession.HOST.variables(sockets), HostEnvironment.WITHHELD, true);
    }

    /** Its tasks go on. Two calls and its end share the timeout, none of them takes more than 2 s of it. */
    @Override
    public Answer stop(Instance instance, boolean cleanup, Duration timeout) throws InterruptedException {
        try {
            if (sessions.handshakeLine(instance).isEmpty()) {
                return Answer.NOT_ASKED;
            }
            Duration share = Comparators.min(GRACE, timeout.dividedBy(3));
            sessions.of(instance).shutdown(share);
            ProcessIdentity process = sessions.process(instance);
            for (Duration left = share; process != null && left.isPositive(); left = left.minus(POLL)) {
                if (!procFs.runs(process)) {
                    return Answer.AGREED;
                }
                Thread.sleep(POLL);
            }
            return Answer.REFUSED;
        } catch (Handshake.Refused | IOException e) {
            LOG.debug("[{}] can't be asked to end: {}", instance.workload().brief(), e.getMessage());
            return Answer.NOT_ASKED;
        }
    }

    /** The sockets of what it has started are still in use. */
    @Override
    public void ended(Instance instance) throws IOException {
        sessions.forget(instance.launchId());
        Path sockets;
        try {
            sockets = layout.driverSockets(instance.workload());
        } catch (IllegalStateException e) {
            // The run directory is too long for any, as the launch has said; undoing it must be possible.
            return;
        }
        Path socket = sessions.socket(instance);
        if (socket != null && sockets.equals(socket.getParent()) && Sockets.isSocket(socket)) {
            Files.deleteIfExists(socket);
        }
    }

    private static Path parent(Path file) {
        Path parent = file.getParent();
        if (parent == null) {
            throw new IllegalStateException(file + " is in no directory");
        }
        return parent;
    }
}
