package io.homeostat.reconcile.agent;

import io.homeostat.reconcile.loop.PassSubscriber;

/** Whoever wants to know how a change of what is declared is carried out. */
@FunctionalInterface
public interface Follower {
    /** Called before the first pass that goes by the change. */
    PassSubscriber follow(Scope scope) throws InterruptedException;
}
