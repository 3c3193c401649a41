package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.channel.Channel;
import io.homeostat.desired.model.AgentConfig;

/** Connects to control planes. */
@FunctionalInterface
public interface Connector {
    /** Begins to connect, and returns at once: that nobody answers is no failure, it is the channel's state. */
    Channel open(AgentConfig.ControlPlane endpoint, Channel.Inbox inbox);
}
