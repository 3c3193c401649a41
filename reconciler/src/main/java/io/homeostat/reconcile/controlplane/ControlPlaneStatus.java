package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.channel.ChannelStatus;

/**
 * How the agent and its control plane get on.
 *
 * @param queuedEvents that the control plane has not acknowledged
 * @param droppedEvents that it will never hear of, because there were too many
 * @param refusedEvents that it would not take
 * @param withheldRefusals refused items of its messages of which no event tells, because there were too many
 */
public record ControlPlaneStatus(
        ChannelStatus channel, long queuedEvents, long droppedEvents, long refusedEvents, long withheldRefusals) {}
