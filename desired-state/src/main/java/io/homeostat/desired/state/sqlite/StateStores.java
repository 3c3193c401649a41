package io.homeostat.desired.state.sqlite;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.Schema.DamagedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Optional;

/** Opens the database of a state directory. */
public final class StateStores {
    private static final int WAL_HEADER = 32;

    // https://www.sqlite.org/fileformat.html#the_write_ahead_log; the last bit is the byte order of checksums.
    private static final int WAL_MAGIC = 0x377f0682;

    private static final byte[] HEADER = "SQLite format 3\0".getBytes(StandardCharsets.US_ASCII);

    private final Schema schema;

    StateStores(Schema schema) {
        this.schema = schema;
    }

    /**
     * Opens the database for writing and creates what is missing, including the directory. The caller holds the {@link StateLock}. A
     * database that can't be read is set aside under a telling name and a new one is begun, with an event that says so.
     *
     * @throws StoreException when the database is out of reach or from a newer program; it stays as it is
     */
    public static Opened openForWriting(Layout layout, Clock clock) {
        return new StateStores(Schema.CURRENT).open(layout, clock);
    }

    /**
     * Opens the database without creating, changing or deleting any file; empty when there is none yet.
     *
     * @throws StoreException when it can't be read
     */
    public static Optional<StateReader> openForReading(Layout layout) {
        return new ReadOnlyState(layout, Schema.CURRENT, Path.of(System.getProperty("java.io.tmpdir"))).open();
    }

    /**
     * Creates a state directory that is missing, for nobody else to enter.
     *
     * @throws StoreException when it can't be created, or is not this user's alone
     */
    public static void createDirectory(Path directory) {
        StateDirectory.create(directory);
    }

    /**
     * An open database.
     *
     * @param setAside for people: what could not be read, why, and where it is now; empty when all was well
     */
    public record Opened(StateStore store, Optional<String> setAside) {}

    Opened open(Layout layout, Clock clock) {
        Path file = layout.database();
        StateDirectory.create(layout.stateDir());
        try {
            StateDirectory.requireFilesOrNothing(file);
            if (Files.exists(file)) {
                Optional<String> lostLog = setDamagedLogAside(file, clock.instant());
                try {
                    SqliteStateStore store = openExisting(file, clock);
                    lostLog.ifPresent(message -> store.record(setAsideEvent(clock.instant(), message)));
                    return new Opened(store, lostLog);
                } catch (DamagedException e) {
                    return beginAnew(file, e, clock);
                }
            }
            if (Files.exists(StateDirectory.companion(file, "-wal"))) {
                return beginAnew(file, new DamagedException("it is missing, but its write-ahead log is there"), clock);
            }
            Files.move(create(file, Optional.empty(), clock), file, StandardCopyOption.ATOMIC_MOVE);
            StateDirectory.sync(layout.stateDir());
            return new Opened(openNew(file, clock), Optional.empty());
        } catch (SQLException e) {
            throw Sqlite.failure("open", file, e);
        } catch (IOException e) {
            throw StateDirectory.failure("open", file, e);
        }
    }

    private SqliteStateStore openExisting(Path file, Clock clock) throws SQLException, IOException, DamagedException {
        checkHeader(file);
        StateDirectory.restrict(file);
        Connection connection = null;
        try {
            connection = Sqlite.openExisting(file);
            schema.bringUpToDate(connection, file);
            // Each time, not only after a crash: better now than in the middle of an upgrade.
            String verdict = Sqlite.text(connection, "PRAGMA quick_check(1)");
            if (!verdict.equals("ok")) {
                throw new DamagedException(verdict.strip().replace('\n', ' '));
            }
            return new SqliteStateStore(new Database(connection, file), clock);
        } catch (SQLException | DamagedException | RuntimeException e) {
            if (connection != null) {
                Sqlite.closeAfter(e, connection);
            }
            if (e instanceof SQLException failure && Sqlite.isDamage(failure)) {
                throw new DamagedException(String.valueOf(e.getMessage()), e);
            }
            throw e;
        }
    }

    private SqliteStateStore openNew(Path file, Clock clock) throws SQLException, IOException {
        try {
            return openExisting(file, clock);
        } catch (DamagedException e) {
            throw new StoreException(
                    "cannot open " + file + ": it was written a moment ago and is already damaged (" + e.getMessage()
                            + "); check the disk",
                    e);
        }
    }

    private Opened beginAnew(Path file, DamagedException damage, Clock clock) throws SQLException, IOException {
        // Known before it is done: the new database must say it from its first instant.
        Instant now = clock.instant();
        Path aside = SetAside.freeName(file, now);
        String message = "the database " + file + " could not be read (" + damage.getMessage()
                + ") and was set aside as " + aside
                + "; a new one was begun. What was applied must be applied again; what runs is adopted, nothing is stopped";
        Path replacement = create(file, Optional.of(setAsideEvent(now, message)), clock);
        SetAside.replace(file, replacement, aside);
        StateDirectory.sync(file.resolveSibling("."));
        return new Opened(openNew(file, clock), Optional.of(message));
    }

