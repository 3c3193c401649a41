package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.NOON;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.StoredSet.Highest;
import io.homeostat.desired.state.StoredSet.Standing;
import io.homeostat.desired.yaml.Problem;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The last good set of each source of published sets, with what is declared of it. */
final class PublishedSetsTest {
    private static final String NAME = "etcd:/homeostat/set";
    private static final Instant LATER = NOON.plusSeconds(60);
    private static final WorkloadId WEB = WorkloadId.plugin("web");

    @TempDir
    Path directory;

    private Layout layout;
    private StateStore store;

    @BeforeEach
    void open() {
        layout = Samples.layout(directory);
        store = StateStores.openForWriting(layout, Samples.CLOCK).store();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void aSetIsThereWithItsDeclarationsAfterARestart() {
        assertEquals(ImmutableSet.of(WEB), take(set(7, "d7", "key"), "a: 1\n", Samples.plugin("web", "1")));

        close();
        open();

        StoredSet expected = set(7, "d7", "key").set();
        assertEquals(
                ImmutableList.of(new Standing(SourceName.ETCD, NAME, Optional.of(expected), Optional.of(NOON))),
                store.publishedSets());
        assertEquals(ImmutableSortedMap.of("web.yaml", "a: 1\n"), store.publishedDocuments(SourceName.ETCD));
        assertEquals(ImmutableSortedMap.of(), store.publishedDocuments(SourceName.GIT));
        assertEquals(ImmutableList.of("web"), declared());
        assertTrue(store.everDeclared());
    }

    @Test
    void eachSetThatComesIntoForceIsToldOnce() {
        take(set(7, "d7", "key"), "");
        take(set(7, "d7", "key"), "");
        take(set(8, "d8", "key"), "");
        take(set(0, "d0"), "");

        assertEquals(3, taken().size(), taken()::toString);
        assertEquals("etcd: the set of etcd:/homeostat/set is in force, version 12, sequence 7", taken().getFirst());
        assertTrue(taken().get(1).endsWith(", version 12, sequence 8"), taken()::toString);
        assertTrue(taken().get(2).endsWith(", version 12"), taken()::toString);
    }

    private ImmutableList<String> taken() {
        return store.events(0, 100).stream()
                .map(StoredEvent::event)
                .filter(event -> event.type() == EventType.AGENT_SET_TAKEN)
                .map(Event::message)
                .collect(ImmutableList.toImmutableList());
    }

    @Test
    void aSetIsNotKeptWhenWhatItDeclaresCannotBe() throws SQLException {
        take(set(7, "d7", "key"), "old", Samples.plugin("web", "1"));
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            Sqlite.execute(
                    connection,
                    "CREATE TRIGGER refuse BEFORE INSERT ON declaration BEGIN SELECT RAISE(ABORT, 'refused'); END");
        }

        assertThrows(
                StoreException.class,
                () -> take(set(8, "d8", "key"), "new", Samples.plugin("web", "2"), Samples.plugin("db", "1")));

        assertEquals(ImmutableSortedMap.of("web.yaml", "old"), store.publishedDocuments(SourceName.ETCD));
        assertEquals(ImmutableList.of(new Highest("key", 7, "d7")), store.highestSequences(SourceName.ETCD));
        assertEquals(ImmutableList.of("web"), declared());
        assertEquals(1, taken().size(), "nor is it told");
    }

    @Test
    void theHighestSequenceOfEachKeyStays() {
        take(set(9, "d9", "one", "two"), "");
        take(set(5, "d5", "three"), "");
        take(set(4, "d4", "one"), "");
        take(set(0, "d0"), "");

        assertEquals(
                ImmutableList.of(
                        new Highest("", 0, "d0"),
                        new Highest("one", 9, "d9"),
                        new Highest("three", 5, "d5"),
                        new Highest("two", 9, "d9")),
                store.highestSequences(SourceName.ETCD));
        assertEquals(ImmutableList.of(), store.highestSequences(SourceName.GIT));
    }

    @Test
    void aSourceThatIsWithdrawnLeavesItsSequencesOnly() {
        take(set(9, "d9", "one"), "", Samples.plugin("web", "1"));
        SourceProblem problem = new SourceProblem(SourceName.ETCD, NAME, Problem.Kind.UNREADABLE, "", "gone");
        store.replace(
                new SourceContent(
                        SourceName.ETCD,
                        ImmutableList.of(),
                        ImmutableSet.of(NAME + "/web.yaml"),
                        ImmutableList.of(problem)),
                LATER);

        assertEquals(ImmutableSet.of(WEB), store.withdrawSet(SourceName.ETCD, LATER));

        assertEquals(ImmutableList.of(), store.publishedSets());
        assertEquals(ImmutableSortedMap.of(), store.publishedDocuments(SourceName.ETCD));
        assertEquals(ImmutableList.of(), store.problems());
        assertEquals(ImmutableList.of(), declared());
        assertEquals(ImmutableList.of(new Highest("one", 9, "d9")), store.highestSequences(SourceName.ETCD));
    }

