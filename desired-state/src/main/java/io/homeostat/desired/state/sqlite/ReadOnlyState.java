package io.homeostat.desired.state.sqlite;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.Schema.DamagedException;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a database without touching its directory, whatever state it is in:
 *
 * <ul>
 *   <li>no write-ahead log, or one that holds nothing: the file is read into memory;
 *   <li>a log: somebody writes, or was killed while writing. SQLite reads both files, opened so that it writes nothing;
 *   <li>a log without its index, as after a restored backup, or a schema older than this program's: a private copy.
 * </ul>
 *
 * Writers come and go meanwhile; what was copied is only trusted when the files did not change in between.
 */
final class ReadOnlyState {
    private static final Logger log = LoggerFactory.getLogger(ReadOnlyState.class);
    private static final int ATTEMPTS = 40;
    private static final Duration PAUSE = Duration.ofMillis(25);

    // https://www.sqlite.org/fileformat.html#the_write_ahead_log; the last bit says how the checksums are made.
    private static final int LOG_HEADER = 32;
    private static final int LOG_MAGIC = 0x377f0682;

    private final Path directory;
    private final Path file;
    private final Path wal;
    private final Path walIndex;
    private final Schema schema;
    private final Path temporary;

    /** @param temporary where private copies go */
    ReadOnlyState(Layout layout, Schema schema, Path temporary) {
        this.directory = layout.stateDir();
        this.file = layout.database();
        this.wal = StateDirectory.companion(file, "-wal");
        this.walIndex = StateDirectory.companion(file, "-shm");
        this.schema = schema;
        this.temporary = temporary;
    }

    Optional<StateReader> open() {
        boolean ours = false;
        for (int attempt = 1; ; attempt++) {
            try {
                Stamps before = stamps();
                if (before.database().isMissing()) {
                    StateDirectory.requireOneOrNone(directory);
                    return Optional.empty();
                }
                if (!ours) {
                    StateDirectory.requireOurs(directory);
                    ours = true;
                    // That may have taken long.
                    before = stamps();
                }
                Optional<StateReader> reader = attempt(before);
                if (reader.isPresent()) {
                    return reader;
                }
            } catch (SQLException e) {
                throw Sqlite.failure("read", file, e);
            } catch (DamagedException e) {
                throw new StoreException(
                        "cannot read " + file + ": " + e.getMessage()
                                + "; the next apply or run sets it aside and begins a new one, no process is touched",
                        e);
            } catch (IOException e) {
                throw StateDirectory.failure("read", file, e);
            }
            if (attempt == ATTEMPTS) {
                throw new StoreException("cannot read " + file + ": it was being written each of the " + ATTEMPTS
                        + " times it was tried; try again");
            }
            pause();
        }
    }

    /** Empty when a writer came or went meanwhile, so that neither what was read nor why it failed means anything. */
    private Optional<StateReader> attempt(Stamps before) throws SQLException, DamagedException, IOException {
        boolean hasLog = before.log().size() > LOG_HEADER && isLog();
        boolean mayBeLive = hasLog && Files.exists(walIndex);
        try {
            if (mayBeLive) {
                Optional<StateReader> reader = live();
                if (reader.isPresent()) {
                    return reader;
                }
            }
            StateReader reader = hasLog ? copy() : image();
            if (stamps().equals(before)) {
                return Optional.of(reader);
            }
            reader.close();
            return Optional.empty();
        } catch (SQLException | DamagedException | NoSuchFileException e) {
            if (stamps().equals(before) && !(mayBeLive && e instanceof SQLException failure && isPassing(failure))) {
                throw e;
            }
            log.debug("a writer of {} came or went: {}", file, e.getMessage());
            return Optional.empty();
        }
    }

    /**
     * False of what SQLite ignores when it opens the database for writing. Reading beside such a log it would take for a race with the
     * writer, and give up after ten seconds.
     */
    private boolean isLog() throws IOException {
        try (DataInputStream log = new DataInputStream(Files.newInputStream(wal))) {
            return (log.readInt() & ~1) == LOG_MAGIC;
        } catch (NoSuchFileException | EOFException e) {
            return false;
        }
    }

    /** What a writer that is just opening or closing the database makes of a reader. */
    private static boolean isPassing(SQLException e) {
        return switch (Sqlite.code(e)) {
            case Sqlite.BUSY, Sqlite.CANTOPEN, Sqlite.READONLY -> true;
            default -> false;
        };
    }

    /** Empty when the schema is older than ours. */
    private Optional<StateReader> live() throws SQLException, DamagedException {
        Connection connection = Sqlite.openLive(file);
        try {
            // One transaction, from the first read on: a reader sees one moment, and the writer goes on meanwhile.
            Sqlite.execute(connection, "BEGIN");
            if (schema.verify(connection, file) == schema.version()) {
                return Optional.of(new SqliteStateReader(new Database(connection, file)));
            }
        } catch (SQLException | DamagedException | RuntimeException e) {
            Sqlite.closeAfter(e, connection);
            throw e;
        }
        connection.close();
        return Optional.empty();
    }

    private StateReader image() throws SQLException, DamagedException, IOException {
        byte[] content = Files.readAllBytes(file);
        if (content.length == 0) {
            throw new DamagedException("it is empty");
        }
        return migrated(Sqlite.openImage(content), () -> {});
    }

    private StateReader copy() throws SQLException, DamagedException, IOException {
        Path directory = Files.createTempDirectory(temporary, "homeostat-", StateDirectory.PRIVATE_DIRECTORY);
        try {
            Path copy = directory.resolve("copy.db");
            Files.copy(file, copy);
            Files.copy(wal, StateDirectory.companion(copy, "-wal"));
            return migrated(Sqlite.openExisting(copy), () -> delete(directory));
        } catch (SQLException | DamagedException | IOException | RuntimeException e) {
            delete(directory);
            throw e;
        }
    }

    private StateReader migrated(Connection connection, Runnable afterClose) throws SQLException, DamagedException {
        try {
            schema.bringUpToDate(connection, file);
            return new SqliteStateReader(new Database(connection, file), afterClose);
        } catch (SQLException | DamagedException | RuntimeException e) {
            Sqlite.closeAfter(e, connection);
            throw e;
        }
    }

    private static void delete(Path directory) {
        try {
            MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
        } catch (IOException e) {
            log.warn("a private copy of the database could not be deleted: {}: {}", directory, e.getMessage());
        }
    }

    private void pause() {
        try {
            Thread.sleep(PAUSE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreException("interrupted while reading " + file, e);
        }
    }

    private Stamps stamps() throws IOException {
        StateDirectory.requireFilesOrNothing(file);
        return new Stamps(Stamp.of(file), Stamp.of(wal));
    }

    private record Stamps(Stamp database, Stamp log) {}

    /** What of a file changes whenever somebody writes it; a missing file has size -1. */
    private record Stamp(long size, Instant modified) {
        static Stamp of(Path path) throws IOException {
            try {
                BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
                return new Stamp(
                        attributes.size(), attributes.lastModifiedTime().toInstant());
            } catch (NoSuchFileException e) {
                return new Stamp(-1, Instant.EPOCH);
            }
        }

        boolean isMissing() {
            return size < 0;
        }
    }
}
