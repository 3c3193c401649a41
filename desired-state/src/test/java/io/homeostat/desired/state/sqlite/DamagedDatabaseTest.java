package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.StateStores.Opened;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class DamagedDatabaseTest {
    private static final int PAGE = 4096;

    @TempDir
    Path directory;

    private Layout layout;
    private Path file;
    private Path aside;

    @BeforeEach
    void aDatabaseWithContent() {
        layout = Samples.layout(directory);
        file = layout.database();
        aside = file.resolveSibling("homeostat.db.unreadable-20261120T120000Z");
        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
            // In one commit: each waits for the disk.
            store.commit(Samples.events(
                    AGENT,
                    IntStream.range(0, 500)
                            .mapToObj(i -> "an event that takes up some space, number " + i)
                            .toArray(String[]::new)));
        }
    }

    @Test
    void aWholeDatabaseIsNotSetAside() {
        Opened opened = StateStores.openForWriting(layout, Samples.CLOCK);

        assertTrue(opened.setAside().isEmpty());
        assertEquals(1, opened.store().declarations().size());
        opened.store().close();
    }

    @Test
    void aFileThatIsNoDatabaseIsSetAside() throws IOException {
        Files.writeString(file, "this was a database once\n".repeat(1000));

        assertIsSetAside();
    }

    @Test
    void aTruncatedDatabaseIsSetAside() throws IOException {
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), 5 * PAGE));

        assertIsSetAside();
    }

    @Test
    void aDatabaseTruncatedWithinItsHeaderIsSetAside() throws IOException {
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), 50));

        assertIsSetAside();
    }

    @Test
    void anEmptyFileIsSetAside() throws IOException {
        Files.write(file, new byte[0]);

        assertIsSetAside();
    }

    @Test
    void aDatabaseWithAWrongPageIsSetAside() throws IOException {
        byte[] content = Files.readAllBytes(file);
        byte[] noise = new byte[PAGE];
        new Random(1).nextBytes(noise);
        System.arraycopy(noise, 0, content, content.length - 2 * PAGE, PAGE);
        Files.write(file, content);

        assertIsSetAside();
    }

    @Test
    void anotherProgramsDatabaseIsSetAside() throws IOException, SQLException {
        Files.delete(file);
        Files.createFile(file);
        try (Connection other = Sqlite.openExisting(file)) {
            Sqlite.execute(other, "CREATE TABLE something(else_entirely)");
        }

        assertIsSetAside();
    }

    @Test
    void aDatabaseThatLacksATableIsSetAside() throws IOException, SQLException {
        try (Connection connection = Sqlite.openExisting(file)) {
            Sqlite.execute(connection, "DROP TABLE instance");
        }

        assertIsSetAside();
    }

    @Test
    void theLogOfADamagedDatabaseGoesWithIt() throws IOException {
        Files.writeString(file, "no database");
        Path log = StateDirectory.companion(file, "-wal");
        byte[] logged = walHeader();
        Files.write(log, logged);

        assertIsSetAside();

        assertArrayEquals(logged, Files.readAllBytes(StateDirectory.companion(aside, "-wal")));
    }

    @Test
    void aDamagedLogAloneIsSetAsideAndTheDatabaseIsKept() throws IOException {
        Path log = StateDirectory.companion(file, "-wal");
        Files.writeString(log, "not a write-ahead log".repeat(500));

        Opened opened = StateStores.openForWriting(layout, Samples.CLOCK);

        try (StateStore store = opened.store()) {
            Path logAside = StateDirectory.companion(aside, "-wal");
            assertTrue(opened.setAside().orElseThrow().contains(logAside.toString()), opened::toString);
            assertTrue(Files.exists(logAside));
            assertEquals(1, store.declarations().size());
            assertEquals(
                    EventType.AGENT_STATE_SET_ASIDE,
                    store.events(0, 1000).getLast().event().type());
        }
        assertTrue(StateStores.openForWriting(layout, Samples.CLOCK).setAside().isEmpty());
    }

    @Test
    void aLogWithoutItsDatabaseIsNotMistakenForOneOfTheNewDatabase() throws IOException {
        byte[] logged = walHeader();
        Files.delete(file);
        Files.write(StateDirectory.companion(file, "-wal"), logged);

        Opened opened = StateStores.openForWriting(layout, Samples.CLOCK);
        opened.store().close();

        assertTrue(opened.setAside().orElseThrow().contains("missing"), opened::toString);
        assertArrayEquals(logged, Files.readAllBytes(StateDirectory.companion(aside, "-wal")));
    }

    @Test
    void whatWasSetAsideBeforeIsNeverOverwritten() throws IOException {
        Files.writeString(aside, "the first");
        Files.writeString(
                StateDirectory.companion(aside.resolveSibling(aside.getFileName() + "-2"), "-wal"), "the second");
        Files.writeString(file, "the third");

        Opened opened = StateStores.openForWriting(layout, Samples.CLOCK);
        opened.store().close();

        assertEquals("the first", Files.readString(aside));
        assertEquals("the third", Files.readString(aside.resolveSibling(aside.getFileName() + "-3")));
    }

    @Test
    void whatACrashLeftOfANewDatabaseIsBegunAnew() throws IOException {
        Files.delete(file);
        Files.writeString(StateDirectory.companion(file, ".new"), "half of a database");
        Files.writeString(StateDirectory.companion(file, ".new-journal"), "and its journal");

        Opened opened = StateStores.openForWriting(layout, Samples.CLOCK);
        opened.store().close();

        assertTrue(opened.setAside().isEmpty());
        assertFalse(Files.exists(StateDirectory.companion(file, ".new")));
    }

    @Test
    void aDatabaseFromANewerProgramIsLeftAlone() throws IOException, SQLException {
        try (Connection connection = Sqlite.openExisting(file)) {
            Sqlite.execute(connection, "PRAGMA user_version=999");
        }
        byte[] before = Files.readAllBytes(file);

        StoreException writing =
                assertThrows(StoreException.class, () -> StateStores.openForWriting(layout, Samples.CLOCK));
        StoreException reading = assertThrows(StoreException.class, () -> StateStores.openForReading(layout));

        for (StoreException failure : ImmutableList.of(writing, reading)) {
            assertTrue(failure.getMessage().contains("999"), failure::getMessage);
            assertTrue(failure.getMessage().contains("newer homeostat"), failure::getMessage);
        }
        assertArrayEquals(before, Files.readAllBytes(file));
        assertFalse(Files.exists(aside));
    }

    @Test
    void aDatabaseOutOfReachIsNotTakenForADamagedOne() throws IOException {
        Files.delete(file);
        Files.createDirectory(file);

        StoreException failure =
                assertThrows(StoreException.class, () -> StateStores.openForWriting(layout, Samples.CLOCK));

        assertTrue(failure.getMessage().contains(file.toString()), failure::getMessage);
        assertTrue(Files.isDirectory(file));
        assertFalse(Files.exists(aside));
    }

    @Test
    void aPipeInThePlaceOfAFileIsAnErrorAndIsNotWaitedFor() throws Exception {
        Path wal = StateDirectory.companion(layout.database(), "-wal");
        for (Path file : List.of(layout.database(), wal, layout.lock())) {
            Files.deleteIfExists(file);
            assertEquals(
                    0, new ProcessBuilder("mkfifo", file.toString()).start().waitFor());

            StoreException failure = assertThrows(StoreException.class, () -> {
                if (file.equals(layout.lock())) {
                    StateLock.holder(file);
                } else {
                    StateStores.openForWriting(layout, Samples.CLOCK);
                }
            });

            assertTrue(failure.getMessage().contains(file + ": it is no regular file"), failure::getMessage);
            if (!file.equals(layout.lock())) {
                assertThrows(StoreException.class, () -> StateStores.openForReading(layout));
            }
            Files.delete(file);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"-wal", "-shm", "-journal"})
    void aPipeBesideTheDatabaseIsNotWaitedForEither(String suffix) throws Exception {
        Path pipe = StateDirectory.companion(layout.database(), suffix);
        Files.deleteIfExists(pipe);
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());

        assertNotWaitedFor(pipe, () -> StateStores.openForWriting(layout, Samples.CLOCK));
        assertNotWaitedFor(pipe, () -> StateStores.openForReading(layout));
    }

    @Test
    void norIsOneInThePlaceOfTheNoteOfTheMachine() throws Exception {
        Path note = layout.machineFile();
        Files.deleteIfExists(note);
        assertEquals(0, new ProcessBuilder("mkfifo", note.toString()).start().waitFor());

        assertNotWaitedFor(note, () -> new MachineState(layout).owner());
    }

    private static void assertNotWaitedFor(Path pipe, Executable opening) {
        StoreException failure =
                assertTimeoutPreemptively(Duration.ofSeconds(30), () -> assertThrows(StoreException.class, opening));
        assertTrue(failure.getMessage().contains(pipe + ": it is no regular file"), failure::getMessage);
    }

    @Test
    void aDatabaseThatMayNotBeOpenedIsNotTakenForADamagedOne() throws IOException {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
        assumeFalse(Files.isReadable(file), "root may open anything");

        StoreException writing =
                assertThrows(StoreException.class, () -> StateStores.openForWriting(layout, Samples.CLOCK));
        StoreException reading = assertThrows(StoreException.class, () -> StateStores.openForReading(layout));

        for (StoreException failure : ImmutableList.of(writing, reading)) {
            assertTrue(failure.getMessage().contains("permission denied: " + file), failure::getMessage);
        }
        assertFalse(Files.exists(aside));
    }

    @Test
    void aStateDirectoryThatCantBeMadeIsAnErrorThatNamesIt() throws IOException {
        Files.writeString(directory.resolve("file"), "in the way");
        Layout impossible = Samples.layout(directory.resolve("file"));

        StoreException failure =
                assertThrows(StoreException.class, () -> StateStores.openForWriting(impossible, Samples.CLOCK));

        assertTrue(failure.getMessage().contains(impossible.stateDir().toString()), failure::getMessage);
    }

    private void assertIsSetAside() throws IOException {
        byte[] damaged = Files.readAllBytes(file);

        Opened opened = StateStores.openForWriting(layout, Samples.CLOCK);

        try (StateStore store = opened.store()) {
            String message = opened.setAside().orElseThrow();
            assertTrue(message.contains(aside.toString()), message);
            assertArrayEquals(damaged, Files.readAllBytes(aside));
            assertEquals(ImmutableList.of(), store.declarations());
            assertFalse(store.everDeclared());
            Event event = store.events(0, 10).getFirst().event();
            assertEquals(EventType.AGENT_STATE_SET_ASIDE, event.type());
            assertEquals(message, event.message());
            assertEquals(Samples.NOON, event.time());
            Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        }
        Opened again = StateStores.openForWriting(layout, Samples.CLOCK);
        assertTrue(again.setAside().isEmpty());
        assertEquals(1, again.store().declarations().size());
        again.store().close();
    }

    private static byte[] walHeader() {
        return ByteBuffer.allocate(64)
                .putInt(0x377f0682)
                .put("and whatever follows".getBytes(StandardCharsets.UTF_8))
                .array();
    }
}
