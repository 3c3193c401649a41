package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.Outbox;
import io.homeostat.desired.state.StoredEvent;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;

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
    public ImmutableList<Queued> next(int perPlugin, int limit) {
        return database.read(
                "read the queued events from", connection -> OutboxTable.next(connection, perPlugin, limit));
    }

    @Override
    public Optional<Event> event(long id) {
        return database.read("read a queued event from", connection -> EventTable.after(connection, id - 1, 1)).stream()
                .filter(event -> event.id() == id)
                .map(StoredEvent::event)
                .findFirst();
    }

    @Override
    public UUID messageId(long id, Event event) {
        long seed = database.read("read the random seed from", Schema::seed);
        String words = seed + " " + id + " " + event.time() + " " + event.workload() + " " + event.type();
        return UUID.nameUUIDFromBytes(words.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public int settle(ImmutableCollection<Long> told, ImmutableCollection<Long> refused) {
        return change(
                "take delivered events off the queue in", connection -> OutboxTable.settle(connection, told, refused));
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