    /** Writes a complete database under another name, so that a crash never leaves half of one under the right name. */
    private Path create(Path file, Optional<Event> first, Clock clock) throws SQLException, IOException {
        Path unfinished = StateDirectory.companion(file, ".new");
        Files.deleteIfExists(unfinished);
        for (String suffix : StateDirectory.companions()) {
            Files.deleteIfExists(StateDirectory.companion(unfinished, suffix));
        }
        Files.createFile(unfinished, StateDirectory.PRIVATE_FILE);
        try (Connection connection = Sqlite.openEmpty(unfinished)) {
            schema.create(connection);
            if (first.isPresent()) {
                new SqliteStateStore(new Database(connection, unfinished), clock).record(first.get());
            }
        }
        return unfinished;
    }

    private static Event setAsideEvent(Instant now, String message) {
        return new Event(now, null, "", EventType.AGENT_STATE_SET_ASIDE, message);
    }

    /** SQLite takes a log with a wrong header for an empty one and says nothing, though the newest changes were in it. */
    private static Optional<String> setDamagedLogAside(Path file, Instant now) throws IOException {
        Path log = StateDirectory.companion(file, "-wal");
        if (!Files.exists(log) || Files.size(log) < WAL_HEADER) {
            return Optional.empty();
        }
        ByteBuffer header = ByteBuffer.allocate(Integer.BYTES);
        try (FileChannel channel = FileChannel.open(log, StandardOpenOption.READ)) {
            channel.read(header);
        }
        if ((header.getInt(0) & ~1) == WAL_MAGIC) {
            return Optional.empty();
        }
        Path aside = SetAside.moveLog(file, now);
        return Optional.of("the newest changes to " + file + " could not be read (" + log
                + " is not a write-ahead log) and were set aside as " + aside + "; what is older was kept");
    }

    /**
     * Checked before SQLite does: it takes an empty file for an empty database, deletes the log of what is none, and doesn't say why it
     * can't open a file.
     */
    private static void checkHeader(Path file) throws IOException, DamagedException {
        byte[] header = new byte[HEADER.length];
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            channel.read(ByteBuffer.wrap(header));
        }
        if (!Arrays.equals(header, HEADER)) {
            throw new DamagedException(
                    Files.size(file) == 0 ? "it is empty" : "it does not begin like a SQLite database");
        }
    }

    /** Moves damaged files out of the way, under names that say what they are; nothing is ever overwritten or deleted. */
    private static final class SetAside {
        private static final DateTimeFormatter STAMP =
                DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

        private SetAside() {}

        /**
         * Replaces a damaged database with a complete new one. After a power cut one of the two has the database's name, so the event in
         * the new one is never lost.
         *
         * @param aside where the damaged one goes, with its log beside it as SQLite expects
         */
        static void replace(Path database, Path replacement, Path aside) throws IOException {
            moveCompanions(database, aside);
            if (Files.exists(database)) {
                try {
                    Files.createLink(aside, database);
                } catch (UnsupportedOperationException | IOException e) {
                    // A file system without hard links; then there is a moment without a database.
                    Files.move(database, aside);
                }
            }
            Files.move(replacement, database, StandardCopyOption.ATOMIC_MOVE);
        }

        /** Moves away the log of a database that is itself whole. */
        static Path moveLog(Path database, Instant now) throws IOException {
            Path aside = freeName(database, now);
            moveCompanions(database, aside);
            return StateDirectory.companion(aside, "-wal");
        }

        private static void moveCompanions(Path database, Path aside) throws IOException {
            for (String suffix : StateDirectory.companions()) {
                Path companion = StateDirectory.companion(database, suffix);
                if (Files.exists(companion)) {
                    Files.move(companion, StateDirectory.companion(aside, suffix));
                }
            }
        }

        /** A name that nothing has yet: {@code homeostat.db.unreadable-20261120T120000Z}. */
        static Path freeName(Path database, Instant now) {
            String name = database.getFileName() + ".unreadable-" + STAMP.format(now);
            Path candidate = database.resolveSibling(name);
            for (int i = 2; isTaken(candidate); i++) {
                candidate = database.resolveSibling(name + "-" + i);
            }
            return candidate;
        }

        private static boolean isTaken(Path name) {
            return Files.exists(name)
                    || StateDirectory.companions().stream()
                            .anyMatch(suffix -> Files.exists(StateDirectory.companion(name, suffix)));
        }
    }
}
