package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.StoredEvent;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What happened, within one transaction. */
final class EventTable {
    private static final Logger log = LoggerFactory.getLogger(EventTable.class);

    /** What {@link Event#bytes} of a row says. */
    private static final String BYTES =
            "coalesce(octet_length(workload), 0) + octet_length(revision) + octet_length(message)";

    /** How long whoever stores an event may have waited for the database since it took the time; what is earlier is by another clock. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

    private EventTable() {}

    /** Stores an event, and queues it if the control plane is to be told. It is not earlier than what was stored before it. */
    static void add(Connection connection, Event noted) throws SQLException {
        Event event = newest(connection)
                .filter(newest -> noted.time().isBefore(newest)
                        && noted.time().plus(LONGEST_WAIT).isAfter(newest))
                .map(noted::withTime)
                .orElse(noted);
        Database.update(
                connection,
                "INSERT INTO event(time, workload, revision, type, message) VALUES (?, ?, ?, ?, ?)",
                event.time().toString(),
                event.workload() == null ? null : event.workload().toString(),
                event.revision(),
                event.type().name(),
                event.message());
        SqliteOutbox.add(connection, event);
    }

    private static Optional<Instant> newest(Connection connection) throws SQLException {
        return Database.list(connection, "SELECT time FROM event ORDER BY id DESC LIMIT 1", row -> row.getString(1))
                .stream()
                .flatMap(EventTable::time)
                .findFirst();
    }

    private static Stream<Instant> time(String text) {
        try {
            return Stream.of(Instant.parse(text));
        } catch (DateTimeException e) {
            // Whoever reads the events is told.
            return Stream.empty();
        }
    }

    static ImmutableList<StoredEvent> after(Connection connection, long id, int limit) throws SQLException {
        ImmutableList.Builder<StoredEvent> events = ImmutableList.builder();
        PageContent content = new PageContent();
        Database.page(
                connection,
                "SELECT id, time, workload, revision, type, message FROM event WHERE id > ? ORDER BY id LIMIT ?",
                row -> {
                    Optional<StoredEvent> event = read(row, content);
                    event.ifPresent(events::add);
                    // Not at one that is left out: a page without events would be taken for the end.
                    return event.isEmpty() || !content.isFull();
                },
                id,
                limit);
        return events.build();
    }

    /**
     * Deletes the oldest events, those that wait for the control plane last, so that nothing frequent can push these out. The newest
     * event about dropped ones stays.
     *
     * @param keep how many are kept, as far as they are no longer than {@code bytes} together
     * @return how many the control plane had yet to be told; one of the kept events then says so
     */
    static int trim(Connection connection, int keep, long bytes, Instant now) throws SQLException {
        int dropped = keepOnly(connection, keep, bytes);
        if (dropped == 0) {
            return 0;
        }
        // The new event takes the place of the one before it, or of one more event that would have been told.
        if (Database.update(connection, "DELETE FROM event WHERE type = ?", EventType.AGENT_EVENTS_DROPPED.name())
                == 0) {
            dropped += keepOnly(connection, keep - 1, bytes);
        }
        add(connection, SqliteOutbox.droppedEvent(connection, dropped, keep, bytes, now));
        return dropped;
    }

    /** Returns how many were queued of those that it deletes. */
    private static int keepOnly(Connection connection, int number, long bytes) throws SQLException {
        // Mostly nothing is too much, which is told in one look at the table instead of by sorting it.
        boolean tooMuch = Database.list(
                        connection,
                        "SELECT count(*) > ? OR coalesce(sum(" + BYTES + "), 0) > ? FROM event",
                        row -> row.getBoolean(1),
                        number,
                        bytes)
                .getFirst();
        if (!tooMuch) {
            return 0;
        }
        int deleted =
                Database.update(connection, """
                DELETE FROM event WHERE id IN (
                  SELECT id
                  FROM (SELECT id, row_number() OVER last_to_go AS place, sum(bytes) OVER last_to_go AS kept
                        FROM (SELECT id,
                                id IS (SELECT max(id) FROM event WHERE type = ?) AS tells,
                                id IN (SELECT event FROM outbox) AS queued,
                                %s AS bytes
                              FROM event)
                        WINDOW last_to_go AS (ORDER BY tells DESC, queued DESC, id DESC))
                  WHERE place > ? OR kept > ?)
                """.formatted(BYTES), EventType.AGENT_EVENTS_DROPPED.name(), number, bytes);
        return deleted == 0 ? 0 : SqliteOutbox.drop(connection);
    }

    private static Optional<StoredEvent> read(ResultSet row, PageContent content) throws SQLException {
        long id = row.getLong("id");
        try {
            String workload = row.getString("workload");
            Event event = new Event(
                    Instant.parse(row.getString("time")),
                    workload == null ? null : content.workload(workload),
                    content.revision(row.getString("revision")),
                    EventType.valueOf(row.getString("type")),
                    content.text(row.getString("message")));
            return Optional.of(new StoredEvent(id, event));
        } catch (IllegalArgumentException | DateTimeException e) {
            log.warn("event {} can't be read and is left out: {}", id, e.getMessage());
            return Optional.empty();
        }
    }
}
