package io.homeostat.reconcile.sim;

import io.homeostat.desired.store.Change;

/** A store that outlives the simulated agent, which may die before or after a commit, but not in the middle of one. */
final class FakeStore extends MemoryStore {
    private final Chaos chaos;

    FakeStore(Chaos chaos) {
        this.chaos = chaos;
    }

    @Override
    public synchronized void commit(Change change) {
        chaos.crashPoint("before a commit");
        super.commit(change);
        chaos.crashPoint("after a commit");
    }
}
