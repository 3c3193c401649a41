package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MachineIdentity;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On real databases. */
class MachineStateTest {
    private static final MachineIdentity A = new MachineIdentity("a", "m", "1", "boot1");
    private static final MachineIdentity B = new MachineIdentity("b", "m", "2", "boot2");

    private final Layout layout;
    private final MachineState state;

    MachineStateTest(@TempDir Path directory) {
        layout = new Layout(directory.resolve("s"), directory.resolve("r"), "a");
        state = new MachineState(layout);
    }

    @BeforeEach
    void create() throws IOException {
        Files.createDirectory(layout.stateDir());
    }

    @Test
    void nobodyOwnsANewDirectory() {
        assertEquals(Optional.empty(), state.owner());
    }

    @Test
    void whoClaimedItIsKnownToNobodyElse() throws IOException {
        assertFalse(claim("a", A).isPresent());

        assertEquals(Optional.of(A), new MachineState(layout).owner());
        assertEquals(PosixFilePermissions.fromString("rw-------"), Files.getPosixFilePermissions(layout.machineFile()));
    }

    @Test
    void garbageInItsPlaceIsNobody() throws IOException {
        Files.writeString(layout.machineFile(), "{\"id\": ");
        assertEquals(Optional.empty(), state.owner());

        claim("a", A);
        assertEquals(Optional.of(A), state.owner());
    }

    @Test
    void withoutItsNoteADatabaseIsWhoseInstallationsHaveNoneOfTheirOwn() throws IOException {
        claim("a", A);
        installed("a");
        remember("process/of-a");
        claim("a", B);
        installed("b");
        remember("process/of-b");
        Files.writeString(layout.machineFile(), "{\"id\": ");

        assertEquals(Optional.of("b"), state.owner().map(MachineIdentity::id));

        installed("c");
        assertEquals(Optional.empty(), state.owner());
    }

    @Test
    void aDatabaseIsKeptOfWhomItIsInUseOrSetAside() throws IOException {
        claim("a", A);
        assertFalse(state.isKept("a"), "nothing was opened yet");
        remember("process/of-a");
        assertTrue(state.isKept("a"));
        assertFalse(state.isKept("b"));
        claim("a", B);
        assertTrue(state.isKept("a"));
        assertFalse(state.isKept("b"));
        Files.delete(layout.machineFile());
        remember("process/of-nobody");
        assertFalse(state.isKept("b"));
    }

    private void installed(String id) throws IOException {
        Files.createDirectories(layout.of(id).installs(Kind.PLUGIN));
    }

    @Test
    void whatCanNotBeReadIsAnError() throws IOException {
        Files.createDirectory(layout.machineFile());

        StoreException failure = assertThrows(StoreException.class, state::owner);
        assertTrue(String.valueOf(failure.getMessage())
                .contains(layout.machineFile().toString()));
    }

    @Test
    void anotherInstanceBeginsAnewAndTheFormerOnesStateIsKept() {
        claim("a", A);
        remember("process/of-a");

        assertTrue(claim("a", B).isPresent());

        assertEquals(Optional.of(B), state.owner());
        assertFalse(Files.exists(layout.database()));
        assertEquals(0, remembered());
        assertTrue(Files.exists(layout.machineDirectory().resolve("homeostat.db")));
    }

    @Test
    void theFormerInstanceFindsItsStateAgain() {
        claim("a", A);
        remember("process/of-a");
        claim("a", B);
        remember("process/of-b");
        remember("process/of-b-too");

        assertTrue(claim("b", A).isPresent());
        assertEquals(1, remembered());

        assertTrue(claim("a", B).isPresent());
        assertEquals(2, remembered());
    }

    @Test
    void aClaimThatWasBrokenOffBetweenItsStepsIsCompleted() throws IOException {
        claim("a", A);
        remember("process/of-a");
        // Moved, and killed before the note was written.
        Files.createDirectories(layout.machineDirectory());
        Files.move(layout.database(), layout.machineDirectory().resolve("homeostat.db"));

        claim("a", A);
        assertEquals(1, remembered());

        Files.move(layout.database(), layout.machineDirectory().resolve("homeostat.db"));
        claim("a", B);
        assertEquals(Optional.of(B), state.owner());
        assertEquals(0, remembered());
    }

    @Test
    void aLogThatWasPartedFromItsDatabaseComesBackWhenTheInstanceIsTheFormerOneAfterAll() throws IOException {
        claim("a", A);
        Path log = StateDirectory.companion(layout.database(), "-wal");
        Path aside = layout.machineDirectory().resolve(log.getFileName());
        Files.createDirectories(layout.machineDirectory());
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            store.record(new Event(Clock.systemUTC().instant(), null, "", EventType.AGENT_STARTED, "process/of-a"));
            // As kill -9 leaves it, and another one in the middle of setting it aside.
            Files.copy(log, aside);
        }
        Files.deleteIfExists(log);
        byte[] committed = Files.readAllBytes(aside);

        assertFalse(claim("a", A).isPresent());

        assertFalse(Files.exists(aside));
        assertArrayEquals(committed, Files.readAllBytes(log));
        assertTrue(claim("a", B).isPresent());
        assertTrue(Files.exists(aside));
    }

    @Test
    void whatWasSetAsideIsNewsUntilItIsTold() throws IOException {
        claim("a", A);
        remember("process/of-a");
        assertEquals(Optional.of("a gives way to b"), claim("a", B));

        // Killed before anybody could be told.
        assertEquals(Optional.of("a gives way to b"), claim("b", B));
        new MachineState(layout).told();

        assertEquals(Optional.empty(), claim("b", B));
        assertEquals(Optional.of(B), state.owner());
    }

    @Test
    void aMoveThatWasCompleteWhenTheClaimWasBrokenOffIsNewsToo() throws IOException {
        claim("a", A);
        remember("process/of-a");
        Files.createDirectories(layout.machineDirectory());
        Files.move(layout.database(), layout.machineDirectory().resolve("homeostat.db"));

        assertEquals(Optional.of("a gives way to b"), claim("a", B));
    }

    @Test
    void whoComesBackIsNotToldThatItWasSetAside() {
        claim("a", A);
        remember("process/of-a");
        claim("a", B);

        assertEquals(Optional.empty(), claim("b", A));
        assertEquals(1, remembered());
        assertEquals(Optional.empty(), claim("a", A));
    }

    private Optional<String> claim(String former, MachineIdentity now) {
        return new MachineState(layout).claim(former, now, former + " gives way to " + now.id());
    }

    private void remember(String message) {
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            store.record(new Event(Clock.systemUTC().instant(), null, "", EventType.AGENT_STARTED, message));
        }
    }

    private int remembered() {
        try (StateStore store =
                StateStores.openForWriting(layout, Clock.systemUTC()).store()) {
            return store.events(0, 100).size();
        }
    }
}
