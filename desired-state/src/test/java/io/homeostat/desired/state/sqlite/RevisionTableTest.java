package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static io.homeostat.desired.state.sqlite.Samples.NOON;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The table of revisions follows what the history tells. */
class RevisionTableTest {
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
    void whatIsUndoneKeepsWhyAndWhoComesBackGetsANewNumber() {
        trying("A");
        works("A");
        trying("B");
        fails("B");
        trying("A");
        works("A");

        assertEquals(List.of("1 A good", "2 B failed: it does not listen", "3 A good"), told());

        trying("B");
        fails("B");
        works("B");
        assertEquals("4 B good", told().getLast());
    }

    @Test
    void tenAreKeptAndTheLastGoodOneHoweverOldItIs() {
        trying("A");
        works("A");
        for (int i = 0; i < 12; i++) {
            trying("B" + i);
            fails("B" + i);
        }

        List<String> told = told();
        assertEquals(11, told.size());
        assertEquals("1 A good", told.getFirst());
        assertEquals("4 B2 failed: it does not listen", told.get(1));
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
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", revision));
        commit(store.history(AGENT).withAttempts(1, Attempts.of(declaredHash())).withFailed(null));
    }

    private void works(String revision) {
        commit(store.history(AGENT)
                .succeededBy(new LastKnownGood(Samples.plugin("ops-agent", revision), declaredHash(), revision))
                .withFailed(null));
    }

    private void fails(String revision) {
        commit(store.history(AGENT)
                .withFailed(new FailedRevision(declaredHash(), revision, 1, NOON, "it does not listen")));
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
                        + (one.failedAt().isPresent() ? " failed: " + one.error() : one.wasGood() ? " good" : " tried"))
                .toList();
    }
}
