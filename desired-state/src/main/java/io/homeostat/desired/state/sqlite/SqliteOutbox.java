package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Outbox;
import io.homeostat.desired.state.StateReader.EventQueue;
import io.homeostat.desired.state.StateReader.StoredEvent;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;
import java.util.UUID;

/** The queue as a table of rows that name events. What takes a connection belongs to the caller's transaction. */
final class SqliteOutbox implements Outbox {
    private static final String OPEN = "outbox";
    private static final String DROPPED = "eventsDropped";
    private static final String REFUSED = "eventsRefused";
    private static final String WITHHELD = "refusalsWithheld";

    private final Database database;
    private volatile Runnable listener = () -> {};

    SqliteOutbox(Database database) {
        this.database = database;
    }

    @Override
    public void open() {
        change("begin to queue events in", connection -> {
            open(connection);
            return 0;
        });
    }

    @Override
    public int discard() {
        return change("forget the queued events in", SqliteOutbox::discard);
    }

    @Override
    public ImmutableList<Queued> next(int perPlugin, int limit) {
        return database.read("read the queued events from", connection -> next(connection, perPlugin, limit));
    }

    @Override
    public int size() {
        return database.read("count the queued events in", SqliteOutbox::size);
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
        return change("take delivered events off the queue in", connection -> settle(connection, told, refused));
    }

    @Override
    public void listen(Runnable next) {
        listener = next;
    }

    /** Called after the transaction that stored them. */
    void stored(ImmutableList<Event> events) {
        if (events.stream().anyMatch(SqliteOutbox::concerns)) {
            listener.run();
        }
    }

    /** Called after the transaction that dropped some. */
    void dropped() {
        listener.run();
    }

    private int change(String tried, Database.Reading<Integer> change) {
        return database.write(tried, change);
    }

    /** Whether a control plane has a word for it. */
    static boolean concerns(Event event) {
        WorkloadId workload = event.workload();
        return workload != null && workload.kind().isReported() && event.type().isPluginEvent();
    }

    /** Queues the event that was stored last, if there is a queue. */
    static void add(Connection connection, Event event) throws SQLException {
        if (concerns(event)) {
            Database.update(connection, """
                    INSERT INTO outbox(event, workload)
                    SELECT last_insert_rowid(), ? WHERE EXISTS (SELECT 1 FROM meta WHERE key = ?)
                    """, String.valueOf(event.workload()), OPEN);
        }
    }

    private static void open(Connection connection) throws SQLException {
        Database.update(connection, "INSERT OR IGNORE INTO meta(key, value) VALUES (?, 'open')", OPEN);
    }

    private static int discard(Connection connection) throws SQLException {
        Database.update(connection, "DELETE FROM meta WHERE key = ?", OPEN);
        return Database.update(connection, "DELETE FROM outbox");
    }

    private static ImmutableList<Queued> next(Connection connection, int perPlugin, int limit) throws SQLException {
        ImmutableList.Builder<Queued> page = ImmutableList.builder();
        PageContent content = new PageContent();
        Database.page(
                connection,
                """
                SELECT event, workload
                FROM (SELECT event, workload, row_number() OVER (PARTITION BY workload ORDER BY event) AS place FROM outbox)
                WHERE place <= ? ORDER BY place, event LIMIT ?
                """,
                row -> {
                    page.add(new Queued(row.getLong(1), content.workload(row.getString(2))));
                    return !content.isFull();
                },
                perPlugin,
                limit);
        return page.build();
    }

    private static int settle(Connection connection, ImmutableCollection<Long> told, ImmutableCollection<Long> refused)
            throws SQLException {
        remove(connection, told);
        int removed = remove(connection, refused);
        count(connection, REFUSED, removed);
        return removed;
    }

    private static int remove(Connection connection, ImmutableCollection<Long> ids) throws SQLException {
        int removed = 0;
        for (Long id : ids) {
            removed += Database.update(connection, "DELETE FROM outbox WHERE event = ?", id);
        }
        return removed;
    }

    /** Drops the queued events that are stored no more; returns how many there were. */
    static int drop(Connection connection) throws SQLException {
        int dropped = Database.update(connection, "DELETE FROM outbox WHERE event NOT IN (SELECT id FROM event)");
        count(connection, DROPPED, dropped);
        return dropped;
    }

    private static int size(Connection connection) throws SQLException {
        return Sqlite.integer(connection, "SELECT count(*) FROM outbox");
    }

    static EventQueue state(Connection connection) throws SQLException {
        return new EventQueue(
                Sqlite.integer(connection, "SELECT EXISTS (SELECT 1 FROM meta WHERE key = '" + OPEN + "')") == 1,
                size(connection),
                counted(connection, DROPPED),
                counted(connection, REFUSED),
                counted(connection, WITHHELD));
    }

    /** Counts refused items that no event tells of. */
    static void withhold(Connection connection, int refusals) throws SQLException {
        count(connection, WITHHELD, refusals);
    }

    static Event droppedEvent(Connection connection, int dropped, int kept, long bytes, Instant now)
            throws SQLException {
        return new Event(
                now,
                null,
                "",
                EventType.AGENT_EVENTS_DROPPED,
                dropped
                        + " events of plugins were dropped before the control plane had acknowledged them: they were the"
                        + " oldest of more than " + kept + " events (limits.events), or of more than " + (bytes >> 20)
                        + " MiB of events; " + counted(connection, DROPPED) + " altogether");
    }

    private static void count(Connection connection, String key, int more) throws SQLException {
        if (more > 0) {
            Database.update(connection, """
                    INSERT INTO meta(key, value) VALUES (?, ?)
                    ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + ? AS TEXT)
                    """, key, Integer.toString(more), more);
        }
    }

    private static long counted(Connection connection, String key) throws SQLException {
        String text = Sqlite.text(connection, "SELECT value FROM meta WHERE key = '" + key + "'");
        return text.isEmpty() ? 0 : Long.parseLong(text);
    }
}
