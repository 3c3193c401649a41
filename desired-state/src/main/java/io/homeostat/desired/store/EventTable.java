package io.homeostat.desired.store;

import com.google.common.collect.ImmutableList;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What happened, within one transaction. */
final class EventTable {
    private static final Logger log = LoggerFactory.getLogger(EventTable.class);

    private EventTable() {}

    /** Stores an event, and queues it if the control plane is to be told. */
    static void add(Connection connection, Event event) throws SQLException {
        Database.update(
                connection,
                "INSERT INTO event(time, workload, revision, type, message) VALUES (?, ?, ?, ?, ?)",
                event.time().toString(),
                event.workload() == null ? null : event.workload().toString(),
                event.revision(),
                event.type().name(),
                event.message());
        OutboxTable.add(connection, event);
    }

    static ImmutableList<StoredEvent> after(Connection connection, long id, int limit) throws SQLException {
        ImmutableList.Builder<StoredEvent> events = ImmutableList.builder();
        Database.query(
                connection,
                "SELECT id, time, workload, revision, type, message FROM event WHERE id > ? ORDER BY id LIMIT ?",
                row -> read(row).ifPresent(events::add),
                id,
                limit);
        return events.build();
    }

    /**
     * Deletes all but the newest.
     *
     * @return how many of the deleted ones the control plane had yet to be told; an event that says so is among the kept ones then
     */
    static int trim(Connection connection, int keep, Instant now) throws SQLException {
        long last = lastBut(connection, keep);
        if (!OutboxTable.holdsAnyUpTo(connection, last)) {
            delete(connection, last);
            return 0;
        }
        // Room for the event that tells it: without, it would push out the next one at the next time, for ever.
        long lastWithRoom = lastBut(connection, Math.max(0, keep - 1));
        int dropped = OutboxTable.drop(connection, lastWithRoom);
        delete(connection, lastWithRoom);
        add(connection, OutboxTable.droppedEvent(connection, dropped, keep, now));
        return dropped;
    }

    private static long lastBut(Connection connection, int keep) throws SQLException {
        long[] last = {0};
        Database.query(
                connection,
                "SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?",
                row -> last[0] = row.getLong(1),
                keep);
        return last[0];
    }

    private static void delete(Connection connection, long last) throws SQLException {
        Database.update(connection, "DELETE FROM event WHERE id <= ?", last);
    }

    private static Optional<StoredEvent> read(ResultSet row) throws SQLException {
        long id = row.getLong("id");
        try {
            String workload = row.getString("workload");
            Event event = new Event(
                    Instant.parse(row.getString("time")),
                    workload == null ? null : SqliteStateReader.workload(workload),
                    row.getString("revision"),
                    EventType.valueOf(row.getString("type")),
                    row.getString("message"));
            return Optional.of(new StoredEvent(id, event));
        } catch (IllegalArgumentException | DateTimeException e) {
            log.warn("event {} can't be read and is left out: {}", id, e.getMessage());
            return Optional.empty();
        }
    }
}
