package io.homeostat.desired.state.sqlite;

import io.homeostat.desired.state.StoreException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteConnection;

/** How SQLite is asked to open files, and what its result codes mean here. */
final class Sqlite {
    static final int PERM = 3;
    static final int BUSY = 5;
    static final int READONLY = 8;
    static final int IOERR = 10;
    static final int CORRUPT = 11;
    static final int FULL = 13;
    static final int CANTOPEN = 14;
    static final int NOTADB = 26;

    private static final int PRIMARY_CODE = 0xff;
    private static final int BUSY_TIMEOUT_MILLIS = 5_000;

    // https://www.sqlite.org/fileformat.html#file_format_version_numbers
    private static final int WRITE_VERSION = 18;
    private static final int READ_VERSION = 19;

    private Sqlite() {}

    /** Opens a database that exists, for writing by this process alone. */
    static Connection openExisting(Path file) throws SQLException {
        // Before the write-ahead log is read: what is there must survive until it has been looked at.
        return open(
                uri(file) + "?mode=rw",
                connection -> execute(
                        connection, "PRAGMA synchronous=FULL", "PRAGMA journal_mode=WAL", "PRAGMA foreign_keys=ON"));
    }

    /**
     * Opens an empty file to fill it. Without a write-ahead log: what is committed is in the file itself, ready to be renamed. Its journal
     * is in memory, because nobody goes on with a file that was not filled.
     */
    static Connection openEmpty(Path file) throws SQLException {
        return open(
                uri(file) + "?mode=rw",
                connection -> execute(connection, "PRAGMA synchronous=FULL", "PRAGMA journal_mode=MEMORY"));
    }

    /** Opens a database that somebody else may be writing, and changes none of its files, its shared-memory index included. */
    static Connection openLive(Path file) throws SQLException {
        return open(uri(file) + "?mode=ro&readonly_shm=1");
    }

    /** Opens a copy of a database file that had no write-ahead log; changes stay in memory. */
    static Connection openImage(byte[] file) throws SQLException {
        if (file.length > READ_VERSION) {
            // A database in memory can't have a write-ahead log, so the header must not ask for one.
            file[WRITE_VERSION] = 1;
            file[READ_VERSION] = 1;
        }
        return open(
                ":memory:",
                connection -> connection.unwrap(SQLiteConnection.class).deserialize("main", file));
    }

    private interface Preparation {
        void of(Connection connection) throws SQLException;
    }

    private static Connection open(String url, Preparation preparation) throws SQLException {
        Connection connection = open(url);
        try {
            preparation.of(connection);
        } catch (SQLException e) {
            closeAfter(e, connection);
            throw e;
        }
        return connection;
    }

    static void execute(Connection connection, String... sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String one : sql) {
                statement.execute(one);
            }
        }
    }

    static String text(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            return result.next() ? result.getString(1) : "";
        }
    }

    static int integer(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            return result.next() ? result.getInt(1) : 0;
        }
    }

    /** The primary result code (https://www.sqlite.org/rescode.html). */
    static int code(SQLException e) {
        return e.getErrorCode() & PRIMARY_CODE;
    }

    /** True when the file's content is wrong, as opposed to the file being out of reach. */
    static boolean isDamage(SQLException e) {
        return code(e) == CORRUPT || code(e) == NOTADB;
    }

    /** Says what was tried on which file, why it failed and what to do. */
    static StoreException failure(String tried, Path file, SQLException e) {
        String remedy = switch (code(e)) {
            case FULL -> "no space is left for it; free some space and try again";
            case READONLY ->
                "it can't be written; check that its file system is mounted read-write and whose file it is";
            case CANTOPEN, PERM -> "it can't be opened; check the permissions of the file and its directory";
            case IOERR ->
                "no space is left for it, or the device reported an error; check the free space, the disk and the kernel's log";
            case BUSY -> "another program has it open and does not let go; find it with fuser and end it";
            case CORRUPT, NOTADB ->
                "it is damaged; the next apply or run sets it aside and begins a new one, no process is touched";
            default -> "SQLite refused";
        };
        return new StoreException("cannot " + tried + " " + file + ": " + remedy + " (" + e.getMessage() + ")", e);
    }

    static void rollBackAfter(Throwable failure, Connection connection) {
        try {
            execute(connection, "ROLLBACK");
        } catch (SQLException e) {
            // SQLite has rolled back by itself, as it does when the disk is full.
            failure.addSuppressed(e);
        }
    }

    static void closeAfter(Exception failure, AutoCloseable resource) {
        try {
            resource.close();
        } catch (Exception e) {
            failure.addSuppressed(e);
        }
    }

    private static Connection open(String file) throws SQLException {
        SQLiteConfig config = new SQLiteConfig();
        config.setBusyTimeout(BUSY_TIMEOUT_MILLIS);
        // Else the driver asks for the latest row's id after each change.
        config.setGetGeneratedKeys(false);
        return config.createConnection("jdbc:sqlite:" + file);
    }

    /** SQLite knows {@code file:/path}; percent-encoding keeps a question mark in a directory's name out of the query. */
    private static String uri(Path file) {
        return "file:" + file.toAbsolutePath().toUri().getRawPath();
    }
}
