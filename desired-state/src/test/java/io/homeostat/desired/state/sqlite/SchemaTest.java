package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.io.Resources;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.yaml.DocumentCodec;
import io.homeostat.desired.yaml.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SchemaTest {
    private static final Schema NEXT = Samples.nextSchema();

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
                    ImmutableList.of(new SourceProblem(
                            SourceName.FILES,
                            "/etc/bad.yaml",
                            Problem.Kind.UNSPECIFIED,
                            "",
                            "/etc/bad.yaml:3:1: unknown key")),
                    store.problems());
            WorkloadHistory now = Samples.withoutFormer(Samples.eventful());
            WorkloadHistory asItWasThen = now.withDecision(null)
                    .withAttempts(now.attempts().withReported(Reported.NOTHING).withReload(ReloadFailures.NONE))
                    .withRun(now.run()
                            .withOneShot(null)
                            .withAgain(null)
                            .withCalendar(null)
                            .withoutCompleted()
                            .withStop(null));
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
    void theInstancesOfTheThirdVersionKeepAllThatWasKnownOfThem() throws Exception {
        createFrom("database-of-version-3.sql");

        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            String none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
            String boot = "802d7b16-ba13-4347-b0df-6b36b0ac6743";
            Instance process = new Instance(
                    "49ad2b56-1149-445d-96ca-7d21eff613ca",
                    WorkloadId.process("web"),
                    "8ba135739ee07c8be532ffb6274ab7c19320a407639e750581ae6e686466e259",
                    "local",
                    null,
                    ImmutableSortedMap.of(
                            "arguments",
                            "b9eab8f27954dc8706f561de721c01246da731195182292b5a21dacb35d37747",
                            "entryPoint",
                            "e033c99c254013ef6943b932694539c65763e9b3ee192e1fb3a70825373d31f4",
                            "environment",
                            none,
                            "user",
                            none),
                    Instant.parse("2026-11-22T11:25:33.335Z"),
                    new ProcessIdentity(19711, 331516, boot),
                    Phase.STARTED,
                    "");
            Instance plugin = new Instance(
                    "4a880506-ce8e-498b-a644-294b1867237c",
                    WorkloadId.plugin("greeter"),
                    "cda519523db2cfa03b3a5e7ca7b5bb562015c3bfe8fd72ac6bb5d688a2ce4a7a",
                    "1",
                    "greeter_1",
                    ImmutableSortedMap.of(
                            "arguments",
                            none,
                            "entryPoint",
                            "1bc40dd2e4fe6a466a1eb5a2807dbb73b3e54166a3ee8d30d624f6fbc5d996dc",
                            "environment",
                            none,
                            "user",
                            none),
                    Instant.parse("2026-11-22T11:25:56.872Z"),
                    new ProcessIdentity(20995, 333858, boot),
                    Phase.STARTED,
                    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
            assertEquals(ImmutableList.of(process, plugin), store.instances());
            assertEquals(2, store.declarations().size());
            assertEquals(2, store.histories().size());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "NOT_SENT, false, INTENDED",
        "NOT_SENT, true, CREATED",
        "SENT, true, START_SENT",
        "SENT, false, START_SENT",
        "SUCCEEDED, true, STARTED"
    })
    void everyPhaseOfTheThirdVersionIsMigrated(String start, boolean created, Phase phase) throws Exception {
        createFrom("database-of-version-3.sql");
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            Sqlite.execute(connection, "UPDATE handle SET start = '" + start + "'");
            if (!created) {
                Sqlite.execute(connection, "UPDATE handle SET pid = NULL, start_ticks = NULL, boot_id = NULL");
            }
        }

        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            for (Instance instance : store.instances()) {
                assertEquals(phase, instance.phase());
                assertEquals(created, instance.identity() != null);
            }
            assertEquals(2, store.instances().size());
        }
    }

    @Test
    void theProblemsOfTheFourthVersionAreNotToldAgain() throws Exception {
        createFrom("database-of-version-4.sql");
        String bad = "/etc/homeostat.d/bad.yaml";
        String worse = "/etc/homeostat.d/worse.yaml";
        Problem.Kind[] kinds = {Problem.Kind.VALUE, Problem.Kind.UNKNOWN_KEY, Problem.Kind.SYNTAX};

        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            ImmutableList<SourceProblem> stored = store.problems();
            assertEquals(
                    ImmutableList.of(bad, bad, worse),
                    stored.stream().map(SourceProblem::origin).collect(ImmutableList.toImmutableList()));
            int events = store.events(0, 100).size();

            // What this version finds in the same files.
            ImmutableList.Builder<SourceProblem> found = ImmutableList.builder();
            for (int i = 0; i < kinds.length; i++) {
                SourceProblem old = stored.get(i);
                found.add(new SourceProblem(SourceName.FILES, old.origin(), kinds[i], i + ":1", old.message()));
            }
            replaceProblems(store, found.build());
            assertEquals(found.build(), store.problems());
            assertEquals(events, store.events(0, 100).size());

            SourceProblem news = new SourceProblem(SourceName.FILES, worse, Problem.Kind.VALUE, "9:9", "it is bad");
            replaceProblems(store, ImmutableList.of(news));
            assertEquals(
                    ImmutableList.of(
                            "files: it is bad", "files: nothing is wrong with /etc/homeostat.d/bad.yaml any more"),
                    store.events(0, 100).stream()
                            .skip(events)
                            .map(event -> event.event().message())
                            .collect(ImmutableList.toImmutableList()));
        }
    }

    private static void replaceProblems(StateStore store, ImmutableList<SourceProblem> problems) {
        store.replace(
                new SourceContent(SourceName.FILES, ImmutableList.of(), ImmutableSet.of(), problems), Samples.NOON);
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
    void revisionsOfBeforeTheyCouldComeBackAreReadAsTheyWere() throws SQLException {
        Schema former = new Schema(ImmutableList.of(
                "schema-1.sql",
                "schema-2.sql",
                "schema-3.sql",
                "schema-4.sql",
                "schema-5.sql",
                "schema-6.sql",
                "schema-7.sql"));
        new StateStores(former).open(layout, Samples.CLOCK).store().close();
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            Database.update(
                    connection,
                    "INSERT INTO revision(workload, number, hash, source, document, tried_at, good_at)"
                            + " VALUES (?, 3, 'h', 'applied', ?, ?, ?)",
                    AGENT.toString(),
                    DocumentCodec.toJson(Samples.plugin("ops-agent", "A")),
                    Samples.NOON.toString(),
                    Samples.NOON.toString());
        }

        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            StoredRevision revision = store.revisions(AGENT).getFirst();
            assertEquals(3, revision.number());
            assertTrue(revision.wasGood());
            assertEquals(Optional.empty(), revision.backTo());
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
        Schema broken = new Schema(ImmutableList.<String>builder()
                .addAll(NEXT.migrations())
                .add("schema-that-fails.sql")
                .build());

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