    @Test
    void theLastAnswerOfASourceIsThatOfItsName() {
        store.answered(SourceName.GIT, "https://one/", null);
        assertEquals(Optional.empty(), store.publishedSets().getFirst().answeredAt());

        store.answered(SourceName.GIT, "https://one/", NOON);
        store.answered(SourceName.GIT, "https://one/", null);
        assertEquals(
                Optional.of(NOON), store.publishedSets().getFirst().answeredAt(), "not yet since it is asked anew");

        store.answered(SourceName.GIT, "https://two/", null);
        assertEquals(
                ImmutableList.of(new Standing(SourceName.GIT, "https://two/", Optional.empty(), Optional.empty())),
                store.publishedSets());
    }

    @Test
    void statesOfRolloutsReplaceEachOther() {
        store.storeRolloutStates(ImmutableSortedMap.of("web", "{\"wave\":1}", "db", "{}"));
        store.storeRolloutStates(ImmutableSortedMap.of("web", "{\"wave\":2}"));
        ImmutableSortedMap<String, String> labels = ImmutableSortedMap.of("role", "web", "tier", "front");
        assertEquals(OptionalLong.empty(), store.registeredAt(labels));
        store.storeRegistration(17, labels);

        close();
        open();

        assertEquals(ImmutableSortedMap.of("web", "{\"wave\":2}"), store.rolloutStates());
        assertEquals(OptionalLong.of(17), store.registeredAt(labels));
        assertEquals(OptionalLong.empty(), store.registeredAt(ImmutableSortedMap.of("role", "web")));
    }

    @Test
    void aRowThatIsNotValidIsAnErrorWithoutItsContent() throws SQLException {
        take(set(9, "d9", "one"), "");
        try (Connection connection = Sqlite.openExisting(layout.database())) {
            Sqlite.execute(connection, "UPDATE published_set SET documents = 'hunter2', taken_at = 'noon'");
        }

        StoreException documents = assertThrows(StoreException.class, () -> store.publishedDocuments(SourceName.ETCD));
        StoreException standing = assertThrows(StoreException.class, store::publishedSets);

        assertEquals(
                "cannot read the set of etcd from the database: its row is not valid. Move the database away; the agent"
                        + " gets the set again",
                documents.getMessage());
        assertTrue(standing.getMessage().contains("'noon'"), standing::getMessage);
    }

    @Test
    void aDatabaseOfTheNinthVersionKnowsNoSetsAndCanTakeOne() throws SQLException {
        close();
        Layout old = Samples.layout(directory.resolve("old"));
        Schema ninth = new Schema(Schema.CURRENT.migrations().subList(0, 9));
        try (StateStore before = new StateStores(ninth).open(old, Samples.CLOCK).store()) {
            Samples.apply(before, "/x", false, Samples.plugin("db", "1"));
        }

        layout = old;
        store = StateStores.openForWriting(layout, Samples.CLOCK).store();

        assertEquals(ImmutableList.of(), store.publishedSets());
        take(set(1, "d1"), "", Samples.plugin("web", "1"));
        assertEquals(ImmutableList.of("db", "web"), declared());
    }

    private ImmutableSet<WorkloadId> take(Taken taken, String text, Workload... declared) {
        ImmutableList.Builder<ToApply> documents = ImmutableList.builder();
        for (Workload workload : declared) {
            documents.add(new ToApply(workload, NAME + "/web.yaml"));
        }
        return store.take(
                new StoredSet.Content(taken.set(), taken.signers(), ImmutableSortedMap.of("web.yaml", text)),
                new SourceContent(SourceName.ETCD, documents.build(), ImmutableSet.of(), ImmutableList.of()),
                NOON);
    }

    private record Taken(StoredSet set, ImmutableList<String> signers) {}

    private static Taken set(long sequence, String digest, String... signers) {
        return new Taken(
                new StoredSet(SourceName.ETCD, NAME, "12", sequence, Optional.of(NOON), digest, LATER),
                ImmutableList.copyOf(signers));
    }

    private ImmutableList<String> declared() {
        return store.declarations().stream()
                .map(StoredDeclaration::workload)
                .map(workload -> workload.id().name())
                .sorted()
                .collect(ImmutableList.toImmutableList());
    }
}
