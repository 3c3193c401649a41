package io.homeostat.desired.state.sqlite;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
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
    /** Oldest first, with what was written since they were read. */
    private final List<Row> rows;

    /** A row, without what is declared in it. */
    private record Row(
            int number,
            String hash,
            @Nullable Integer backTo,
            Instant triedAt,
            @Nullable String launchedAt,
            @Nullable String goodAt,
            @Nullable String failedAt,
            @Nullable String error) {
        /** Number of the row in which it was first tried. */
        int first() {
            return backTo == null ? number : backTo;
        }

        /** Whether it ran, so that the one before it did no longer. */
        boolean tookPlace() {
            return tookPlaceAt() != null;
        }

        @Nullable
        String tookPlaceAt() {
            return launchedAt != null ? launchedAt : goodAt != null ? goodAt : failedAt;
        }

        Row launched(Instant at) {
            return new Row(number, hash, backTo, triedAt, at.toString(), goodAt, failedAt, error);
        }

        /** It works, so what it failed with before does not matter. */
        Row good(Instant at) {
            return new Row(number, hash, backTo, triedAt, launchedAt, at.toString(), failedAt, null);
        }

        Row withError(String words) {
            return new Row(number, hash, backTo, triedAt, launchedAt, goodAt, failedAt, words);
        }

        Row failed(String at, String words) {
            return new Row(number, hash, backTo, triedAt, launchedAt, goodAt, at, words);
        }
    }

    /** @param texts prints a workload as it is stored */
    RevisionTable(Connection connection, String workload, Instant now, Function<Workload, String> texts)
            throws SQLException {
        this.connection = connection;
        this.workload = workload;
        this.now = now;
        this.texts = texts;
        this.rows = new ArrayList<>(rows());
    }

    /** Notes what another history tells of the declaration that is tried, and of what stands in for it. */
    void follow(WorkloadHistory history) throws SQLException {
        LastKnownGood good = history.lastKnownGood();
        String tried = history.attempts().hash();
        FailedRevision undone = good == null ? null : history.undone(tried).orElse(null);
        if (rows.isEmpty() && good != null && !good.hash().equals(tried)) {
            // From before there was this table.
            add(good.hash(), null, "", texts.apply(good.workload()), now);
            change(rows.getLast().good(now));
        }
        if (isDeclaredAnew(tried)) {
            addDeclared(tried, null);
        }
        if (rows.isEmpty() || tried.isEmpty()) {
            return;
        }
        String wanted = undone == null ? tried : Objects.requireNonNull(good).hash();
        boolean ofDeclared = undone != null
                && undone.revision().equals(history.attempts().reported().revision());
        if (undone != null) {
            noteUndone(tried, wanted, undone, ofDeclared);
        }
        if (rowOf(wanted).isEmpty()) {
            goBack(wanted, undone, good);
        }
        Row row = rowOf(wanted).orElse(null);
        if (row != null && row.goodAt() == null) {
            Instant goodAt = undone != null
                    ? undone.replacedAt()
                    : good != null && good.hash().equals(wanted) ? now : null;
            if (goodAt != null) {
                change(row.good(goodAt));
            } else if (row.failedAt() == null && !history.problem().equals(Strings.nullToEmpty(row.error()))) {
                change(row.withError(history.problem()));
            }
        }
        if (undone != null) {
            noteReplaced(wanted, undone);
        }
        prune(good);
    }

    /** Notes that an instance was launched. */
    void launched(Instance instance) throws SQLException {
        Row row = newest(instance.target());
        if (row != null
                && row.launchedAt() == null
                && row.goodAt() == null
                && !instance.launchedAt().isBefore(row.triedAt())) {
            change(row.launched(instance.launchedAt()));
        }
    }

    private @Nullable Row newest(String hash) {
        return rows.reversed().stream()
                .filter(row -> row.hash().equals(hash))
                .findFirst()
                .orElse(null);
    }

    /** The newest one, if it is of that declaration, or else the one that nothing has taken the place of. */
    private Optional<Row> rowOf(String hash) {
        return rows.reversed().stream()
                .findFirst()
                .filter(row -> row.hash().equals(hash))
                .or(() -> rows.reversed().stream()
                        .filter(Row::tookPlace)
                        .findFirst()
                        .filter(row -> row.hash().equals(hash) && row.goodAt() != null && row.failedAt() == null));
    }

    /** Whether another one was declared since there was a row of it, and it does not run in the place of that. */
    private boolean isDeclaredAnew(String tried) {
        if (tried.isEmpty() || rowOf(tried).isPresent()) {
            return false;
        }
        Row known = newest(tried);
        int declaredLast = rows.reversed().stream()
                .filter(row -> row.backTo() == null)
                .map(Row::number)
                .findFirst()
                .orElse(0);
        return known == null || known.number() < declaredLast;
    }

    /** Notes how and why a declaration, or what stood in for it, was undone before it worked. */
    private void noteUndone(String tried, String wanted, FailedRevision undone, boolean ofDeclared)
            throws SQLException {
        Row declared = newest(tried);
        if (!undone.byRequest()
                && declared != null
                && declared.failedAt() != null
                && !undone.error().equals(declared.error())) {
            // What was undone is tried again from time to time; the last failure tells most.
            change(declared.withError(undone.error()));
            return;
        }
        Row ended = declared != null && declared.failedAt() == null
                ? declared
                : rows.reversed().stream().filter(Row::tookPlace).findFirst().orElse(null);
        // What worked may go on until the other one is here.
        if (ended == null
                || ended.failedAt() != null
                || ended.goodAt() != null
                || ended.hash().equals(wanted)) {
            return;
        }
        if (!undone.byRequest() || ended.launchedAt() != null) {
            change(ended.failed(undone.at().toString(), undone.error()));
        } else if (ofDeclared && !undone.error().equals(ended.error())) {
            // Else it undoes what stood in for this one.
            change(ended.withError(undone.error()));
        }
    }

    /** What worked and was undone has ended when what stands in for it was launched. */
    private void noteReplaced(String wanted, FailedRevision undone) throws SQLException {
        Row standIn = rows.getLast();
        String since = standIn.tookPlaceAt();
        Row ended = rows.reversed().stream()
                .skip(1)
                .filter(Row::tookPlace)
                .findFirst()
                .orElse(null);
        if (standIn.hash().equals(wanted)
                && since != null
                && ended != null
                && ended.goodAt() != null
                && ended.failedAt() == null
                && !ended.hash().equals(wanted)) {
            change(ended.failed(since, undone.error()));
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
                Optional.ofNullable(row.getString("launched_at")).map(Instant::parse),
                Optional.ofNullable(row.getString("good_at")).map(Instant::parse),
                Optional.ofNullable(row.getString("failed_at")).map(Instant::parse),
                Optional.ofNullable(row.getString("error")).orElse(""),
                Optional.ofNullable(backTo(row)));
    }

    private static @Nullable Integer backTo(ResultSet row) throws SQLException {
        int number = row.getInt("back_to");
        return row.wasNull() ? null : number;
    }

    private List<Row> rows() throws SQLException {
        return Database.list(
                connection,
                "SELECT number, hash, back_to, tried_at, launched_at, good_at, failed_at, error FROM revision"
                        + " WHERE workload = ? ORDER BY number",
                row -> new Row(
                        row.getInt(1),
                        row.getString(2),
                        backTo(row),
                        Instant.parse(row.getString(4)),
                        row.getString(5),
                        row.getString(6),
                        row.getString(7),
                        row.getString(8)),
                workload);
    }

    /** Adds a row for what is wanted again: the last good revision in place of one that was undone, or that one after all. */
    private void goBack(String wanted, @Nullable FailedRevision undone, @Nullable LastKnownGood good)
            throws SQLException {
        // Of what is forgotten the new row is the first.
        Row before = newest(wanted);
        int first = before == null ? rows.getLast().number() + 1 : before.first();
        if (undone == null) {
            addDeclared(wanted, first);
        } else if (good != null) {
            add(
                    wanted,
                    first,
                    before == null ? "" : sourceOf(before.number()),
                    texts.apply(good.workload()),
                    undone.at());
        }
    }

    private String sourceOf(int number) throws SQLException {
        return Database.list(
                        connection,
                        "SELECT source FROM revision WHERE workload = ? AND number = ?",
                        row -> row.getString(1),
                        workload,
                        number)
                .stream()
                .findFirst()
                .orElse("");
    }

    /** The row of a declaration, which may have been replaced by another one meanwhile; then there is nothing to be kept of it. */
    private void addDeclared(String hash, @Nullable Integer backTo) throws SQLException {
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
        if (found != null) {
            add(hash, backTo, found[0], found[1], now);
        }
    }

    private void add(String hash, @Nullable Integer backTo, String source, String document, Instant triedAt)
            throws SQLException {
        int number = rows.isEmpty() ? 1 : rows.getLast().number() + 1;
        Database.update(
                connection,
                "INSERT INTO revision(workload, number, hash, back_to, source, document, tried_at)"
                        + " VALUES (?, ?, ?, ?, ?, ?, ?)",
                workload,
                number,
                hash,
                backTo,
                source,
                document,
                triedAt.toString());
        rows.add(new Row(number, hash, backTo, triedAt, null, null, null, null));
    }

    private void change(Row row) throws SQLException {
        Database.update(
                connection,
                "UPDATE revision SET launched_at = ?, good_at = ?, failed_at = ?, error = ?"
                        + " WHERE workload = ? AND number = ?",
                row.launchedAt(),
                row.goodAt(),
                row.failedAt(),
                row.error(),
                workload,
                row.number());
        rows.replaceAll(other -> other.number() == row.number() ? row : other);
    }

    /** What a failed revision is replaced by may be older than all that are kept, and what is declared, too. */
    private void prune(@Nullable LastKnownGood good) throws SQLException {
        int last = rows.getLast().number() - KEPT;
        if (rows.getFirst().number() <= last) {
            Database.update(
                    connection,
                    "DELETE FROM revision WHERE workload = ?1 AND number <= ?2"
                            + " AND number <> (SELECT coalesce(max(number), 0) FROM revision WHERE workload = ?1 AND hash = ?3)"
                            + " AND number <> (SELECT coalesce(max(number), 0) FROM revision WHERE workload = ?1 AND back_to IS NULL)"
                            // What runs and what ran before it.
                            + " AND number NOT IN (SELECT max(number) FROM revision WHERE workload = ?1 AND good_at IS NOT NULL"
                            + " GROUP BY hash ORDER BY max(number) DESC LIMIT 2)"
                            // And the revision before, however often the declaration of the one that runs has changed
                            // since. A document that is not JSON has no revision, and must not make every commit fail.
                            + " AND number NOT IN (SELECT max(number) FROM revision WHERE workload = ?1 AND good_at IS NOT NULL"
                            + " GROUP BY CASE WHEN json_valid(document) THEN document ->> '$.spec.revision' END"
                            + " ORDER BY max(number) DESC LIMIT 2)",
                    workload,
                    last,
                    good == null ? "" : good.hash());
        }
    }
}
