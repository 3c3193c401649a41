package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.io.Resources;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.SourceProblem;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredDeclaration;
import io.homeostat.desired.state.StoredEvent;
import io.homeostat.desired.state.history.Told;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SchemaTest {
    private static final Schema NEXT =
            new Schema(ImmutableList.of("schema-1.sql", "schema-2.sql", "schema-3.sql", "schema-4-of-a-test.sql"));

    @TempDir
    Path directory;

    private Layout layout;

    @BeforeEach
    void locate() throws IOException {
        layout = Samples.layout(directory);
        Files.createDirectories(layout.stateDir());
    }

    @Test
    void aDatabaseOfTheFirstVersionIsReadInFull() throws Exception {
        createFrom("database-of-version-1.sql");

        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            StoredDeclaration applied = store.declarations().getFirst();
            assertEquals(Samples.plugin("ops-agent", "A1"), applied.workload());
            assertEquals("/etc/a.yaml", applied.origin());
            assertEquals(5, applied.generation());
            assertEquals(SourceName.APPLIED, applied.source());
            assertEquals(ImmutableList.of(new Pause(AGENT, "an upgrade by hand", Samples.NOON)), store.pauses());
            assertEquals(
                    ImmutableList.of(
                            new SourceProblem(SourceName.FILES, "/etc/bad.yaml", "/etc/bad.yaml:3:1: unknown key")),
                    store.problems());
            WorkloadHistory now = Samples.eventful();
            WorkloadHistory asItWasThen = now.withDecision(null)
                    .withTrial(now.trial().withTold(Told.NOTHING))
                    .withRun(now.run().withOneShot(null));
            assertEquals(ImmutableMap.of(AGENT, asItWasThen), store.histories());
            assertEquals(ImmutableList.of(Samples.instance(AGENT, "launch-1")), store.instances());
            assertEquals(
                    new StoredEvent(41, Samples.event(AGENT, "started")),
                    store.events(0, 10).getFirst());
            assertEquals(-123456789, store.seed());
            assertTrue(store.everDeclared());
        }
        assertEquals(Schema.CURRENT.version(), version());
    }

    @Test
    void anOlderDatabaseIsMigratedAndKeepsItsContent() throws SQLException {
        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            store.commit(Samples.events(AGENT, "one", "two"));
        }

        try (StateStore store =
                new StateStores(NEXT).open(layout, Samples.CLOCK).store()) {
            assertEquals(2, store.events(0, 10).size());
        }

        assertEquals(NEXT.version(), version());
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            assertEquals(2, Sqlite.integer(connection, "SELECT id FROM something_new"));
        }
    }

    @Test
    void aNewDatabaseGoesThroughTheSameMigrations() throws SQLException {
        new StateStores(NEXT).open(layout, Samples.CLOCK).store().close();

        assertEquals(NEXT.version(), version());
    }

    @Test
    void aMigrationThatFailsLeavesTheDatabaseAsItWas() throws SQLException {
        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            store.commit(Samples.events(AGENT, "one"));
        }
        Schema broken =
                new Schema(ImmutableList.of("schema-1.sql", "schema-2.sql", "schema-3.sql", "schema-4-that-fails.sql"));

        StoreException failure =
                assertThrows(StoreException.class, () -> new StateStores(broken).open(layout, Samples.CLOCK));

        assertTrue(failure.getMessage().contains(layout.database().toString()), failure::getMessage);
        assertEquals(Schema.CURRENT.version(), version());
        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            assertEquals(1, store.events(0, 10).size());
        }
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            assertFalse(Sqlite.text(connection, "SELECT group_concat(name) FROM sqlite_schema")
                    .contains("half_done"));
        }
    }

    @Test
    void aMigrationThatIsMissingIsAFaultOfTheProgram() {
        Schema incomplete = new Schema(ImmutableList.of("schema-1.sql", "nowhere.sql"));

        assertThrows(IllegalStateException.class, () -> new StateStores(incomplete).open(layout, Samples.CLOCK));
    }

    private void createFrom(String script) throws IOException, SQLException {
        Files.createFile(layout.database());
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            String text = Resources.toString(Resources.getResource(SchemaTest.class, script), StandardCharsets.UTF_8);
            for (String statement : text.split(";\n", -1)) {
                if (!statement.isBlank()) {
                    Sqlite.execute(connection, statement);
                }
            }
        }
    }

    private int version() throws SQLException {
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            return Sqlite.integer(connection, "PRAGMA user_version");
        }
    }
}
