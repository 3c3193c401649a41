package io.homeostat.desired.state;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import java.util.Optional;
import java.util.UUID;

/**
 * The events of plugins that the control plane has yet to acknowledge: a queue in the store, so that an event is queued by the very
 * transaction that stores it, also while no agent runs.
 *
 * <p>When a method returns, its change survives a power cut; if it throws {@link StoreException}, nothing was changed.
 */
public interface Outbox {
    /** Queues what happens from now on. A control plane that is configured later is not told what happened before. */
    void open();

    /**
     * Stops queueing and forgets what is queued, because there is nobody left to tell; returns how many events that were. They do not
     * count as dropped.
     */
    int discard();

    /**
     * The oldest queued events, each plugin's in the order in which they were stored, the oldest of each plugin first. They are fewer than
     * asked for where their names are long, but at least one if there is any.
     *
     * @param perPlugin the most of each plugin, so that one with many does not hide the others
     */
    ImmutableList<Queued> next(int perPlugin, int limit);

    /** How many events are queued. */
    int size();

    /** What happened; empty if it was dropped meanwhile, or can't be read. */
    Optional<Event> event(long id);

    /**
     * A UUID by which an event is recognised when it is sent again, even by another process. It differs for each event and each database,
     * even after a database was restored from a copy.
     */
    UUID messageId(long id, Event event);

    /**
     * Takes events off the queue in one transaction; ids that are not queued any more are ignored.
     *
     * @param refused those that the control plane will never take; they are counted
     * @return how many of the refused ones were queued
     */
    int settle(ImmutableCollection<Long> told, ImmutableCollection<Long> refused);

    /** Sets who is called after events were queued or dropped in this process. Called by whoever stored the event, so it must not block. */
    void listen(Runnable listener);

    /** An event that waits. */
    record Queued(long id, WorkloadId plugin) {}
}
