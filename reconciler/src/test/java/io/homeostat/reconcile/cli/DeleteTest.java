package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.Change;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.StateStore;
import io.homeostat.desired.store.StateStores;
import java.nio.file.Path;
import java.time.Clock;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Deleting what nobody declares. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class DeleteTest {
    private static final WorkloadId GHOST = WorkloadId.process("ghost");

    @TempDir
    Path directory;

    @Test
    void whatIsRememberedOnlyByItsLaunchCanBeDeletedAsStatusAdvises() {
        Shell shell = new Shell(directory);
        try (StateStore store = open(shell)) {
            store.commit(Change.ofHandle(launchOfGhost()));
        }

        Shell.Result deleted = shell.run("delete", GHOST.toString());

        assertEquals(0, deleted.status(), deleted.err());
        try (StateStore store = open(shell)) {
            assertTrue(store.handles(GHOST).isEmpty());
        }
    }

    @Test
    void whatIsNowhereCannotBeDeleted() {
        Shell.Result deleted = new Shell(directory).run("delete", GHOST.toString());

        assertEquals(1, deleted.status());
        assertTrue(deleted.err().contains("was not applied, so nothing was deleted"), deleted.err());
    }

    private static StateStore open(Shell shell) {
        return StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store();
    }

    private static Handle launchOfGhost() {
        return new Handle(
                "launch-of-a-ghost",
                GHOST,
                "hash",
                "local",
                null,
                ImmutableSortedMap.of(),
                Clock.systemUTC().instant(),
                null,
                Handle.StartState.NOT_SENT,
                "");
    }
}
