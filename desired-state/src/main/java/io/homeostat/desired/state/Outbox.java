package io.homeostat.desired.state;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import java.util.Optional;
import java.util.UUID;

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
     * The oldest queued events, each plugin's in the order in which they were stored.
     *
     * @param perPlugin at most so many of each plugin, its oldest, so that one with many does not hide the others
     * @param limit at most so many altogether; the oldest of each plugin come before the second oldest of any
     */
    ImmutableList<Queued> next(int perPlugin, int limit);

    /** What happened; empty when it was dropped meanwhile, or can't be read. */
    Optional<Event> event(long id);

    /**
     * A UUID by which an event can be recognised when it is told again, also by another process: made of what is stored of it. Of no
     * two events the same, nor of two databases; nor of two states of one database that was set back to an older copy.
     */
    UUID messageId(long id, Event event);

    /**
     * Takes events off the queue, all in one transaction; those that are not queued any more are ignored.
     *
     * @param told the control plane acknowledged them
     * @param refused nothing will make it take them; they are counted
     * @return how many of the refused ones were queued
     */
    int settle(ImmutableCollection<Long> told, ImmutableCollection<Long> refused);

    /**
     * Has somebody called after anything was queued or dropped in this process; he replaces whom an earlier call named. He is called
     * by whoever stored the event, so he must not wait for anything.
     */
    void listen(Runnable listener);

    /** An event that waits. */
    record Queued(long id, WorkloadId plugin) {}
}
