package io.homeostat.reconcile.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.reconcile.Written;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which revision a rollback goes back to, and what becomes of the others. */
class HistoryCommandTest {
    private static final WorkloadId ID = WorkloadId.process("p");
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    @TempDir
    Path directory;

    private StateStore store;

    @BeforeEach
    void open() {
        Layout layout = new Layout(directory.resolve("s"), directory.resolve("r"), "machine-1");
        store = StateStores.openForWriting(layout, Clock.fixed(NOON, ZoneOffset.UTC))
                .store();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Test
    void backAndForthOftenIsAsBackAndForthOnce() {
        works("1");
        works("2");
        works("3");
        for (int i = 0; i < 12; i++) {
            assertEquals("2", rollBack());
            works("3");
        }
    }

    @Test
    void itGoesFurtherBackAndNotToWhatWasRolledBack() {
        works("1");
        works("2");
        works("3");
        assertEquals("2", rollBack());
        assertEquals("1", rollBack());
        assertEquals("none", former());

        works("3");
        assertEquals("1", former(), "2 was rolled back, and 1 ran last");
        works("4");
        assertEquals("3", former());
    }

    @Test
    void whatWasDeclaredAndNeverLaunchedHasNotFailed() {
        works("1");
        works("2");
        assertEquals("1", rollBack());
        replaced();
        declared("2");
        store.commit(Change.ofHistory(ID, store.history(ID).withFailed(null)));
        rollBack();

        assertEquals(List.of("1 SUPERSEDED", "2 ROLLED_BACK", "1 CURRENT", "2 ABANDONED"), standings());
    }

    @Test
    void whatStandsInForAFailedRevisionIsGoneBackFromOnceItFails() {
        works("1");
        works("2");
        fails("3");
        assertEquals("2", former(), "while it is on its way");
        crashes();
        assertEquals("1", former(), "before it was seen to work there");

        replaced();
        assertEquals("1", former(), "after it");
        store.commit(Change.ofHistory(ID, store.history(ID).retriedNow()));
        assertEquals("2", former(), "it works again");
    }

    @Test
    void whereThereIsNothingBeforeItWhatStandsInStays() {
        works("1");
        fails("2");
        crashes();
        assertEquals("1", former());
    }

    @Test
    void whatIsBeingStartedHasTakenThePlaceOfWhatRanBefore() {
        works("1");
        declared("2");
        store.commit(Change.ofHistory(ID, store.history(ID).withAttempts(1, Attempts.of(hash()))));
        assertEquals(List.of("1 CURRENT", "2 PENDING"), standings());

        store.commit(new Change(
                ID,
                null,
                false,
                ImmutableList.of(new Instance(
                        "launch-2",
                        ID,
                        hash(),
                        "2",
                        null,
                        ImmutableSortedMap.of(),
                        NOON.plusSeconds(1),
                        null,
                        Instance.Phase.CREATED,
                        "")),
                ImmutableList.of(),
                ImmutableList.of()));

        assertEquals(List.of("1 SUPERSEDED", "2 PENDING"), standings());
        assertEquals(
                store.revisions(ID).getLast().launchedAt(),
                Optional.ofNullable(
                        HistoryCommand.revisions(ID, store).getFirst().until()));
    }

    @Test
    void whatIsOnlyLookedAfterInAnotherWayIsNotGoneBackTo() {
        works("1");
        works("2");
        for (int megabytes = 64; megabytes < 80; megabytes++) {
            works(process("2", "limits: {memory: %dMi}".formatted(megabytes)));
        }
        assertEquals("1", former());
        works("2");
        assertEquals("1", former());
    }

    private void fails(String revision) {
        declared(revision);
        store.commit(Change.ofHistory(
                ID,
                store.history(ID)
                        .withAttempts(1, Attempts.of(hash()))
                        .withFailed(new FailedRevision(hash(), revision, 1, NOON, "exited"))));
    }

    private void crashes() {
        WorkloadHistory history = store.history(ID);
        store.commit(Change.ofHistory(
                ID, history.withRun(history.run().withCrashes(Failures.NONE.failed(NOON, "exited, too", false)))));
    }

    private List<String> standings() {
        return HistoryCommand.revisions(ID, store).stream()
                .map(one -> one.stored().workload().revision() + " " + one.standing())
                .toList();
    }

    private String former() {
        return HistoryCommand.former(hash(), store, ID)
                .map(one -> one.workload().revision())
                .orElse("none");
    }

    private String rollBack() {
        StoredRevision former = HistoryCommand.former(hash(), store, ID).orElseThrow();
        store.commit(Change.ofHistory(
                ID,
                store.history(ID)
                        .rolledBack(
                                FailedRevision.byRequest(hash(), "whatever", NOON, "by request", null),
                                new LastKnownGood(former.workload(), former.hash(), null))));
        replaced();
        return former.workload().revision();
    }

    private void replaced() {
        FailedRevision failed = Objects.requireNonNull(store.history(ID).failed());
        store.commit(Change.ofHistory(ID, store.history(ID).withFailed(failed.withReplacedAt(NOON))));
    }

    private void works(String revision) {
        works(process(revision, ""));
    }

    private void works(Workload workload) {
        StoredDeclaration declared = declared(workload);
        store.commit(Change.ofHistory(
                ID,
                store.history(ID)
                        .withFailed(null)
                        .succeededBy(new LastKnownGood(declared.workload(), declared.hash(), null))
                        .withAttempts(1, Attempts.of(declared.hash()))));
    }

    private StoredDeclaration declared(String revision) {
        return declared(process(revision, ""));
    }

    private StoredDeclaration declared(Workload workload) {
        store.apply(ImmutableList.of(new ToApply(workload, "/a.yaml")), ImmutableSet.of("/a.yaml"), false);
        return store.declarations().getFirst();
    }

    /** Read from YAML, and so valid: what is stored is read again whenever nobody has it any more. */
    private static Workload process(String revision, String more) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: p}
                spec:
                  revision: "%s"
                  source: {url: "https://bucket/p.tar.gz"}
                  entryPoint: bin/p
                  %s
                """.formatted(revision, more));
    }

    private String hash() {
        return store.declarations().getFirst().hash();
    }
}
