package io.homeostat.desired.store;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;

/** The queue as rows that name events. */
final class SqliteOutbox implements Outbox {
    private final Database database;
    private volatile Runnable listener = () -> {};

    SqliteOutbox(Database database) {
        this.database = database;
    }

    @Override
    public void open() {
        change("begin to queue events in", connection -> {
            OutboxTable.open(connection);
            return 0;
        });
    }

    @Override
    public int discard() {
        return change("forget the queued events in", OutboxTable::discard);
    }

    @Override
    public ImmutableList<StoredEvent> next(int perPlugin, int limit) {
        ImmutableList.Builder<Long> unreadable = ImmutableList.builder();
        ImmutableList<StoredEvent> events = database.read(
                "read the queued events from",
                connection -> EventTable.queued(connection, perPlugin, limit, unreadable));
        ImmutableList<Long> never = unreadable.build();
        if (!never.isEmpty()) {
            // They would be in the way of those behind them for ever.
            settle(never, never.size());
        }
        return events;
    }

    @Override
    public void settle(ImmutableCollection<Long> ids, int refused) {
        change("take delivered events off the queue in", connection -> {
            OutboxTable.settle(connection, ids, refused);
            return 0;
        });
    }

    @Override
    public void listen(Runnable next) {
        listener = next;
    }

    /** These were stored by a transaction that is over. */
    void stored(ImmutableList<Event> events) {
        if (events.stream().anyMatch(OutboxTable::concerns)) {
            listener.run();
        }
    }

    /** Some were dropped by a transaction that is over. */
    void dropped() {
        listener.run();
    }

    private int change(String tried, Database.Reading<Integer> change) {
        return database.write(tried, change);
    }
}
