package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The declarations of a workload that were acted on, and how they fared, within one transaction. Follows its history: whatever changes
 * that need not know of this table.
 */
final class RevisionTable {
    private static final Logger log = LoggerFactory.getLogger(RevisionTable.class);
    private static final int KEPT = 10;

    private final Connection connection;
    private final String workload;
    private final Instant now;
    private final Function<Workload, String> texts;

    /** The newest row. */
    private record Newest(
            int number,
            String hash,
            @Nullable String goodAt,
            @Nullable String failedAt) {}

    /** @param texts prints a workload as it is stored */
    RevisionTable(Connection connection, String workload, Instant now, Function<Workload, String> texts) {
        this.connection = connection;
        this.workload = workload;
        this.now = now;
        this.texts = texts;
    }

    /** Notes what another history tells of the declaration that is tried. */
    void follow(WorkloadHistory history) throws SQLException {
        Newest newest = newest();
        LastKnownGood good = history.lastKnownGood();
        String tried = history.attempts().hash();
        if (newest == null && good != null && !good.hash().equals(tried)) {
            // From before there was this table.
            add(1, good.hash(), "", texts.apply(good.workload()));
            newest = good(new Newest(1, good.hash(), null, null));
        }
        if (!tried.isEmpty() && (newest == null || !newest.hash().equals(tried))) {
            newest = addDeclared(newest == null ? 1 : newest.number() + 1, tried, good, newest);
        }
        if (newest == null) {
            return;
        }
        FailedRevision failed = history.failed();
        if (failed != null && failed.hash().equals(newest.hash())) {
            if (!failed.at().toString().equals(newest.failedAt())) {
                update(newest, "failed_at = ?, error = ?", failed.at().toString(), failed.error());
            }
        } else if (good != null
                && good.hash().equals(newest.hash())
                && (newest.goodAt() == null || newest.failedAt() != null)) {
            good(newest);
        }
    }

    void forget() throws SQLException {
        Database.update(connection, "DELETE FROM revision WHERE workload = ?", workload);
    }

    /** Oldest first; what this program can't read is left out. */
    static ImmutableList<StoredRevision> of(
            Connection connection, String workload, Function<String, Workload> documents) throws SQLException {
        ImmutableList.Builder<StoredRevision> revisions = ImmutableList.builder();
        Database.query(
                connection,
                "SELECT * FROM revision WHERE workload = ? ORDER BY number",
                row -> {
                    try {
                        revisions.add(read(row, documents));
                    } catch (IllegalArgumentException | DateTimeException | NoSuchElementException e) {
                        // Without the message: it may quote the configuration.
                        log.warn(
                                "[{}] a former revision can't be read ({}); it is left out",
                                workload,
                                e.getClass().getSimpleName());
                    }
                },
                workload);
        return revisions.build();
    }

    private static StoredRevision read(ResultSet row, Function<String, Workload> documents) throws SQLException {
        return new StoredRevision(
                row.getInt("number"),
                row.getString("hash"),
                SourceName.ofWord(row.getString("source")),
                documents.apply(row.getString("document")),
                Instant.parse(row.getString("tried_at")),
                Optional.ofNullable(row.getString("good_at")).map(Instant::parse),
                Optional.ofNullable(row.getString("failed_at")).map(Instant::parse),
                Optional.ofNullable(row.getString("error")).orElse(""));
    }

    private @Nullable Newest newest() throws SQLException {
        return Database.list(
                        connection,
                        "SELECT number, hash, good_at, failed_at FROM revision WHERE workload = ? ORDER BY number DESC LIMIT 1",
                        row -> new Newest(row.getInt(1), row.getString(2), row.getString(3), row.getString(4)),
                        workload)
                .stream()
                .findFirst()
                .orElse(null);
    }

    /** The row of a declaration, which may have been replaced by another one meanwhile; then there is nothing to be kept of it. */
    private @Nullable Newest addDeclared(int number, String hash, @Nullable LastKnownGood good, @Nullable Newest before)
            throws SQLException {
        String[] found = Database.list(
                        connection,
                        "SELECT source, document FROM declaration WHERE workload = ? AND hash = ?"
                                + " ORDER BY source <> 'controlPlane', source LIMIT 1",
                        row -> new String[] {row.getString(1), row.getString(2)},
                        workload,
                        hash)
                .stream()
                .findFirst()
                .orElse(null);
        if (found == null) {
            return before;
        }
        add(number, hash, found[0], found[1]);
        // What a failed revision is replaced by may be as old as that.
        Database.update(
                connection,
                "DELETE FROM revision WHERE workload = ? AND number <= ? AND hash <> ?",
                workload,
                number - KEPT,
                good == null ? "" : good.hash());
        return new Newest(number, hash, null, null);
    }

    private void add(int number, String hash, String source, String document) throws SQLException {
        Database.update(
                connection,
                "INSERT INTO revision(workload, number, hash, source, document, tried_at) VALUES (?, ?, ?, ?, ?, ?)",
                workload,
                number,
                hash,
                source,
                document,
                now.toString());
    }

    private Newest good(Newest row) throws SQLException {
        update(row, "good_at = ?, failed_at = ?, error = NULL", now.toString(), null);
        return new Newest(row.number(), row.hash(), now.toString(), null);
    }

    private void update(Newest row, String changes, @Nullable String first, @Nullable String second)
            throws SQLException {
        Database.update(
                connection,
                "UPDATE revision SET " + changes + " WHERE workload = ? AND number = ?",
                first,
                second,
                workload,
                row.number());
    }
}
