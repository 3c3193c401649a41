package io.homeostat.desired.state.sqlite;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.StoredSet.Highest;
import io.homeostat.desired.state.StoredSet.Standing;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Sets that were taken from sources of published sets, within one transaction. */
final class PublishedSetTable {
    private static final String REGISTERED = "registeredAt";
    private static final String REGISTERED_LABELS = "registeredLabels";

    private static final ObjectMapper JSON = new ObjectMapper();

    private final Connection connection;

    PublishedSetTable(Connection connection) {
        this.connection = connection;
    }

    /** Those of sources that were never asked are left out. */
    ImmutableList<Standing> standings() throws SQLException {
        ImmutableList.Builder<Standing> found = ImmutableList.builder();
        for (SourceName source : SourceName.values()) {
            Optional<StoredSet> set = set(source);
            Database.query(
                    connection,
                    "SELECT name, answered_at FROM set_source WHERE source = ?",
                    row -> found.add(new Standing(source, row.getString(1), set, time(row.getString(2)))),
                    source.word());
        }
        return found.build();
    }

    Optional<StoredSet> set(SourceName source) throws SQLException {
        return Database.list(
                        connection,
                        "SELECT name, version, sequence, published_at, digest, taken_at FROM published_set WHERE source = ?",
                        row -> set(source, row),
                        source.word())
                .stream()
                .findFirst();
    }

    ImmutableSortedMap<String, String> documents(SourceName source) throws SQLException {
        return Database.list(
                        connection,
                        "SELECT documents FROM published_set WHERE source = ?",
                        row -> texts(source, row.getString(1)),
                        source.word())
                .stream()
                .findFirst()
                .orElse(ImmutableSortedMap.of());
    }

    ImmutableList<Highest> highest(SourceName source) throws SQLException {
        return Database.list(
                connection,
                "SELECT signer, sequence, digest FROM set_sequence WHERE source = ? ORDER BY signer",
                row -> new Highest(row.getString(1), row.getLong(2), row.getString(3)),
                source.word());
    }

    void put(StoredSet.Content content) throws SQLException {
        StoredSet set = content.set();
        String source = set.source().word();
        Database.update(
                connection,
                """
                INSERT OR REPLACE INTO published_set(
                  source, name, version, sequence, published_at, digest, documents, taken_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                source,
                set.name(),
                set.version(),
                set.sequence(),
                set.publishedAt().map(Instant::toString).orElse(null),
                set.digest(),
                JSON.valueToTree(content.documents()).toString(),
                set.takenAt().toString());
        for (String signer : content.signers().isEmpty() ? ImmutableList.of("") : content.signers()) {
            Database.update(connection, """
                    INSERT INTO set_sequence(source, signer, sequence, digest) VALUES (?, ?, ?, ?)
                    ON CONFLICT (source, signer) DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest
                    WHERE sequence <= excluded.sequence
                    """, source, signer, set.sequence(), set.digest());
        }
    }

    void answered(SourceName source, String name, @Nullable Instant at) throws SQLException {
        Database.update(connection, """
                INSERT INTO set_source(source, name, answered_at) VALUES (?, ?, ?)
                ON CONFLICT (source) DO UPDATE
                SET answered_at = CASE WHEN name = excluded.name THEN coalesce(excluded.answered_at, answered_at)
                    ELSE excluded.answered_at END,
                  name = excluded.name
                """, source.word(), name, at == null ? null : at.toString());
    }

    /** Everything but the highest sequences: who brings the source back must not get an older set past them. */
    void forget(SourceName source) throws SQLException {
        Database.update(connection, "DELETE FROM published_set WHERE source = ?", source.word());
        Database.update(connection, "DELETE FROM set_source WHERE source = ?", source.word());
    }

    ImmutableSortedMap<String, String> rolloutStates() throws SQLException {
        ImmutableSortedMap.Builder<String, String> states = ImmutableSortedMap.naturalOrder();
        Database.query(
                connection,
                "SELECT name, document FROM rollout_state",
                row -> states.put(row.getString(1), row.getString(2)));
        return states.buildOrThrow();
    }

    void rolloutStates(ImmutableSortedMap<String, String> states) throws SQLException {
        Database.update(connection, "DELETE FROM rollout_state");
        for (Map.Entry<String, String> state : states.entrySet()) {
            Database.update(
                    connection,
                    "INSERT INTO rollout_state(name, document) VALUES (?, ?)",
                    state.getKey(),
                    state.getValue());
        }
    }

    OptionalLong registeredAt(ImmutableSortedMap<String, String> labels) throws SQLException {
        return Database.list(
                        connection,
                        "SELECT at.value FROM meta AS at, meta AS labels WHERE at.key = ? AND labels.key = ? AND labels.value = ?",
                        row -> row.getLong(1),
                        REGISTERED,
                        REGISTERED_LABELS,
                        JSON.valueToTree(labels).toString())
                .stream()
                .mapToLong(Long::longValue)
                .findFirst();
    }

    void registered(long revision, ImmutableSortedMap<String, String> labels) throws SQLException {
        Database.update(
                connection,
                "INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?), (?, ?)",
                REGISTERED,
                Long.toString(revision),
                REGISTERED_LABELS,
                JSON.valueToTree(labels).toString());
    }

    private static StoredSet set(SourceName source, ResultSet row) throws SQLException {
        return new StoredSet(
                source,
                row.getString("name"),
                row.getString("version"),
                row.getLong("sequence"),
                time(row.getString("published_at")),
                row.getString("digest"),
                time(row.getString("taken_at")).orElseThrow());
    }

    private static Optional<Instant> time(@Nullable String text) {
        try {
            return Optional.ofNullable(text).map(Instant::parse);
        } catch (DateTimeException e) {
            throw new StoreException(
                    "cannot read when a published set was taken from the database: its row is not valid (" + e
                            + "). Move the database away; the agent gets the sets again",
                    e);
        }
    }

    private static ImmutableSortedMap<String, String> texts(SourceName source, String json) {
        try {
            ImmutableSortedMap.Builder<String, String> texts = ImmutableSortedMap.naturalOrder();
            for (Map.Entry<String, JsonNode> text : JSON.readTree(json).properties()) {
                texts.put(text.getKey(), text.getValue().asText());
            }
            return texts.buildOrThrow();
        } catch (JsonProcessingException e) {
            // Without the cause: it quotes documents.
            throw new StoreException("cannot read the set of " + source.word()
                    + " from the database: its row is not valid. Move the database away; the agent gets the set again");
        }
    }
}
