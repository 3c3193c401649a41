package io.homeostat.reconcile.agent;

import io.homeostat.observe.process.UnixDatagram;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the service manager how far we are, see sd_notify(3); says nothing when there is none. A message that can't be sent is a warning,
 * nothing more.
 */
public final class SystemdNotifier {
    private static final Logger LOG = LoggerFactory.getLogger(SystemdNotifier.class);

    /** Where it listens: a path, or '@' and an abstract name. */
    public static final String VARIABLE = "NOTIFY_SOCKET";

    private final String socket;

    /** @param socket the variable's value; empty: nobody listens */
    public SystemdNotifier(String socket) {
        this.socket = socket;
    }

    /** What has to be up at boot is up, or has failed. */
    public void ready() {
        say("READY=1");
    }

    /** We are about to end. */
    public void stopping() {
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
