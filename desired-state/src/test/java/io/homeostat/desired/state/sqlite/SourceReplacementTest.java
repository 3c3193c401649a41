package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.NOON;
import static io.homeostat.desired.state.sqlite.Samples.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.yaml.Problem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a source declares, and what is wrong with it, as one content after the other. */
final class SourceReplacementTest {
    private static final WorkloadId A = WorkloadId.plugin("a");
    private static final WorkloadId B = WorkloadId.plugin("b");

    @TempDir
    Path directory;

    private Layout layout;
    private SqliteStateStore store;

    @BeforeEach
    void open() {
        layout = Samples.layout(directory);
        reopen();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void aSourceDeclaresItsContentAndNothingElse() {
        assertEquals(ImmutableSet.of(A, B), replace(from("/a", plugin("a", "1")), from("/b", plugin("b", "1"))));

        assertEquals(ImmutableSet.of(A, B), replace(from("/a", plugin("a", "2"))));

        assertEquals(ImmutableList.of("files plugin/a 2 generation 2 from /a"), declared());
        assertTrue(store.everDeclared());
    }

    @Test
    void everySourceHasItsOwnDeclarationAndGeneration() {
        Samples.apply(store, "/x", false, plugin("a", "applied"));
        replace(from("/a", plugin("a", "1")));
        replace(from("/a", plugin("a", "2")));

        assertEquals(
                ImmutableSet.of(
                        "applied plugin/a applied generation 1 from /x", "files plugin/a 2 generation 2 from /a"),
                ImmutableSet.copyOf(declared()));
        Declaration winner = StoredState.desired(store.declarations()).get(A).orElseThrow();
        assertEquals(SourceName.APPLIED, winner.source());
        assertEquals(ImmutableList.of(SourceName.FILES), winner.overruled());

        store.delete(ImmutableList.of(A));
        assertEquals(ImmutableList.of("files plugin/a 2 generation 2 from /a"), declared());
    }

    @Test
    void pruningAnApplyLeavesOtherSourcesWithTheSameOriginAlone() {
        replace(from("/a", plugin("a", "1")));
        Samples.apply(store, "/a", true, plugin("b", "1"));
        Samples.apply(store, "/a", true);

        assertEquals(ImmutableList.of("files plugin/a 1 generation 1 from /a"), declared());
    }

    @Test
    void generationsGoOnWhenAWorkloadComesBack() {
        replace(from("/a", plugin("a", "1")));
        replace();
        replace(from("/a", plugin("a", "1")));

        assertEquals(ImmutableList.of("files plugin/a 1 generation 2 from /a"), declared());
    }

    @Test
    void whatWasReadFromARetainedOriginStaysUnlessItIsDeclaredElsewhere() {
        replace(from("/bad", plugin("a", "1")), from("/bad", plugin("b", "1")), from("/gone", plugin("c", "1")));

        ImmutableSet<WorkloadId> changed = store.replace(
                new SourceContent(
                        SourceName.FILES,
                        ImmutableList.of(from("/good", plugin("b", "2"))),
                        ImmutableSet.of("/bad"),
                        ImmutableList.of()),
                NOON);

        assertEquals(ImmutableSet.of(B, WorkloadId.plugin("c")), changed);
        assertEquals(
                ImmutableSet.of("files plugin/a 1 generation 1 from /bad", "files plugin/b 2 generation 2 from /good"),
                ImmutableSet.copyOf(declared()));
    }

    @Test
    void anotherOriginAloneChangesNothingForTheWorkload() {
        replace(from("/a", plugin("a", "1")));
        assertEquals(ImmutableSet.of(), replace(from("/b", plugin("a", "1"))));
        assertEquals(ImmutableList.of("files plugin/a 1 generation 1 from /b"), declared());
    }

    @Test
    void equalContentWritesNothing() throws IOException {
        SourceContent content = new SourceContent(
                SourceName.FILES,
                ImmutableList.of(from("/a", plugin("a", "1"))),
                ImmutableSet.of("/bad"),
                ImmutableList.of(problem("/bad", "it is bad")));
        store.replace(content, NOON);
        long before = Files.size(StateDirectory.companion(layout.database(), "-wal"));

        assertEquals(ImmutableSet.of(), store.replace(content, NOON.plusSeconds(60)));

        assertEquals(before, Files.size(StateDirectory.companion(layout.database(), "-wal")));
    }

    @Test
    void problemsAreToldOnceWhenTheyComeAndOnceWhenTheyAreGone() {
        problems(problem("/a", "a: one"));
        problems(problem("/a", "a: one"));
        assertEquals(ImmutableList.of("AGENT_SOURCE_INVALID files: a: one"), events());

        problems(problem("/a", "a: two"), problem("/b", "b: one"), problem("/b", "b: two"));
        problems(problem("/a", "a: two"));
        problems();

        assertEquals(
                ImmutableList.of(
                        "AGENT_SOURCE_INVALID files: a: one",
                        "AGENT_SOURCE_INVALID files: a: two",
                        "AGENT_SOURCE_INVALID files: b: one (and 1 more)"),
                events().subList(0, 3));
        assertEquals(5, events().size(), events()::toString);
        assertTrue(events().get(3).matches("AGENT_SOURCE_VALID files: .* /b .*"), events()::toString);
        assertTrue(events().get(4).matches("AGENT_SOURCE_VALID files: .* /a .*"), events()::toString);
        assertEquals(NOON, store.events(0, 1).getFirst().event().time());
    }

    @Test
    void aProblemIsToldOnceAlthoughItIsWordedAnewEachTime() {
        for (int i = 0; i < 3; i++) {
            problems(
                    new SourceProblem(SourceName.FILES, "/a", Problem.Kind.VALUE, "3:1 spec", "value, wording " + i),
                    new SourceProblem(SourceName.FILES, "/a", Problem.Kind.SYNTAX, "3:1 spec", "syntax, wording " + i),
                    new SourceProblem(SourceName.FILES, "/b", Problem.Kind.UNREADABLE, "", "unread, wording " + i));
        }

        assertEquals(
                ImmutableList.of(
                        "AGENT_SOURCE_INVALID files: value, wording 0 (and 1 more)",
                        "AGENT_SOURCE_INVALID files: unread, wording 0"),
                events());
        assertEquals(
                ImmutableList.of("syntax, wording 2", "value, wording 2", "unread, wording 2"),
                store.problems().stream().map(SourceProblem::message).collect(ImmutableList.toImmutableList()));
    }

    @Test
    void twoProblemsOfOneKindAtOnePlaceAreBothShown() {
        problems(
                new SourceProblem(SourceName.FILES, "/a", Problem.Kind.VALUE, "3:1 spec", "one"),
                new SourceProblem(SourceName.FILES, "/a", Problem.Kind.VALUE, "3:1 spec", "two"));

        assertEquals(ImmutableList.of("AGENT_SOURCE_INVALID files: one (and 1 more)"), events());
        assertEquals(2, store.problems().size());
    }

    @Test
    void aProblemOfAKindThatOnlyALaterProgramKnowsIsShown() {
        problems(problem("/a", "it is bad"));
        store.database.read("test", connection -> {
            Sqlite.execute(connection, "UPDATE source_problem SET kind = 'FROM_A_LATER_PROGRAM'");
            return true;
        });

        assertEquals(
                ImmutableList.of(
                        new SourceProblem(SourceName.FILES, "/a", Problem.Kind.UNSPECIFIED, "it is bad", "it is bad")),
                store.problems());
        problems(problem("/a", "it is bad"));
        assertEquals(ImmutableList.of(problem("/a", "it is bad")), store.problems());
    }

    @Test
    void aProblemOfOneSourceIsNoneOfAnother() {
        problems(problem("/a", "it is bad"));

        store.replace(
                new SourceContent(SourceName.LOCAL, ImmutableList.of(), ImmutableSet.of(), ImmutableList.of()), NOON);

        assertEquals(ImmutableList.of(problem("/a", "it is bad")), store.problems());
    }

    @Test
    void declarationsAndProblemsAreThereAfterReopening() {
        store.replace(
                new SourceContent(
                        SourceName.LOCAL,
                        ImmutableList.of(from("/a", plugin("a", "1"))),
                        ImmutableSet.of(),
                        ImmutableList.of(
                                new SourceProblem(SourceName.LOCAL, "/bad", Problem.Kind.VALUE, "", "it is bad"))),
                NOON);
        ImmutableList<StoredDeclaration> declarations = store.declarations();

        store.close();
        reopen();

        assertEquals(1, declarations.size());
        assertEquals(declarations, store.declarations());
        assertEquals(plugin("a", "1"), declarations.getFirst().workload());
        assertEquals(
                ImmutableList.of(new SourceProblem(SourceName.LOCAL, "/bad", Problem.Kind.VALUE, "", "it is bad")),
                store.problems());
    }

    @Test
    void aFailureInTheMiddleLeavesEverythingAsItWas() {
        replace(from("/a", plugin("a", "1")));
        store.database.read("test", connection -> {
            Sqlite.execute(
                    connection,
                    "CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'disk full'); END");
            return true;
        });

        assertThrows(
                StoreException.class,
                () -> store.replace(
                        new SourceContent(
                                SourceName.FILES,
                                ImmutableList.of(from("/b", plugin("b", "1"))),
                                ImmutableSet.of(),
                                ImmutableList.of(problem("/c", "it is bad"))),
                        NOON));

        assertEquals(ImmutableList.of("files plugin/a 1 generation 1 from /a"), declared());
        assertEquals(ImmutableList.of(), store.problems());
    }

    @Test
    void aKilledWriterLeavesAWholeContentBehind() throws Exception {
        store.close();
        long acknowledged;
        try (ChildJvm writer =
                ChildJvm.start(ReplacingWriter.class, layout.stateDir().toString())) {
            writer.awaitLines(40);
            acknowledged = Long.parseLong(writer.kill().getLast());
        }
        reopen();

        long stored = store.declarations().getFirst().generation();
        assertTrue(stored == acknowledged || stored == acknowledged + 1, () -> acknowledged + " and " + stored);
        assertEquals(ReplacingWriter.WORKLOADS, store.declarations().size());
        for (StoredDeclaration declaration : store.declarations()) {
            assertEquals(Long.toString(stored), declaration.workload().revision());
            assertEquals(stored, declaration.generation());
        }
        assertEquals(Long.toString(stored), store.problems().getFirst().message());
        assertEquals(stored, store.events(0, 1_000_000).size());
    }

    @Test
    void contentThatContradictsItselfIsRefused() {
        ToApply twice = from("/a", plugin("a", "1"));
        assertThrows(IllegalArgumentException.class, () -> replace(twice, from("/b", plugin("a", "2"))));
        ImmutableList<SourceProblem> foreign = ImmutableList.of(problem("/a", "it is bad"));
        assertThrows(
                IllegalArgumentException.class,
                () -> new SourceContent(SourceName.LOCAL, ImmutableList.of(), ImmutableSet.of(), foreign));
    }

    @Test
    void aDeclarationThatCantBeReadNamesItsFileAndIsRepairedByReadingItAgain() {
        replace(from("/etc/a.yaml", plugin("a", "1")));
        store.database.read("test", connection -> {
            Sqlite.execute(connection, "UPDATE declaration SET document = '{\"secret\": \"hunter2\"'");
            return true;
        });

        StoreException failure = assertThrows(StoreException.class, () -> store.declarations());
        assertTrue(failure.getMessage().contains("/etc/a.yaml"), failure::getMessage);
        assertFalse(failure.getMessage().contains("hunter2"), failure::getMessage);

        replace(from("/etc/a.yaml", plugin("a", "1")));
        assertEquals(ImmutableList.of("files plugin/a 1 generation 1 from /etc/a.yaml"), declared());
    }

    private ImmutableSet<WorkloadId> replace(ToApply... documents) {
        return store.replace(
                new SourceContent(
                        SourceName.FILES, ImmutableList.copyOf(documents), ImmutableSet.of(), ImmutableList.of()),
                NOON);
    }

    private void problems(SourceProblem... problems) {
        store.replace(
                new SourceContent(
                        SourceName.FILES, ImmutableList.of(), ImmutableSet.of(), ImmutableList.copyOf(problems)),
                NOON);
    }

    private static ToApply from(String origin, Workload workload) {
        return new ToApply(workload, origin);
    }

    private static SourceProblem problem(String origin, String message) {
        return new SourceProblem(SourceName.FILES, origin, Problem.Kind.VALUE, message, message);
    }

    private ImmutableList<String> declared() {
        return store.declarations().stream()
                .map(declaration -> declaration.source().word() + " "
                        + declaration.workload().id() + " "
                        + declaration.workload().revision() + " generation " + declaration.generation() + " from "
                        + declaration.origin())
                .collect(ImmutableList.toImmutableList());
    }

    private ImmutableList<String> events() {
        return store.events(0, 100).stream()
                .map(StoredEvent::event)
                .map(event -> event.type() + " " + event.message())
                .collect(ImmutableList.toImmutableList());
    }

    private void reopen() {
        store = (SqliteStateStore)
                StateStores.openForWriting(layout, Samples.CLOCK).store();
    }
}
