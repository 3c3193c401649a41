package io.homeostat.desired.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.DocumentCodec;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Keeps the state in one SQLite database; opened by {@link StateStores}. Each method that changes anything is one transaction. */
public final class SqliteStateStore extends SqliteStateReader implements StateStore {

    SqliteStateStore(Database database) {
        super(database);
    }

    @Override
    public void commit(Change change) {
        boolean nothing = change.history() == null
                && !change.dropHistory()
                && change.handles().isEmpty()
                && change.ended().isEmpty()
                && change.events().isEmpty();
        if (nothing) {
            return;
        }
        String workload = change.workload().toString();
        write("store the state of " + workload + " in", connection -> {
            if (change.dropHistory()) {
                Database.update(connection, "DELETE FROM history WHERE workload = ?", workload);
            } else if (change.history() != null) {
                storeHistory(connection, workload, change.history());
            }
            for (Handle handle : change.handles()) {
                storeHandle(connection, handle);
            }
            for (String launchId : change.ended()) {
                Database.update(
                        connection, "DELETE FROM handle WHERE workload = ? AND launch_id = ?", workload, launchId);
            }
            for (Event event : change.events()) {
                storeEvent(connection, event);
            }
        });
    }

    /** Stores an event that belongs to no workload's change. */
    void record(Event event) {
        write("store an event in", connection -> storeEvent(connection, event));
    }

    @Override
    public ImmutableSet<WorkloadId> apply(
            ImmutableCollection<ToApply> documents, ImmutableSet<String> origins, boolean prune) {
        return database.write("store the applied documents in", connection -> {
            Map<String, Stored> before = stored(connection);
            Set<String> declared = new HashSet<>();
            for (ToApply document : documents) {
                String workload = document.workload().id().toString();
                declared.add(workload);
                declare(connection, document, before.get(workload));
            }
            if (!documents.isEmpty()) {
                rememberThatSomethingWasDeclared(connection);
            }
            ImmutableSet.Builder<WorkloadId> withdrawn = ImmutableSet.builder();
            if (prune) {
                for (Map.Entry<String, Stored> old : before.entrySet()) {
                    if (!declared.contains(old.getKey())
                            && origins.contains(old.getValue().origin())) {
                        withdraw(connection, old.getKey());
                        WorkloadId.parse(old.getKey()).ifPresent(withdrawn::add);
                    }
                }
            }
            return withdrawn.build();
        });
    }

    @Override
    public void delete(ImmutableCollection<WorkloadId> ids) {
        write("delete applied documents from", connection -> {
            for (WorkloadId id : ids) {
                withdraw(connection, id.toString());
            }
        });
    }

    @Override
    public void trimEvents(int keep) {
        write(
                "trim the events in",
                connection -> Database.update(
                        connection,
                        "DELETE FROM event WHERE id <= (SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?)",
                        keep));
    }

    private void write(String tried, Writing writing) {
        database.<Boolean>write(tried, connection -> {
            writing.to(connection);
            return true;
        });
    }

    private void storeHistory(Connection connection, String workload, WorkloadHistory history) throws SQLException {
        // Nothing is written, and nothing waits for the disk, when it is the same as before.
        Database.update(connection, """
                INSERT INTO history(workload, document) VALUES (?, ?)
                ON CONFLICT (workload) DO UPDATE SET document = excluded.document WHERE document <> excluded.document
                """, workload, histories.write(history));
        rememberThatSomethingWasDeclared(connection);
    }

    private void storeHandle(Connection connection, Handle handle) throws SQLException {
        ProcessIdentity identity = handle.identity();
        Database.update(
                connection,
                """
                INSERT OR REPLACE INTO handle(workload, launch_id, target, revision, directory, inputs, launched_at,
                  pid, start_ticks, boot_id, start, config_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                handle.workload().toString(),
                handle.launchId(),
                handle.target(),
                handle.revision(),
                handle.directory(),
                inputs(handle),
                handle.launchedAt().toString(),
                identity == null ? null : identity.pid(),
                identity == null ? null : identity.startTicks(),
                identity == null ? null : identity.bootId(),
                handle.start().name(),
                handle.configHash());
    }

    private String inputs(Handle handle) {
        try {
            return json.writeValueAsString(handle.inputs());
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a map of strings is always JSON", e);
        }
    }

    private static void storeEvent(Connection connection, Event event) throws SQLException {
        Database.update(
                connection,
                "INSERT INTO event(time, workload, revision, type, message) VALUES (?, ?, ?, ?, ?)",
                event.time().toString(),
                event.workload() == null ? null : event.workload().toString(),
                event.revision(),
                event.type().name(),
                event.message());
    }

    private static Map<String, Stored> stored(Connection connection) throws SQLException {
        Map<String, Stored> stored = new HashMap<>();
        Database.query(
                connection,
                "SELECT workload, origin, hash, document FROM applied",
                row -> stored.put(row.getString(1), new Stored(row.getString(2), row.getString(3), row.getString(4))));
        return stored;
    }

    private static void declare(Connection connection, ToApply document, @Nullable Stored before) throws SQLException {
        String workload = document.workload().id().toString();
        Stored now = new Stored(
                document.origin(), DocumentCodec.hash(document.workload()), DocumentCodec.toJson(document.workload()));
        if (now.equals(before)) {
            return;
        }
        if (before == null || !now.hash().equals(before.hash())) {
            Database.update(connection, """
                    INSERT INTO generation(workload, newest) VALUES (?, 1)
                    ON CONFLICT (workload) DO UPDATE SET newest = newest + 1
                    """, workload);
        }
        Database.update(connection, """
                INSERT INTO applied(workload, origin, hash, document) VALUES (?, ?, ?, ?)
                ON CONFLICT (workload) DO UPDATE
                SET origin = excluded.origin, hash = excluded.hash, document = excluded.document
                """, workload, now.origin(), now.hash(), now.document());
    }

    private static void withdraw(Connection connection, String workload) throws SQLException {
        Database.update(connection, "DELETE FROM applied WHERE workload = ?", workload);
    }

    private static void rememberThatSomethingWasDeclared(Connection connection) throws SQLException {
        Database.update(connection, "INSERT OR IGNORE INTO meta(key, value) VALUES ('declared', 'true')");
    }

    /** An applied document's row. The text is compared, too: applying again repairs a document that was damaged. */
    private record Stored(String origin, String hash, String document) {}

    @FunctionalInterface
    private interface Writing {
        void to(Connection connection) throws SQLException;
    }
}
