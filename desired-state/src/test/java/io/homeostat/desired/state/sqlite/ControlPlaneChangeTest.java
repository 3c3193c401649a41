package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static io.homeostat.desired.state.sqlite.Samples.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.sqlite.SqliteStateStore.ReceivedMessages;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the control plane declares, one message after the other. */
final class ControlPlaneChangeTest {
    @TempDir
    Path directory;

    private Layout layout;
    private SqliteStateStore store;

    @BeforeEach
    void open() {
        layout = Samples.layout(directory);
        store = (SqliteStateStore)
                StateStores.openForWriting(layout, Samples.CLOCK).store();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void allThatAMessageChangesIsStoredTogether() {
        assertTrue(store.receive(new ControlPlaneChange(
                "m1",
                declared(plugin("ops-agent", "1"), plugin("b", "1")),
                ImmutableSet.of(),
                ImmutableMap.of(AGENT, Samples.eventful()),
                ImmutableList.of(Samples.event(AGENT, "sent")))));

        assertEquals(ImmutableSet.of("plugin/b 1 generation 1", "plugin/ops-agent 1 generation 1"), declarations());
        assertEquals(Samples.eventful(), store.history(AGENT));
        assertEquals("sent", store.events(0, 10).getFirst().event().message());
        assertTrue(store.everDeclared());
    }

    @Test
    void whatAMessageDoesNotNameStaysAsItIs() {
        store.receive(change("m1", declared(plugin("ops-agent", "1"), plugin("b", "1")), ImmutableSet.of()));

        store.receive(change("m2", declared(plugin("b", "2")), ImmutableSet.of(AGENT)));

        assertEquals(ImmutableSet.of("plugin/b 2 generation 2"), declarations());
    }

    @Test
    void aDeclarationThatIsSentAgainKeepsItsGeneration() {
        store.receive(change("m1", declared(plugin("b", "1")), ImmutableSet.of()));
        store.receive(change("m2", declared(plugin("b", "1")), ImmutableSet.of()));

        assertEquals(ImmutableSet.of("plugin/b 1 generation 1"), declarations());
    }

    @Test
    void aLateDuplicateDoesNotUndoWhatCameAfterIt() {
        ControlPlaneChange install = change("m1", declared(plugin("b", "1")), ImmutableSet.of());
        store.receive(install);
        store.receive(change("m2", declared(plugin("b", "2")), ImmutableSet.of()));

        assertFalse(store.receive(install));

        assertEquals(ImmutableSet.of("plugin/b 2 generation 2"), declarations());
    }

    @Test
    void whatWasReceivedIsRememberedAcrossRestarts() {
        ControlPlaneChange install = change("m1", declared(plugin("b", "1")), ImmutableSet.of());
        store.receive(install);
        store.close();
        open();

        assertFalse(store.receive(install));
    }

    @Test
    void onlyTheNewestThousandMessagesAreRemembered() throws SQLException {
        for (int i = 0; i < ReceivedMessages.REMEMBERED + 2; i++) {
            store.receive(change("m" + i, ImmutableList.of(), ImmutableSet.of()));
        }

        int remembered = store.database.read(
                "count", connection -> Sqlite.integer(connection, "SELECT count(*) FROM received_message"));
        assertEquals(ReceivedMessages.REMEMBERED, remembered);
        assertTrue(store.receive(change("m1", ImmutableList.of(), ImmutableSet.of())));
        assertFalse(store.receive(change("m3", ImmutableList.of(), ImmutableSet.of())));
    }

    @Test
    void messagesWithoutAnIdentityAreNoDuplicatesOfEachOther() {
        assertTrue(store.receive(change("", declared(plugin("b", "1")), ImmutableSet.of())));
        assertTrue(store.receive(change("", declared(plugin("b", "2")), ImmutableSet.of())));

        assertEquals(ImmutableSet.of("plugin/b 2 generation 2"), declarations());
    }

    @Test
    void aMessageThatCouldNotBeStoredIsTakenWhenItComesAgain() {
        ControlPlaneChange install = new ControlPlaneChange(
                "m1",
                declared(plugin("b", "1")),
                ImmutableSet.of(),
                ImmutableMap.of(),
                ImmutableList.of(Samples.event(AGENT, "sent")));
        execute("CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'disk full'); END");
        assertThrows(StoreException.class, () -> store.receive(install));
        assertEquals(ImmutableSet.of(), declarations());
        execute("DROP TRIGGER full");

        assertTrue(store.receive(install));

        assertEquals(ImmutableSet.of("plugin/b 1 generation 1"), declarations());
        assertEquals(1, store.events(0, 10).size());
    }

    @Test
    void aWorkloadIsNotDeclaredAndWithdrawnAtOnce() {
        assertThrows(
                IllegalArgumentException.class,
                () -> change("m1", declared(plugin("ops-agent", "1")), ImmutableSet.of(AGENT)));
    }

    private void execute(String sql) {
        store.database.read("test", connection -> {
            Sqlite.execute(connection, sql);
            return true;
        });
    }

    private ImmutableSet<String> declarations() {
        return store.declarations().stream()
                .map(one -> one.workload().id() + " " + one.workload().revision() + " generation " + one.generation())
                .collect(ImmutableSet.toImmutableSet());
    }

    private static ImmutableList<ToApply> declared(Workload... workloads) {
        return Stream.of(workloads)
                .map(workload -> new ToApply(workload, "unix:/run/acs.sock"))
                .collect(ImmutableList.toImmutableList());
    }

    private static ControlPlaneChange change(
            String id, ImmutableList<ToApply> declared, ImmutableSet<WorkloadId> withdrawn) {
        return new ControlPlaneChange(id, declared, withdrawn, ImmutableMap.of(), ImmutableList.of());
    }
}
