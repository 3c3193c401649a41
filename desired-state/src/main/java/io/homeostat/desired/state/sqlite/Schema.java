package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * The tables and how they came to be: migration number n turns version n-1 into version n ({@code PRAGMA user_version}).
 * A migration that was ever released is never edited.
 */
final class Schema {
    /** {@code HOME}: tells our databases from everybody else's. */
    static final int APPLICATION_ID = 0x484F4D45;

    static final Schema CURRENT = new Schema(ImmutableList.of(
            "schema-1.sql",
            "schema-2.sql",
            "schema-3.sql",
            "schema-4.sql",
            "schema-5.sql",
            "schema-6.sql",
            "schema-7.sql",
            "schema-8.sql",
            "schema-9.sql",
            "schema-10.sql"));

    private static final ImmutableList<String> TABLES = ImmutableList.of(
            "meta",
            "generation",
            "declaration",
            "source_problem",
            "pause",
            "history",
            "instance",
            "event",
            "outbox",
            "revision");

    private static final int SETS_CAME = 10;
    private static final ImmutableList<String> TABLES_OF_SETS =
            ImmutableList.of("set_source", "published_set", "set_sequence", "rollout_state");

    private final ImmutableList<String> migrations;

    /** @param migrations names of SQL scripts beside this class, one statement up to each semicolon at a line's end */
    Schema(ImmutableList<String> migrations) {
        this.migrations = migrations;
    }

    ImmutableList<String> migrations() {
        return migrations;
    }

    int version() {
        return migrations.size();
    }

    /** Fills an empty database. */
    void create(Connection connection) throws SQLException {
        Sqlite.execute(connection, "PRAGMA application_id=" + APPLICATION_ID);
        migrate(connection, 0);
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO meta(key, value) VALUES ('seed', ?)")) {
            insert.setString(1, Long.toString(new SecureRandom().nextLong()));
            insert.executeUpdate();
        }
    }

    /** A random number that the database got when it was made, and no other one has. */
    static long seed(Connection connection) throws SQLException {
        return Long.parseLong(Sqlite.text(connection, "SELECT value FROM meta WHERE key = 'seed'"));
    }

    /**
     * Migrates a database to this version, or not at all.
     *
     * @throws StoreException when it comes from a newer program
     * @throws DamagedException when it isn't one of our databases
     */
    void bringUpToDate(Connection connection, Path file) throws SQLException, DamagedException {
        int found = verify(connection, file);
        if (found < version()) {
            migrate(connection, found);
        }
        for (String table : Iterables.concat(TABLES, version() < SETS_CAME ? ImmutableList.of() : TABLES_OF_SETS)) {
            if (Sqlite.integer(connection, "SELECT count(*) FROM sqlite_schema WHERE name = '" + table + "'") == 0) {
                throw new DamagedException("its table '" + table + "' is missing");
            }
        }
    }

    /** The version of a database of ours that this program can read or migrate. */
    int verify(Connection connection, Path file) throws SQLException, DamagedException {
        int application = Sqlite.integer(connection, "PRAGMA application_id");
        int found = Sqlite.integer(connection, "PRAGMA user_version");
        if (application != APPLICATION_ID || found < 1) {
            throw new DamagedException("it is not a database of Homeostat");
        }
        if (found > version()) {
            throw new StoreException("cannot use " + file + ": its schema is version " + found
                    + " and this program knows only up to " + version()
                    + ". A newer homeostat wrote it: run that version, or choose another --state-dir");
        }
        return found;
    }

    private void migrate(Connection connection, int from) throws SQLException {
        Sqlite.execute(connection, "BEGIN IMMEDIATE");
        try {
            for (String script : migrations.subList(from, version())) {
                for (String statement : statements(script)) {
                    Sqlite.execute(connection, statement);
                }
            }
            Sqlite.execute(connection, "PRAGMA user_version=" + version());
            Sqlite.execute(connection, "COMMIT");
        } catch (SQLException e) {
            Sqlite.rollBackAfter(e, connection);
            throw e;
        }
    }

    private static ImmutableList<String> statements(String script) {
        try (InputStream in = Schema.class.getResourceAsStream(script)) {
            if (in == null) {
                throw new IllegalStateException("the program is incomplete: " + script + " is missing");
            }
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return ImmutableList.copyOf(text.split(";\\s*\\n", -1)).stream()
                    .map(String::strip)
                    .filter(statement -> !statement.isEmpty())
                    .collect(ImmutableList.toImmutableList());
        } catch (IOException e) {
            throw new UncheckedIOException(script, e);
        }
    }

    /** The content of a database file is not what it must be; the message says how, as the end of a sentence about the file. */
    static final class DamagedException extends Exception {
        private static final long serialVersionUID = 1L;

        DamagedException(String message) {
            super(message);
        }

        DamagedException(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
