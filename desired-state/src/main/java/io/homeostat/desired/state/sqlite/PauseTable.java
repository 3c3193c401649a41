package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StoreException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.NoSuchElementException;
import java.util.Optional;

/** Which workloads are to be left alone, within one transaction. */
final class PauseTable {
    private PauseTable() {}

    static ImmutableList<Pause> all(Connection connection) throws SQLException {
        return Database.list(
                connection, "SELECT workload, reason, since, stopped FROM pause ORDER BY workload", PauseTable::read);
    }

    static Optional<Pause> of(Connection connection, WorkloadId id) throws SQLException {
        return Database.list(
                        connection,
                        "SELECT workload, reason, since, stopped FROM pause WHERE workload = ?",
                        PauseTable::read,
                        id.toString())
                .stream()
                .findFirst();
    }

    /** Stores a wish, which takes the place of the one before; empty when it is the same. */
    static Optional<Event> put(Connection connection, WorkloadId id, String reason, boolean stopped, Instant now)
            throws SQLException {
        int changed = Database.update(connection, """
                INSERT INTO pause(workload, reason, since, stopped) VALUES (?, ?, ?, ?)
                ON CONFLICT (workload) DO UPDATE
                SET reason = excluded.reason,
                  since = CASE WHEN stopped = excluded.stopped THEN since ELSE excluded.since END,
                  stopped = excluded.stopped
                WHERE reason <> excluded.reason OR stopped <> excluded.stopped
                """, id.toString(), reason, now.toString(), stopped ? 1 : 0);
        String what = stopped ? "to be stopped" : "paused";
        return changed == 0
                ? Optional.empty()
                : Optional.of(
                        new Event(now, id, "", EventType.AGENT_PAUSED, reason.isEmpty() ? what : what + ": " + reason));
    }

    /** Empty when it was not paused. */
    static Optional<Event> remove(Connection connection, WorkloadId id, String reason, Instant now)
            throws SQLException {
        Optional<Pause> pause = of(connection, id);
        if (pause.isPresent()) {
            Database.update(connection, "DELETE FROM pause WHERE workload = ?", id.toString());
        }
        return pause.map(was -> new Event(
                now,
                id,
                "",
                EventType.AGENT_RESUMED,
                (reason.isEmpty() ? "resumed" : "resumed: " + reason) + "; it was "
                        + (was.stopped() ? "stopped" : "paused") + " since " + was.since()
                        + (was.reason().isEmpty() ? "" : ": " + was.reason())));
    }

    private static Pause read(ResultSet row) throws SQLException {
        String workload = row.getString(1);
        try {
            return new Pause(
                    WorkloadId.parse(workload).orElseThrow(),
                    row.getString(2),
                    Instant.parse(row.getString(3)),
                    row.getBoolean(4));
        } catch (NoSuchElementException | DateTimeException e) {
            // Never skipped: a workload whose pause is overlooked would be acted on.
            throw new StoreException(
                    "cannot read the pause of '" + workload + "' from the database: its row is not valid (" + e
                            + "). Move the database away and pause it again",
                    e);
        }
    }
}
