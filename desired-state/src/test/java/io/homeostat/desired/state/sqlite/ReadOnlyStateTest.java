package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.hash.Hashing;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ReadOnlyStateTest {
    private static final Schema NEWER = Samples.nextSchema();

    @TempDir
    Path directory;

    @TempDir
    Path temporary;

    private Layout layout;

    @BeforeEach
    void locate() {
        // Characters that mean something in a URI.
        layout = Samples.layout(directory.resolve("a state?dir=#100%25 &mode=rwc"));
    }

    @AfterEach
    void noCopyIsLeftBehind() throws IOException {
        try (Stream<Path> files = Files.list(temporary)) {
            assertEquals(List.of(), files.toList());
        }
    }

    @Test
    void whereThereIsNoDatabaseThereIsNothingToReadAndNothingIsMade() {
        assertTrue(open().isEmpty());

        assertTrue(Files.notExists(layout.stateDir()));
    }

    @Test
    void aDatabaseThatNobodyHasOpenIsReadWithoutTouchingAnything() throws IOException {
        try (StateStore store = openForWriting()) {
            Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        }

        assertReads("ops-agent");
    }

    @Test
    void aDatabaseInUseIsReadWithoutTouchingAnything() throws IOException {
        try (ChildJvm writer =
                ChildJvm.start(WaitingWriter.class, layout.stateDir().toString())) {
            writer.awaitLines(1);

            assertReads("ops-agent");
        }
    }

    @Test
    void aReaderSeesOneMomentWhileTheWriterGoesOn() {
        try (StateStore store = openForWriting()) {
            Samples.apply(store, "/a", false, Samples.plugin("first", "A1"));
            try (StateReader reader = open().orElseThrow()) {
                Samples.apply(store, "/a", false, Samples.plugin("second", "A1"));

                assertEquals(1, reader.declarations().size());
                assertEquals(2, store.declarations().size());
            }
            try (StateReader reader = open().orElseThrow()) {
                assertEquals(2, reader.declarations().size());
            }
        }
    }

    @Test
    void whatAKilledWriterLeftIsReadWithoutTouchingAnything() throws Exception {
        try (ChildJvm writer =
                ChildJvm.start(CommittingWriter.class, layout.stateDir().toString())) {
            writer.awaitLines(20);
            writer.kill();
        }

        assertReadsEventsOf("writer");
    }

    @Test
    void aLogWithoutItsIndexIsReadFromAPrivateCopy() throws Exception {
        try (ChildJvm writer =
                ChildJvm.start(CommittingWriter.class, layout.stateDir().toString())) {
            writer.awaitLines(20);
            writer.kill();
        }
        Files.delete(StateDirectory.companion(layout.database(), "-shm"));

        assertReadsEventsOf("writer");
    }

    @Test
    void aLogThatAKilledWriterHadOnlyBegunIsReadAsNone() throws Exception {
        leaveLogOfFirst(32);

        assertReads("ops-agent");
    }

    @Test
    void aLogThatMakesNoSenseIsReadAsNone() throws Exception {
        leaveLogOfFirst(100);
        try (FileChannel log = FileChannel.open(wal(), StandardOpenOption.WRITE)) {
            log.write(ByteBuffer.wrap("no log".getBytes(StandardCharsets.US_ASCII)));
        }

        assertReads("ops-agent");
    }

    @Test
    void anOlderSchemaIsReadWithoutMigratingTheFile() throws Exception {
        try (StateStore store = openForWriting()) {
            Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        }
        Map<Path, String> before = listing();

        try (StateReader reader =
                new ReadOnlyState(layout, NEWER, temporary).open().orElseThrow()) {
            assertEquals(1, reader.declarations().size());
        }

        assertEquals(before, listing());
    }

    @Test
    void anOlderSchemaInUseIsReadFromAPrivateCopy() throws Exception {
        try (ChildJvm writer =
                ChildJvm.start(CommittingWriter.class, layout.stateDir().toString())) {
            writer.awaitLines(20);
            writer.kill();
        }

        try (StateReader reader =
                new ReadOnlyState(layout, NEWER, temporary).open().orElseThrow()) {
            assertTrue(reader.events(0, 1000).size() >= 20);
        }
    }

    @Test
    void writersThatComeAndGoDisturbNoReader() throws Exception {
        try (ChildJvm writer =
                ChildJvm.start(OpeningWriter.class, layout.stateDir().toString())) {
            writer.awaitLines(1);
            long last = 0;
            for (int i = 0; i < 100; i++) {
                try (StateReader reader = open().orElseThrow()) {
                    ImmutableList<StoredEvent> newer = reader.events(last, 100_000);
                    assertTrue(i == 0 || !reader.events(last - 1, 1).isEmpty(), "event " + last + " is gone again");
                    last = newer.isEmpty() ? last : newer.getLast().id();
                }
            }
            writer.kill();
        }
    }

    @Test
    void aDamagedDatabaseIsAnErrorAndStaysAsItIs() throws IOException {
        openForWriting().close();
        Files.writeString(layout.database(), "no database");
        Map<Path, String> before = listing();

        StoreException failure = assertThrows(StoreException.class, () -> open());

        assertTrue(
                failure.getMessage()
                        .startsWith("cannot read " + layout.database()
                                + ": it is damaged; the next apply or run sets it aside and begins a new one, no process"
                                + " is touched"),
                failure::getMessage);
        assertEquals(before, listing());
    }

    @Test
    void aTruncatedDatabaseIsAnErrorAndStaysAsItIs() throws IOException {
        openForWriting().close();
        byte[] content = Files.readAllBytes(layout.database());
        for (int size : new int[] {0, 10, 4096}) {
            Files.write(layout.database(), Arrays.copyOf(content, size));
            Map<Path, String> before = listing();

            StoreException failure = assertThrows(StoreException.class, () -> open());

            assertTrue(failure.getMessage().contains("sets it aside"), failure::getMessage);
            assertEquals(before, listing());
        }
    }

    /** A database with a declaration, and beside it the beginning of a log, with its index, of a writer that was killed. */
    private void leaveLogOfFirst(int size) throws Exception {
        try (StateStore store = openForWriting()) {
            Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        }
        byte[] database = Files.readAllBytes(layout.database());
        try (ChildJvm writer =
                ChildJvm.start(CommittingWriter.class, layout.stateDir().toString())) {
            writer.awaitLines(1);
            writer.kill();
        }
        Files.write(layout.database(), database);
        Files.write(wal(), Arrays.copyOf(Files.readAllBytes(wal()), size));
    }

    private Path wal() {
        return StateDirectory.companion(layout.database(), "-wal");
    }

    private void assertReads(String name) throws IOException {
        Map<Path, String> before = listing();
        Optional<StateReader> opened = open();
        try (StateReader reader = opened.orElseThrow()) {
            assertEquals(name, reader.declarations().getFirst().workload().id().name());
            assertTrue(reader.everDeclared());
            assertEquals(before, listing());
        }
        assertEquals(before, listing());
    }

    private void assertReadsEventsOf(String workload) throws IOException {
        Map<Path, String> before = listing();
        try (StateReader reader = open().orElseThrow()) {
            ImmutableList<StoredEvent> events = reader.events(0, 100_000);
            assertTrue(events.size() >= 20, () -> events.size() + " events");
            assertEquals(
                    workload,
                    String.valueOf(events.getLast().event().workload()).replaceAll(".*/", ""));
            assertEquals(before, listing());
        }
        assertEquals(before, listing());
    }

    private Optional<StateReader> open() {
        return new ReadOnlyState(layout, Schema.CURRENT, temporary).open();
    }

    private StateStore openForWriting() {
        return StateStores.openForWriting(layout, Samples.CLOCK).store();
    }

    /** Every file with its content, permissions and time of change. */
    private Map<Path, String> listing() throws IOException {
        Map<Path, String> listing = new TreeMap<>();
        try (Stream<Path> files = Files.walk(layout.stateDir())) {
            for (Path file : files.toList()) {
                String content = Files.isDirectory(file)
                        ? ""
                        : Hashing.sha256().hashBytes(Files.readAllBytes(file)).toString();
                listing.put(
                        file,
                        content + " " + PosixFilePermissions.toString(Files.getPosixFilePermissions(file)) + " "
                                + Files.getLastModifiedTime(file));
            }
        }
        return listing;
    }
}
