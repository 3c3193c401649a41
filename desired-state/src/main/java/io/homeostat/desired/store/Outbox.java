package io.homeostat.desired.store;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;

/**
 * The events of plugins that the control plane has yet to be told: a queue in the store, so that an event is queued by the transaction
 * that stores it and by no other. What is stored while no agent runs is queued, too.
 *
 * <p>When a method returns, what it changed survives a power cut; when it throws {@link StoreException}, nothing was changed.
 */
public interface Outbox {
    /** Queues what happens from now on. What happened before is history: a control plane that comes later did not ask for it. */
    void open();

    /**
     * Queues nothing any more and forgets what is queued, because there is nobody left to be told.
     *
     * @return how many events were forgotten; they don't count as dropped
     */
    int discard();

    /**
     * The oldest queued events, in the order in which they were stored.
     *
     * @param perPlugin at most so many of each plugin, its oldest, so that one with many does not hide the others
     * @param limit at most so many altogether; the oldest of each plugin come before the second oldest of any
     */
    ImmutableList<StoredEvent> next(int perPlugin, int limit);

    /**
     * Takes events off the queue, all in one transaction.
     *
     * @param ids of events that the control plane acknowledged; those that are not queued any more are ignored
     * @param refused so many of them it would not take
     */
    void settle(ImmutableCollection<Long> ids, int refused);

    /**
     * Has somebody called after anything was queued or dropped in this process; he replaces whom an earlier call named. He is called
     * by whoever stored the event, so he must not wait for anything.
     */
    void listen(Runnable listener);
}
