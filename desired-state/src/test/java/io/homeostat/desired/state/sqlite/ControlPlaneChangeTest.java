package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static io.homeostat.desired.state.sqlite.Samples.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.nio.file.Path;
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
        store.receive(new ControlPlaneChange(
                declared(plugin("ops-agent", "1"), plugin("b", "1")),
                ImmutableSet.of(),
                ImmutableMap.of(AGENT, Samples.eventful()),
                ImmutableList.of(Samples.event(AGENT, "sent"))));

        assertEquals(ImmutableSet.of("plugin/b 1 generation 1", "plugin/ops-agent 1 generation 1"), declarations());
        assertEquals(Samples.eventful(), store.history(AGENT));
        assertEquals("sent", store.events(0, 10).getFirst().event().message());
        assertTrue(store.everDeclared());
    }

    @Test
    void whatAMessageDoesNotNameStaysAsItIs() {
        store.receive(change(declared(plugin("ops-agent", "1"), plugin("b", "1")), ImmutableSet.of()));

        store.receive(change(declared(plugin("b", "2")), ImmutableSet.of(AGENT)));

        assertEquals(ImmutableSet.of("plugin/b 2 generation 2"), declarations());
    }

    @Test
    void aDeclarationThatIsSentAgainKeepsItsGeneration() {
        store.receive(change(declared(plugin("b", "1")), ImmutableSet.of()));
        store.receive(change(declared(plugin("b", "1")), ImmutableSet.of()));

        assertEquals(ImmutableSet.of("plugin/b 1 generation 1"), declarations());
    }

    @Test
    void whatComesAgainIsStoredAgain() {
        ControlPlaneChange install = change(declared(plugin("b", "1")), ImmutableSet.of());
        store.receive(install);
        store.receive(change(declared(plugin("b", "2")), ImmutableSet.of()));

        store.receive(install);

        assertEquals(ImmutableSet.of("plugin/b 1 generation 3"), declarations());
    }

    @Test
    void aMessageThatCouldNotBeStoredIsTakenWhenItComesAgain() {
        ControlPlaneChange install = new ControlPlaneChange(
                declared(plugin("b", "1")),
                ImmutableSet.of(),
                ImmutableMap.of(),
                ImmutableList.of(Samples.event(AGENT, "sent")));
        execute("CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'disk full'); END");
        assertThrows(StoreException.class, () -> store.receive(install));
        assertEquals(ImmutableSet.of(), declarations());
        execute("DROP TRIGGER full");

        store.receive(install);

        assertEquals(ImmutableSet.of("plugin/b 1 generation 1"), declarations());
        assertEquals(1, store.events(0, 10).size());
    }

    @Test
    void aWorkloadIsNotDeclaredAndWithdrawnAtOnce() {
        assertThrows(
                IllegalArgumentException.class,
                () -> change(declared(plugin("ops-agent", "1")), ImmutableSet.of(AGENT)));
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

    private static ControlPlaneChange change(ImmutableList<ToApply> declared, ImmutableSet<WorkloadId> withdrawn) {
        return new ControlPlaneChange(declared, withdrawn, ImmutableMap.of(), ImmutableList.of());
    }
}
