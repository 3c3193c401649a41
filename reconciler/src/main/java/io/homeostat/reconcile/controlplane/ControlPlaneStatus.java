package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.channel.ChannelStatus;

/**
 * How the connection with the control plane is doing.
 *
 * @param queuedEvents not acknowledged yet
 * @param droppedEvents dropped because there were too many
 * @param refusedEvents refused by the control plane
 * @param withheldRefusals refused items of its messages of which no event tells, because there were too many
 */
public record ControlPlaneStatus(
        ChannelStatus channel, long queuedEvents, long droppedEvents, long refusedEvents, long withheldRefusals) {}
