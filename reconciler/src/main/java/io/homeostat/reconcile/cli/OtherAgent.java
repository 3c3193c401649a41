package io.homeostat.reconcile.cli;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.reconcile.command.Workspace;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** An agent that listens in the run directory, and has no note in the state directory: it works on another, as after a change of agent.yaml. */
final class OtherAgent {
    private OtherAgent() {}

    /** Warns of it, if there is one. */
    static void tell(Workspace workspace) {
        Layout layout = workspace.layout();
        // While one starts or ends here, it may listen without a note; looked at twice, as it may do so in between.
        if (!isAtWork(layout) && listens(layout.agentSocket()) && !isAtWork(layout)) {
            workspace
                    .console()
                    .say("warning: the agent that listens at " + layout.agentSocket()
                            + " works on another state directory than " + layout.stateDir()
                            + "; --state-dir names that, and a stateDir that was changed in agent.yaml holds for the agent from its"
                            + " next start");
        }
    }

    private static boolean isAtWork(Layout layout) {
        try {
            return StateLock.holder(layout.lock()).isPresent();
        } catch (StoreException e) {
            // Whoever opens the state says what is wrong with it.
            return true;
        }
    }

    private static boolean listens(Path socket) {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.configureBlocking(false);
            return channel.connect(UnixDomainSocketAddress.of(socket));
        } catch (IOException e) {
            // Left by one that was killed, or not for us.
            return false;
        }
    }
}
