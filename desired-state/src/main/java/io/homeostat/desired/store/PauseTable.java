package io.homeostat.desired.store;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.NoSuchElementException;
import java.util.Optional;

/** Which workloads are to be left alone, within one transaction. */
final class PauseTable {
    private PauseTable() {}

    static ImmutableList<Pause> all(Connection connection) throws SQLException {
        ImmutableList.Builder<Pause> pauses = ImmutableList.builder();
        Database.query(
                connection,
                "SELECT workload, reason, since FROM pause ORDER BY workload",
                row -> pauses.add(pause(row.getString(1), row.getString(2), row.getString(3))));
        return pauses.build();
    }

    static Optional<Pause> of(Connection connection, WorkloadId id) throws SQLException {
        ImmutableList.Builder<Pause> found = ImmutableList.builder();
        Database.query(
                connection,
                "SELECT workload, reason, since FROM pause WHERE workload = ?",
                row -> found.add(pause(row.getString(1), row.getString(2), row.getString(3))),
                id.toString());
        return found.build().stream().findFirst();
    }

    /** Pauses a workload, or gives its pause another reason; empty when it is paused for this reason already. */
    static Optional<Event> put(Connection connection, WorkloadId id, String reason, Instant now) throws SQLException {
        int changed = Database.update(connection, """
                INSERT INTO pause(workload, reason, since) VALUES (?, ?, ?)
                ON CONFLICT (workload) DO UPDATE SET reason = excluded.reason WHERE reason <> excluded.reason
                """, id.toString(), reason, now.toString());
        return changed == 0
                ? Optional.empty()
                : Optional.of(new Event(now, id, "", EventType.AGENT_PAUSED, "paused: " + reason));
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
                (reason.isEmpty() ? "resumed" : "resumed: " + reason) + "; it was paused since " + was.since() + ": "
                        + was.reason()));
    }

    private static Pause pause(String workload, String reason, String since) {
        try {
            return new Pause(WorkloadId.parse(workload).orElseThrow(), reason, Instant.parse(since));
        } catch (NoSuchElementException | DateTimeException e) {
            // Never skipped: a workload whose pause is overlooked would be acted on.
            throw new StoreException(
                    "cannot read the pause of '" + workload + "' from the database: its row is not valid (" + e
                            + "). Move the database away and pause it again",
                    e);
        }
    }
}
