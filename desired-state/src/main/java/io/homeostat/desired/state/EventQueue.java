package io.homeostat.desired.state;

/**
 * How many events wait for the control plane, and how many it will never hear of.
 *
 * @param open whether events are queued, because a control plane is configured
 * @param queued events that it has not acknowledged
 * @param dropped events that were the oldest when there were too many ({@code limits.events}); since the queue was first opened
 * @param refused events that it would not take; since the queue was first opened
 * @param withheld refused items of its messages of which no event tells, because there were too many
 */
public record EventQueue(boolean open, long queued, long dropped, long refused, long withheld) {
    /** Of a machine that never had a control plane. */
    public static final EventQueue NONE = new EventQueue(false, 0, 0, 0, 0);
}
