package io.homeostat.reconcile.agent.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig.SignedSets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.Problem;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Clock;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What comes of what a source of sets gives, and of what it does not give. */
final class PublishedSourceTest {
    private static final String NAME = "https://fleet.example/set.json";
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    private final Layout layout;
    private Instant now = NOON;
    private int changes;
    private StateStore store;
    private PublishedSource source;

    PublishedSourceTest(@TempDir Path directory) {
        layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        source = source(NAME);
        source.refresh();
    }

    private PublishedSource source(String name) {
        SetReader reader = new SetReader(new SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE);
        return new PublishedSource(
                SourceName.HTTPS, name, reader, () -> choice, store, () -> now, new ReentrantLock(), () -> changes++);
    }

    private Choice choice = Choice.ALL;

    private void restart(String name) {
        store.close();
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        source = source(name);
        source.refresh();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void aSetIsDeclaredAndRemembered() {
        source.fetched(set("v1", 7, "web", "db"));

        assertEquals(ImmutableList.of(NAME + "/db.yaml", NAME + "/web.yaml"), origins());
        assertEquals(Optional.of("v1"), source.seen());
        StoredSet set = standing().set().orElseThrow();
        assertEquals(NAME, set.name());
        assertEquals("v1", set.version());
        assertEquals(7, set.sequence());
        assertEquals(NOON, set.takenAt());
        assertEquals(1, changes);
    }

    @Test
    void yamlOfOneFileIsThatFile() {
        source = source("https://fleet.example/all.yaml");
        source.fetched(new Fetched.File("v1", ByteString.copyFromUtf8(process("web"))));

        assertEquals(ImmutableList.of("https://fleet.example/all.yaml"), origins());
    }

    @Test
    void aTreeOfFilesIsASet() {
        source.fetched(new Fetched.Tree(
                "c1",
                ImmutableSortedMap.of(
                        "a/web.yaml",
                        ByteString.copyFromUtf8(process("web")),
                        "README.md",
                        ByteString.copyFromUtf8("read")),
                "it went back"));

        assertEquals(ImmutableList.of(NAME + "/a/web.yaml"), origins());
    }

    @Test
    void aMistakeLeavesAllOfTheLastGoodSetInForce() {
        source.fetched(set("v1", 7, "web"));

        source.fetched(file("v2", 8, ImmutableSortedMap.of("db.yaml", process("db"), "web.yaml", "kind: Wrong\n")));

        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
        SourceProblem problem = store.problems().getFirst();
        assertEquals(NAME + "/web.yaml", problem.origin());
        assertTrue(problem.message().startsWith(NAME + "/web.yaml:1:"), problem::message);
        assertEquals("v1", standing().set().orElseThrow().version());
        assertEquals(Optional.of("v2"), source.seen(), "it is not asked for again");

        source.fetched(new Fetched.NotModified());
        assertEquals(problem, store.problems().getFirst(), "as long as it is published");

        source.fetched(set("v3", 9, "db"));
        assertEquals(ImmutableList.of(), store.problems());
        assertEquals(ImmutableList.of(NAME + "/db.yaml"), origins());
    }

    @Test
    void whatIsNoSetIsRefused() {
        source.fetched(set("v1", 7, "web"));

        source.fetched(new Fetched.File("v2", ByteString.copyFromUtf8("{\"documents\": 1}")));

        SourceProblem problem = store.problems().getFirst();
        assertEquals(NAME, problem.origin());
        assertEquals(Problem.Kind.VALUE, problem.kind());
        assertTrue(
                problem.message().startsWith(NAME + ": ") && problem.message().contains("'documents'"),
                problem::message);
        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
        ImmutableList<String> told = store.events(0, 10).stream()
                .map(stored -> stored.event().message())
                .collect(ImmutableList.toImmutableList());
        assertEquals(2, told.size(), told::toString);
        assertTrue(told.getFirst().endsWith(", version v1, sequence 7"), told::toString);
        assertEquals("https: " + problem.message(), told.getLast());
    }

    /** A file that is being copied is empty for a moment. */
    @Test
    void aSetThatDeclaresNothingIsRefused() {
        source.fetched(file("v1", 1, ImmutableSortedMap.of("web.yaml", process("web"))));

        source.fetched(new Fetched.File("v2", ByteString.EMPTY));

        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
        assertEquals(1, store.problems().size());
        assertTrue(
                store.problems()
                        .getFirst()
                        .message()
                        .contains(
                                "the set declares nothing at all, as if something had been cut off; publish one with a document, or take sources.https out of agent.yaml"));
    }

    @Test
    void anOlderSetIsNotTakenAgain() {
        source.fetched(set("v1", 7, "web"));
        source.fetched(set("v2", 9, "db"));
        restart(NAME);

        source.fetched(set("v1", 7, "web"));

        assertEquals(ImmutableList.of(NAME + "/db.yaml"), origins());
        assertTrue(
                store.problems().getFirst().message().contains(" 7, and 9 "),
                () -> store.problems().toString());

        source.fetched(set("v3", 9, "web"));
        assertTrue(
                store.problems().getFirst().message().contains("same sequence, 9"),
                () -> store.problems().toString());
    }

    @Test
    void aSourceThatIsAwayKeepsItsSetAndTheWordsSaySinceWhen() {
        source.fetched(set("v1", 7, "web"));
        now = NOON.plusSeconds(90);
        source.fetched(new Fetched.NotModified());
        now = NOON.plusSeconds(300);

        source.failed("no connection to fleet.example");

        SourceProblem away = new SourceProblem(
                SourceName.HTTPS,
                NAME,
                Problem.Kind.UNREADABLE,
                "",
                NAME + ": no connection to fleet.example; it last answered at 2026-11-20T12:01:30Z");
        assertEquals(ImmutableList.of(away), store.problems());
        restart(NAME);
        assertEquals(ImmutableList.of(away), store.problems());
        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
        assertEquals(Optional.empty(), source.seen(), "whatever it has is looked at anew");

        source.fetched(set("v1", 7, "web"));
        assertEquals(ImmutableList.of(), store.problems());
        assertEquals(Optional.of(now), standing().answeredAt());
    }

    @Test
    void aSourceThatNeverAnsweredSaysSo() {
        source.failed("no connection");

        assertEquals(
                NAME + ": no connection; it has not answered yet",
                store.problems().getFirst().message());

        source.fetched(new Fetched.NotModified());
        assertEquals(ImmutableList.of(), store.problems());
    }

    @Test
    void aSourceThatHasNothingKeepsTheLastSet() {
        source.fetched(set("v1", 7, "web"));

        source.empty("no set there");

        assertEquals(NAME + ": no set there", store.problems().getFirst().message());
        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
    }

    @Test
    void aSourceThatMovedKeepsWhatIsStoredWithItsOldPlace() {
        source.fetched(set("v1", 7, "web"));
        source.failed("no connection");

        restart("https://other.example/set.json");

        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
        assertEquals(ImmutableList.of(), store.problems(), "what was wrong with another place");
        assertEquals(Optional.empty(), standing().answeredAt());
        assertEquals("https://other.example/set.json", standing().name());
    }

    @Test
    void whatIsStoredAndNotValidAnyMoreLeavesInForceWhatIs() throws SQLException {
        source.fetched(set("v1", 7, "web"));
        sql(layout, "UPDATE published_set SET documents = '{\"web.yaml\": \"kind: Wrong\"}'");

        restart(NAME);

        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
        assertTrue(store.problems().getFirst().message().contains("web.yaml:1:"));
    }

    @Test
    void aSetThatCannotBeStoredIsAskedForAgain() throws SQLException {
        source.fetched(set("v1", 7, "web"));
        sql(layout, "CREATE TRIGGER refuse BEFORE INSERT ON published_set BEGIN SELECT RAISE(ABORT, 'full'); END");

        assertThrows(StoreException.class, () -> source.fetched(set("v2", 8, "db")));

        assertEquals(Optional.of("v1"), source.seen());
        assertEquals(ImmutableList.of(NAME + "/web.yaml"), origins());
        sql(layout, "DROP TRIGGER refuse");
        source.fetched(set("v2", 8, "db"));
        assertEquals(ImmutableList.of(NAME + "/db.yaml"), origins());
    }

    @Test
    void whatIsToldAfterTheEndDoesNotCount() {
        source.end();
        source.fetched(set("v1", 7, "web"));
        source.failed("no connection");
        source.empty("nothing");

        assertEquals(ImmutableList.of(), origins());
        assertEquals(ImmutableList.of(), store.problems());
        assertEquals(0, changes);
    }

    static void sql(Layout layout, String statement) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + layout.database());
                Statement sql = connection.createStatement()) {
            sql.execute(statement);
        }
    }

    private StoredSet.Standing standing() {
        return store.publishedSets().getFirst();
    }

    private ImmutableList<String> origins() {
        return store.declarations().stream()
                .map(declaration -> declaration.origin())
                .sorted()
                .collect(ImmutableList.toImmutableList());
    }

    /** A set of one document for each process. */
    static Fetched.File set(String version, long sequence, String... processes) {
        ImmutableSortedMap.Builder<String, String> documents = ImmutableSortedMap.naturalOrder();
        for (String process : processes) {
            documents.put(process + ".yaml", process(process));
        }
        return file(version, sequence, documents.buildOrThrow());
    }

    private static Fetched.File file(String version, long sequence, ImmutableSortedMap<String, String> documents) {
        SetFile set = SetFile.of("default", sequence, NOON, documents, Optional.empty());
        return new Fetched.File(version, ByteString.copyFrom(set.bytes()));
    }

    static String process(String name) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec: {install: local, entryPoint: /bin/sleep, arguments: ["600"]}
                """.formatted(name);
    }
}
