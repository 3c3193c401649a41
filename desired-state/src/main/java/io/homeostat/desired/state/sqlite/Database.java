package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection, used by one thread at a time: SQLite has a single writer anyway, and our reads take microseconds. Turns what
 * SQLite reports into {@link StoreException}s.
 */
final class Database implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Database.class);

    private final Connection connection;
    private final Path file;

    /** Which file that was when it was opened: its device and inode. */
    private final @Nullable Object opened;

    private final ReentrantLock lock = new ReentrantLock();

    /** What is to be written by whoever holds the lock next. */
    private final Queue<Writing<?>> waiting = new ConcurrentLinkedQueue<>();

    /** @param file the database as the operator knows it, for messages */
    Database(Connection connection, Path file) {
        this.connection = connection;
        this.file = file;
        this.opened = opened(file);
    }

    Path file() {
        return file;
    }

    /** @param tried completes "cannot ... FILE" */
    <T> T read(String tried, Reading<T> reading) {
        lock.lock();
        try {
            return reading.from(connection);
        } catch (SQLException e) {
            throw Sqlite.failure(tried, file, e);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Writes: durable when this returns, undone when it throws. What several threads have to write is one transaction, and so one wait for
     * the disk: while one waits, others gather. If anything of it fails, each writes in a transaction of its own.
     *
     * @param tried completes "cannot ... FILE"
     * @param writing is done again if it was part of a transaction that failed
     */
    <T> T write(String tried, Reading<T> writing) {
        return write(tried, writing, written -> {});
    }

    /**
     * As {@link #write(String, Reading)}.
     *
     * @param committed is told what was written before anybody else can read or write
     */
    <T> T write(String tried, Reading<T> writing, Consumer<T> committed) {
        Writing<T> own = new Writing<>(writing, committed);
        waiting.add(own);
        lock.lock();
        try {
            if (waiting.contains(own)) {
                writeTogether(tried);
            }
            if (!own.done) {
                transaction(tried, ImmutableList.of(own));
            }
            return own.result();
        } catch (SQLException e) {
            throw Sqlite.failure(tried, file, e);
        } finally {
            lock.unlock();
        }
    }

    private void writeTogether(String tried) {
        ImmutableList.Builder<Writing<?>> taken = ImmutableList.builder();
        for (Writing<?> next = waiting.poll(); next != null; next = waiting.poll()) {
            taken.add(next);
        }
        ImmutableList<Writing<?>> all = taken.build();
        if (all.size() == 1) {
            return;
        }
        try {
            transaction(tried, all);
        } catch (SQLException | RuntimeException | Error e) {
            log.debug("{} changes are stored one by one, since they can't be together", all.size(), e);
        }
    }

    private void transaction(String tried, ImmutableList<Writing<?>> all) throws SQLException {
        Sqlite.execute(connection, "BEGIN IMMEDIATE");
        try {
            for (Writing<?> each : all) {
                each.write(connection);
            }
            // What is committed to a file without a name is gone when the process ends.
            checkInPlace(tried);
            Sqlite.execute(connection, "COMMIT");
        } catch (SQLException | RuntimeException | Error e) {
            Sqlite.rollBackAfter(e, connection);
            throw e;
        }
        all.forEach(Writing::committed);
    }

    /** Used by whoever holds the lock. */
    private static final class Writing<T> {
        private final Reading<T> work;
        private final Consumer<T> told;
        private @Nullable T written;
        private boolean done;

        Writing(Reading<T> work, Consumer<T> told) {
            this.work = work;
            this.told = told;
        }

        void write(Connection connection) throws SQLException {
            written = work.from(connection);
        }

        void committed() {
            done = true;
            told.accept(result());
        }

        T result() {
            return Objects.requireNonNull(written);
        }
    }

    /**
     * Fails when the file that is open is no longer the one of its name.
     *
     * @param tried completes "cannot ... FILE"
     */
    void checkInPlace(String tried) {
        if (!isInPlace()) {
            throw new StoreException("cannot " + tried + " " + file
                    + ": it was deleted or replaced while it was in use, so what is stored would be lost; an agent ends because of"
                    + " this, start it again; repeat any other command");
        }
    }

    private boolean isInPlace() {
        try {
            return opened == null || opened.equals(key(file));
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            // Out of reach, which is not gone.
            return true;
        }
    }

    private static @Nullable Object opened(Path file) {
        try {
            return key(file);
        } catch (IOException e) {
            return null;
        }
    }

    private static @Nullable Object key(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    /** Runs one statement with its values, in order. */
    static int update(Connection connection, String sql, @Nullable Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, values);
            return statement.executeUpdate();
        }
    }

    /** Runs a query and reads each of its rows. */
    static void query(Connection connection, String sql, Row row, @Nullable Object... values) throws SQLException {
        page(
                connection,
                sql,
                result -> {
                    row.read(result);
                    return true;
                },
                values);
    }

    /** Runs a query and reads its rows as long as more are wanted. */
    static void page(Connection connection, String sql, RowOfPage row, @Nullable Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, values);
            try (ResultSet result = statement.executeQuery()) {
                boolean more = true;
                while (more && result.next()) {
                    more = row.read(result);
                }
            }
        }
    }

    /** Runs a query and makes something of each of its rows. */
    static <T> ImmutableList<T> list(Connection connection, String sql, Mapper<T> mapper, @Nullable Object... values)
            throws SQLException {
        ImmutableList.Builder<T> rows = ImmutableList.builder();
        query(connection, sql, row -> rows.add(mapper.map(row)), values);
        return rows.build();
    }

    private static void bind(PreparedStatement statement, @Nullable Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            connection.close();
        } catch (SQLException e) {
            throw Sqlite.failure("close", file, e);
        } finally {
            lock.unlock();
        }
    }

    @FunctionalInterface
    interface Reading<T> {
        T from(Connection connection) throws SQLException;
    }

    @FunctionalInterface
    interface Row {
        void read(ResultSet result) throws SQLException;
    }

    @FunctionalInterface
    interface RowOfPage {
        /** Returns whether the next one is wanted, too. */
        boolean read(ResultSet result) throws SQLException;
    }

    @FunctionalInterface
    interface Mapper<T> {
        T map(ResultSet row) throws SQLException;
    }
}
