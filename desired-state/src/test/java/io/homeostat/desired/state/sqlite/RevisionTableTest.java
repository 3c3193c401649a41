package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static io.homeostat.desired.state.sqlite.Samples.NOON;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The table of revisions follows what the history tells. */
class RevisionTableTest {
    private static final Instant LATER = NOON.plusSeconds(60);

    @TempDir
    Path directory;

    private StateStore store;

    @BeforeEach
    void open() {
        store = StateStores.openForWriting(Samples.layout(directory), Samples.CLOCK)
                .store();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void aDeclarationThatIsTriedGetsANumberAndIsGoodOnceItWorks() {
        trying("A");
        assertEquals(List.of("1 A tried"), told());

        works("A");
        works("A");

        StoredRevision revision = store.revisions(AGENT).getFirst();
        assertEquals(List.of("1 A good"), told());
        assertEquals(Optional.of(SourceName.APPLIED), revision.source());
        assertEquals(Samples.plugin("ops-agent", "A"), revision.workload());
        assertEquals(NOON, revision.triedAt());
        assertEquals(Optional.of(NOON), revision.goodAt());
    }

    @Test
    void whatComesBackGetsARowOfItsOwnAndWhatWasUndoneKeepsWhy() {
        trying("A");
        works("A");
        trying("B");
        fails("B", "never listens");

        assertEquals(List.of("1 A good", "2 B failed: never listens", "3 A back to 1"), told());
        assertEquals(Optional.of(LATER), store.revisions(AGENT).get(1).failedAt());
        assertEquals(LATER, store.revisions(AGENT).get(2).triedAt());

        replaced();
        fails("B", "it listens elsewhere");
        assertEquals(
                List.of("1 A good", "2 B failed: it listens elsewhere", "3 A back to 1 good"),
                told(),
                "tried again and failed again");

        works("B");
        assertEquals(List.of("3 A back to 1 good", "4 B back to 2 good"), told().subList(2, 4));
    }

    @Test
    void eachRollbackByRequestHasItsOwnTimeAndCause() {
        trying("A");
        works("A");
        trying("B");
        works("B");
        trying("C");
        fails("C", "never listens");
        replaced();
        rolledBack("A", "B to A", LATER.plusSeconds(1));
        assertEquals(List.of("4 B back to 2 good", "5 A back to 1"), told().subList(3, 5), "nothing was launched yet");

        replaced();

        assertEquals(
                List.of(
                        "1 A good",
                        "2 B good",
                        "3 C failed: never listens",
                        "4 B back to 2 good failed: B to A",
                        "5 A back to 1 good"),
                told());
        assertEquals(Optional.of(LATER), store.revisions(AGENT).get(2).failedAt());
        assertEquals(Optional.of(LATER), store.revisions(AGENT).get(3).failedAt(), "when the other one was seen");
        trying("C");
        assertEquals(List.of("5 A back to 1 good", "6 C back to 3"), told().subList(4, 6), "resumed");
        works("C");
        rolledBack("A", "C to A", LATER.plusSeconds(2));
        replaced();
        assertEquals(List.of("6 C back to 3 good failed: C to A", "7 A back to 1 good"), told().subList(5, 7));
    }

    @Test
    void whatRunsUntilAFormerOneIsFetchedIsReplacedWhenThatIsLaunched() {
        trying("A");
        works("A");
        trying("B");
        works("B");
        FailedRevision running = FailedRevision.byRequest(
                declaredHash(), "B", LATER, "B to A", store.history(AGENT).lastKnownGood());
        StoredRevision former = store.revisions(AGENT).getFirst();
        commit(store.history(AGENT).rolledBack(running, new LastKnownGood(former.workload(), former.hash(), "A")));
        assertEquals(List.of("1 A good", "2 B good", "3 A back to 1"), told());

        Instant launch = LATER.plusSeconds(30);
        launched(former.hash(), launch);
        commit(store.history(AGENT).withFailed(running.launched()));

        assertEquals(List.of("1 A good", "2 B good failed: B to A", "3 A back to 1"), told());
        assertEquals(Optional.of(launch), store.revisions(AGENT).get(2).launchedAt());
        assertEquals(Optional.of(launch), store.revisions(AGENT).get(1).failedAt());
    }

    @Test
    void aCrashOfWhatStillRunsIsNoFailureOfWhatIsToTakeItsPlace() {
        trying("A");
        works("A");
        trying("B");
        Failures crash = Failures.NONE.failed(NOON, "A crashed", false);
        commit(store.history(AGENT).withRun(RunRecord.NONE.withCrashes(crash)));
        assertEquals("", store.revisions(AGENT).getLast().error());

        commit(store.history(AGENT)
                .withAttempts(store.history(AGENT).attempts().withInstall(crash.failed(NOON, "B is not there", true))));
        assertEquals("B is not there", store.revisions(AGENT).getLast().error());

        commit(store.history(AGENT).settled().retriedNow().withRun(RunRecord.NONE.withCrashes(crash)));
        assertEquals("", store.revisions(AGENT).getLast().error(), "that is over");

        fails("B", "never listens");
        assertEquals("A crashed", store.revisions(AGENT).getLast().error(), "of what stands in it is one");
    }

    @Test
    void whatIsRolledBackBeforeAnybodyHasTriedItHasNotFailed() {
        trying("A");
        works("A");
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "B"));
        commit(store.history(AGENT).withFailed(FailedRevision.byRequest(declaredHash(), "B", LATER, "B to A", null)));
        assertEquals(List.of("1 A good"), told());

