package io.homeostat.reconcile.controlplane;

/** Tells a control plane, through one channel, what the store has queued for it; until it is closed. */
public interface Delivery extends AutoCloseable {
    /** What was not acknowledged stays queued. */
    @Override
    void close();
}
