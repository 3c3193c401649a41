package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateStore.ToApply;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** What one source declares, within one transaction. */
final class DeclarationTable {
    private final Connection connection;
    private final String source;
    private final Map<String, Stored> before = new HashMap<>();

    DeclarationTable(Connection connection, SourceName source) throws SQLException {
        this.connection = connection;
        this.source = source.word();
        Database.query(
                connection,
                "SELECT workload, origin, hash, document FROM declaration WHERE source = ?",
                row -> before.put(row.getString(1), new Stored(row.getString(2), row.getString(3), row.getString(4))),
                this.source);
    }

    /** Declares workloads and returns those that changed; an equal declaration keeps its generation, and nothing is written for it. */
    ImmutableSet<WorkloadId> declare(ImmutableCollection<ToApply> documents) throws SQLException {
        ImmutableSet.Builder<WorkloadId> changed = ImmutableSet.builder();
        for (ToApply document : documents) {
            if (declare(document)) {
                changed.add(document.workload().id());
            }
        }
        return changed.build();
    }

    /** Withdraws those of the earlier declarations that are chosen by workload and origin, and returns them. */
    ImmutableSet<WorkloadId> withdraw(BiPredicate<String, String> chosen) throws SQLException {
        ImmutableSet.Builder<WorkloadId> withdrawn = ImmutableSet.builder();
        for (Map.Entry<String, Stored> old : before.entrySet()) {
            if (chosen.test(old.getKey(), old.getValue().origin())) {
                Database.update(
                        connection, "DELETE FROM declaration WHERE source = ? AND workload = ?", source, old.getKey());
                WorkloadId.parse(old.getKey()).ifPresent(withdrawn::add);
            }
        }
        return withdrawn.build();
    }

    private boolean declare(ToApply document) throws SQLException {
        String workload = document.workload().id().toString();
        @Nullable Stored old = before.get(workload);
        Stored now = new Stored(
                document.origin(),
                document.document().hash(),
                document.document().text());
        if (now.equals(old)) {
            return false;
        }
        if (old == null || !now.hash().equals(old.hash())) {
            Database.update(connection, """
                    INSERT INTO generation(source, workload, newest) VALUES (?, ?, 1)
                    ON CONFLICT (source, workload) DO UPDATE SET newest = newest + 1
                    """, source, workload);
        }
        Database.update(connection, """
                INSERT INTO declaration(source, workload, origin, hash, document) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (source, workload) DO UPDATE
                SET origin = excluded.origin, hash = excluded.hash, document = excluded.document
                """, source, workload, now.origin(), now.hash(), now.document());
        return old == null || !now.document().equals(old.document());
    }

    /** A row. The text is compared, too: declaring again repairs a document that was damaged. */
    private record Stored(String origin, String hash, String document) {}
}