        commit(store.history(AGENT).withAttempts(1, Attempts.of(declaredHash()).withReported(Reported.of("B"))));

        assertEquals(List.of("1 A good", "2 B tried"), told(), "A has never been away");
        assertEquals("B to A", store.revisions(AGENT).get(1).error());

        commit(store.history(AGENT).withFailed(null));
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A"));
        commit(store.history(AGENT).withAttempts(1, Attempts.of(declaredHash())));
        assertEquals(List.of("1 A good", "2 B tried"), told(), "nor when it is declared again");
    }

    @Test
    void whatStoodWhileAnotherOneWasTriedInVainIsWhatASecondRollbackUndoes() {
        trying("A");
        works("A");
        trying("B");
        works("B");
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "C"));
        commit(store.history(AGENT).withAttempts(1, Attempts.of(declaredHash()).withReported(Reported.of("C"))));
        commit(store.history(AGENT).withFailed(FailedRevision.byRequest(declaredHash(), "C", LATER, "C to B", null)));
        assertEquals(List.of("1 A good", "2 B good", "3 C tried"), told());

        StoredRevision former = store.revisions(AGENT).getFirst();
        commit(store.history(AGENT)
                .rolledBack(
                        FailedRevision.byRequest(
                                declaredHash(),
                                "B",
                                LATER,
                                "B to A",
                                store.history(AGENT).lastKnownGood()),
                        new LastKnownGood(former.workload(), former.hash(), "A")));
        replaced();

        assertEquals(List.of("1 A good", "2 B good failed: B to A", "3 C tried", "4 A back to 1 good"), told());
        assertEquals("C to B", store.revisions(AGENT).get(2).error());
    }

    @Test
    void tenAreKeptAndTheLastGoodOneHoweverOldItIs() {
        trying("A");
        works("A");
        for (int i = 0; i < 12; i++) {
            trying("B" + i);
        }

        List<String> told = told();
        assertEquals(11, told.size());
        assertEquals("1 A good", told.getFirst());
        assertEquals("4 B2 tried", told.get(1));

        fails("B11", "never listens");
        told = told();
        assertEquals("1 A good", told.getFirst(), "what comes back is not known to work yet");
        assertEquals(11, told.size());
        assertEquals("14 A back to 1", told.getLast());
        replaced();
        trying("C");
        assertEquals(10, told().size());
    }

    @Test
    void theRevisionBeforeIsKeptHoweverOftenTheDeclarationOfTheOneThatRunsChanges() {
        trying("A");
        works("A");
        for (int i = 0; i < 12; i++) {
            Workload plugin = Samples.plugin("ops-agent", "B");
            trying(new Workload(plugin.id(), ImmutableSortedMap.of("tweak", Integer.toString(i)), plugin.spec()));
            works("B");
        }

        assertEquals("1 A good", told().getFirst());
        assertEquals(11, told().size());
    }

    @Test
    void aDocumentThatIsNotJsonIsNoReasonToStoreNothingMore() throws SQLException {
        trying("A");
        works("A");
        store.close();
        try (Connection connection =
                Sqlite.openExisting(Samples.layout(directory).database())) {
            Sqlite.execute(connection, "UPDATE revision SET document = '{'");
        }
        open();

        for (int i = 0; i < 12; i++) {
            trying("B" + i);
        }

        assertEquals("13 B11 tried", told().getLast());
    }

    @Test
    void whatWasLaunchedInVainBeforeItWasRolledBackHasFailed() {
        trying("A");
        works("A");
        trying("B");
        launched(declaredHash(), NOON.plusSeconds(1));
        rolledBack("A", "B to A; B had failed", LATER);
        assertEquals(List.of("1 A good", "2 B failed: B to A; B had failed", "3 A back to 1"), told());
    }

    @Test
    void whatWorkedIsKeptHoweverOftenTheWayBackIsTakenBackBeforeItIsKnownToWork() {
        trying("A");
        works("A");
        trying("B");
        works("B");
        for (int i = 0; i < 8; i++) {
            rolledBack("A", "B to A", LATER.plusSeconds(i));
            trying("B");
            works("B");
        }
        assertEquals("1 A good", told().getFirst());
    }

    @Test
    void whatGoesBackAndForthIsNeverTakenForDeclaredAnew() {
        trying("A");
        works("A");
        trying("B");
        works("B");
        for (int i = 0; i < 8; i++) {
            rolledBack("A", "B to A", LATER.plusSeconds(i));
            replaced();
            trying("B");
            works("B");
        }

        List<String> told = told();
        assertEquals("2 B good failed: B to A", told.getFirst());
        assertEquals("18 B back to 2 good", told.getLast());
        commit(store.history(AGENT));
        assertEquals(told, told());
    }

    @Test
    void whatCameBackAndIsDeclaredAgainIsRolledBackLikeAnyOther() {
        trying("A");
        works("A");
        trying("B");
        works("B");
        trying("C");
        fails("C", "never listens");
        replaced();
        trying("B");
        works("B");
        rolledBack("A", "B to A", LATER.plusSeconds(1));
        launched(hashOf("A"), LATER.plusSeconds(2));
        replaced();

        assertEquals(
                List.of(
                        "1 A good",
                        "2 B good",
                        "3 C failed: never listens",
                        "4 B back to 2 good failed: B to A",
                        "5 A back to 1 good"),
                told());
        trying("C");
        assertEquals("6 C back to 3", told().getLast(), "tried again");
    }

    @Test
    void whatRanBeforeThereWasTheTableIsTheFirst() {
        Workload old = Samples.plugin("ops-agent", "A");
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "B"));

        commit(WorkloadHistory.NONE
                .succeededBy(new LastKnownGood(old, "hash of A", null))
                .withAttempts(1, Attempts.of(declaredHash())));

        assertEquals(List.of("1 A good", "2 B tried"), told());
        assertEquals(old, store.revisions(AGENT).getFirst().workload());
    }

    @Test
    void nothingIsKeptOfWhatIsNoLongerDeclaredWhenItIsTried() {
        trying("A");
        works("A");

        commit(store.history(AGENT).withAttempts(2, Attempts.of("of something replaced meanwhile")));

        assertEquals(List.of("1 A good"), told());
    }

    @Test
    void nothingIsLeftOfAWorkloadThatIsForgotten() {
        trying("A");
        works("A");

        store.commit(new Change(AGENT, null, true, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));

        assertEquals(List.of(), told());
    }

    private void trying(String revision) {
        trying(Samples.plugin("ops-agent", revision));
    }

    private void trying(Workload workload) {
        Samples.apply(store, "/a", false, workload);
        commit(store.history(AGENT).withAttempts(1, Attempts.of(declaredHash())).withFailed(null));
    }

    private void works(String revision) {
        commit(store.history(AGENT)
                .succeededBy(new LastKnownGood(Samples.plugin("ops-agent", revision), declaredHash(), revision))
                .withFailed(null));
    }

    private void fails(String revision, String error) {
        commit(store.history(AGENT).withFailed(undone(revision, error, false, LATER)));
    }

    private void rolledBack(String to, String words, Instant at) {
        StoredRevision former = store.revisions(AGENT).stream()
                .filter(one -> one.workload().revision().equals(to))
                .findFirst()
                .orElseThrow();
        commit(store.history(AGENT)
                .rolledBack(
                        undone("whatever", words, true, at), new LastKnownGood(former.workload(), former.hash(), to)));
    }

    private FailedRevision undone(String revision, String error, boolean byRequest, Instant at) {
        return new FailedRevision(declaredHash(), revision, 1, at, error, byRequest, null, null);
    }

    private void launched(String hash, Instant at) {
        store.commit(new Change(
                AGENT,
                null,
                false,
                ImmutableList.of(Samples.instance(AGENT, "launch-2", hash, at)),
                ImmutableList.of(),
                ImmutableList.of()));
    }

    private void replaced() {
        WorkloadHistory history = store.history(AGENT);
        commit(history.withFailed(Objects.requireNonNull(history.failed()).withReplacedAt(LATER)));
    }

    private String hashOf(String revision) {
        return store.revisions(AGENT).stream()
                .filter(one -> one.workload().revision().equals(revision))
                .findFirst()
                .orElseThrow()
                .hash();
    }

    private void commit(WorkloadHistory history) {
        store.commit(Change.ofHistory(AGENT, history));
    }

    private String declaredHash() {
        return store.declarations().getFirst().hash();
    }

    private List<String> told() {
        return store.revisions(AGENT).stream()
                .map(one -> one.number() + " " + one.workload().revision()
                        + one.backTo().map(number -> " back to " + number).orElse("")
                        + (one.wasGood()
                                ? " good"
                                : one.wasUndone() || one.backTo().isPresent() ? "" : " tried")
                        + (one.wasUndone() ? " failed: " + one.error() : ""))
                .toList();
    }
}
