package io.homeostat.reconcile.agent;

import io.homeostat.observe.process.UnixDatagram;
import java.io.IOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the service manager how far we are, see sd_notify(3); says nothing when there is none. A message that can't be sent is a
 * warning, nothing more.
 */
final class SystemdNotifier {
    private static final Logger LOG = LoggerFactory.getLogger(SystemdNotifier.class);

    private final String socket;
    private final Optional<Duration> watchdog;

    /**
     * @param variables of the environment by name, empty for what is not there: NOTIFY_SOCKET is where it listens, a path, or '@' and
     *     an abstract name; WATCHDOG_USEC and WATCHDOG_PID see sd_watchdog_enabled(3)
     */
    SystemdNotifier(UnaryOperator<String> variables, long pid) {
        this.socket = variables.apply("NOTIFY_SOCKET");
        String forWhom = variables.apply("WATCHDOG_PID");
        this.watchdog = socket.isEmpty() || !(forWhom.isEmpty() || forWhom.equals(Long.toString(pid)))
                ? Optional.empty()
                : interval(variables.apply("WATCHDOG_USEC"));
    }

    /** Half of what is waited at most, as its manual advises. */
    private static Optional<Duration> interval(String micros) {
        if (micros.isEmpty()) {
            return Optional.empty();
        }
        try {
            long most = Long.parseLong(micros);
            return most <= 0
                    ? Optional.empty()
                    : Optional.of(Duration.of(most, ChronoUnit.MICROS).dividedBy(2));
        } catch (NumberFormatException e) {
            LOG.warn("WATCHDOG_USEC={} is no number; the service manager is not told that the agent lives", micros);
            return Optional.empty();
        }
    }

    /** How often it wants to hear that we are {@link #alive}; empty: it does not ask. */
    Optional<Duration> watchdog() {
        return watchdog;
    }

    /** What has to be up at boot is up, or has failed. */
    void ready() {
        say("READY=1");
    }

    void alive() {
        if (watchdog.isPresent()) {
            say("WATCHDOG=1");
        }
    }

    void stopping() {
        say("STOPPING=1");
    }

    private void say(String state) {
        if (socket.isEmpty()) {
            return;
        }
        try {
            UnixDatagram.send(socket, state);
        } catch (IOException e) {
            LOG.warn("could not tell {} to the service manager: {}", state, e.getMessage());
        }
    }
}
