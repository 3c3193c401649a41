package io.homeostat.reconcile.agent;

import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.command.CommandFailure;
import io.homeostat.reconcile.command.Enforcer;
import io.homeostat.reconcile.command.Environment;
import io.homeostat.reconcile.command.UserDirectories;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the agent within reach of other commands: when its socket or its announcement is deleted, it makes them anew. */
public final class Reachable implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Reachable.class);

    private final Environment environment;
    private final Layout layout;
    private final Enforcer enforcer;
    private @Nullable AgentServer server;

    /** @throws CommandFailure when it can't listen */
    public Reachable(Environment environment, Layout layout, Enforcer enforcer) {
        this.environment = environment;
        this.layout = layout;
        this.enforcer = enforcer;
        this.server = AgentServer.open(environment, layout, enforcer);
    }

    /** Looks, and makes anew what is not there. What can't be made is said, and tried again the next time. */
    public void ensure() {
        if (server != null
                && Files.exists(layout.agentSocket(), LinkOption.NOFOLLOW_LINKS)
                && Files.exists(layout.agentFile(), LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        LOG.warn("{} or {} is gone; the agent listens again", layout.agentSocket(), layout.agentFile());
        close();
        try {
            new UserDirectories(environment).createRunDirectory(layout.runDir());
            server = AgentServer.open(environment, layout, enforcer);
        } catch (RuntimeException e) {
            // The workloads are enforced all the same, which is what the agent is for.
            LOG.error("other commands can't reach the agent: {}", e.getMessage());
        }
    }

    @Override
    public void close() {
        if (server != null) {
            server.close();
            server = null;
        }
    }
}
