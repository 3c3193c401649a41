package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SqliteStateStoreTest extends StateStoreContract {
    @TempDir
    Path directory;

    private Layout layout;
    private SqliteStateStore store;

    @BeforeEach
    void open() {
        layout = Samples.layout(directory);
        store = reopened();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @Override
    protected StateStore store() {
        return store;
    }

    @Test
    void anEventIsNotEarlierThanWhatWasStoredBeforeItUnlessTheClockWasSetBack() {
        Instant noon = Instant.parse("2026-11-20T12:00:00Z");
        for (String time : List.of("12:00:00.2Z", "12:00:00.12Z", "12:00:01Z", "11:59:59Z", "11:00:00Z")) {
            store.record(new Event(Instant.parse("2026-11-20T" + time), null, "", EventType.AGENT_PAUSED, time));
        }

        assertEquals(
                List.of(
                        noon.plusMillis(200),
                        noon.plusMillis(200),
                        noon.plusSeconds(1),
                        noon.plusSeconds(1),
                        noon.minusSeconds(3600)),
                store.events(0, 10).stream()
                        .map(stored -> stored.event().time())
                        .toList());
    }

    @Test
    void whoeverIsInterruptedWhileItIsOpenedIsToldSo() {
        Path file = Path.of("/s/homeostat.db");

        assertEquals(
                "cannot open /s/homeostat.db: interrupted; run it again",
                StateDirectory.failure("open", file, new ClosedByInterruptException())
                        .getMessage());
    }

    @Test
    void nothingIsAcknowledgedThatIsStoredInADeletedFile() throws IOException {
        Files.delete(layout.database());

        StoreException failure = assertThrows(
                StoreException.class, () -> Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1")));

        assertTrue(failure.getMessage().contains("was deleted or replaced"), failure::getMessage);
        assertEquals(ImmutableList.of(), store.declarations(), "it is undone");
        assertThrows(StoreException.class, store::checkInPlace);
    }

    @Test
    void norInOneThatHasLostItsNameToAnother() throws IOException {
        store.checkInPlace();
        Path other = Files.copy(layout.database(), directory.resolve("other"));
        Files.move(other, layout.database(), StandardCopyOption.REPLACE_EXISTING);

        assertThrows(StoreException.class, () -> store.commit(Samples.events(AGENT, "lost")));
        assertThrows(StoreException.class, store::checkInPlace);
    }

    @Test
    void whereNoDirectoryCanBeMadeIsNamed() {
        Layout impossible = Samples.layout(Path.of("/proc/homeostat"));

        StoreException failure =
                assertThrows(StoreException.class, () -> StateStores.openForWriting(impossible, Samples.CLOCK));

        assertTrue(failure.getMessage().contains(": no directories can be made in /proc; choose"), failure::getMessage);
    }

    @Test
    void everythingIsThereAfterReopening() {
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        store.commit(new Change(
                AGENT,
                Samples.eventful(),
                false,
                ImmutableList.of(Samples.instance(AGENT, "launch-1")),
                ImmutableList.of(),
                ImmutableList.of(Samples.event(AGENT, "started"))));
        long seed = store.seed();
        ImmutableList<StoredDeclaration> applied = store.declarations();

        store.close();
        store = reopened();

        assertEquals(applied, store.declarations());
        assertEquals(Samples.eventful(), store.history(AGENT));
        assertEquals(ImmutableList.of(Samples.instance(AGENT, "launch-1")), store.instances());
        assertEquals("started", store.events(0, 10).getFirst().event().message());
        assertEquals(seed, store.seed());
        assertTrue(store.everDeclared());
    }

    @Test
    void nobodyElseMayReadAnyFileOfTheStore() throws IOException {
        store.commit(Samples.events(AGENT, "something for the log"));

        assertEquals("rwx------", permissions(layout.stateDir()));
        try (Stream<Path> files = Files.list(layout.stateDir())) {
            List<Path> all = files.toList();
            assertEquals(3, all.size(), all::toString);
            for (Path file : all) {
                assertEquals("rw-------", permissions(file), file.toString());
            }
        }
    }

    @Test
    void aDatabaseThatOthersCouldReadIsClosedToThem() throws IOException {
        store.close();
        Files.setPosixFilePermissions(layout.database(), PosixFilePermissions.fromString("rw-r--r--"));

        store = reopened();

        assertEquals("rw-------", permissions(layout.database()));
    }

    @Test
    void aChangeThatChangesNothingWritesNothing() throws IOException {
        store.commit(Samples.history(AGENT, Samples.eventful()));
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        long before = logSize();

        store.commit(new Change(AGENT, null, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
        store.commit(Samples.history(AGENT, Samples.eventful()));
        Samples.apply(store, "/a", true, Samples.plugin("ops-agent", "A1"));
        store.retryNow(ImmutableList.of(AGENT));
        long afterRetry = logSize();
        store.retryNow(ImmutableList.of(AGENT));

        assertTrue(afterRetry > before, "the first retry has something to forget");
        assertEquals(afterRetry, logSize());
    }

    @Test
    void aFullDiskFailsTheWholeChangeAndTheNextOneWorksAgain() {
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        pragma("max_page_count=" + pageCount());
        Change tooBig = new Change(
                AGENT,
                Samples.eventful(),
                false,
                ImmutableList.of(Samples.instance(AGENT, "launch-1")),
                ImmutableList.of(),
                ImmutableList.of(Samples.event(AGENT, "x".repeat(1_000_000))));

        StoreException failure = assertThrows(StoreException.class, () -> store.commit(tooBig));

        assertTrue(failure.getMessage().contains(layout.database().toString()), failure::getMessage);
        assertTrue(failure.getMessage().contains("no space"), failure::getMessage);
        assertEquals(WorkloadHistory.NONE, store.history(AGENT));
        assertEquals(ImmutableList.of(), store.instances());
        pragma("max_page_count=1000000");
        store.commit(tooBig);
        assertEquals(1, store.events(0, 10).size());
    }

    @Test
    void aFailureInTheMiddleOfAnApplyLeavesNothingOfIt() {
        Samples.apply(store, "/a", false, Samples.plugin("before", "1"));
        pragma("max_page_count=" + pageCount());
        Workload[] many = Stream.iterate(0, i -> i + 1)
                .limit(500)
                .map(i -> Samples.plugin("plugin-" + i, "1"))
                .toArray(Workload[]::new);

        assertThrows(StoreException.class, () -> Samples.apply(store, "/a", true, many));

        assertEquals(1, store.declarations().size());
        assertEquals("before", store.declarations().getFirst().workload().id().name());
    }

    @Test
    void manyThreadsMayUseItAtOnce() throws Exception {
        List<Future<?>> done = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 50; i++) {
                String message = "event " + i;
                done.add(threads.submit(() -> {
                    store.commit(Samples.events(AGENT, message));
                    return store.events(0, 100);
                }));
            }
        }
        for (Future<?> one : done) {
            one.get();
        }

        assertEquals(50, ImmutableSet.copyOf(store.events(0, 100)).size());
    }

    @Test
    void aHistoryThatCantBeReadIsForgottenAndTheOthersAreNot() {
        store.commit(Samples.history(AGENT, Samples.eventful()));
        store.commit(Samples.history(WorkloadId.process("broken"), Samples.eventful()));
        sql("UPDATE history SET document = '{broken' WHERE workload = 'process/broken'");
        sql("INSERT INTO history(workload, document) VALUES ('future-kind/x', '{}')");

        assertEquals(Samples.eventful(), store.histories().get(AGENT));
        assertEquals(WorkloadHistory.NONE, store.history(WorkloadId.process("broken")));
        assertEquals(2, store.histories().size());
    }

    @Test
    void aDocumentThatCantBeReadIsAnErrorThatApplyingAgainRepairs() {
        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        assertEquals(ImmutableSet.of(), store.unreadable());
        sql("UPDATE declaration SET document = '{\"secret\": \"hunter2\"'");
        assertEquals(ImmutableSet.of(AGENT), store.unreadable());

        StoreException failure = assertThrows(StoreException.class, () -> store.declarations());
        assertTrue(failure.getMessage().contains("plugin/ops-agent"), failure::getMessage);
        assertTrue(!failure.getMessage().contains("hunter2"), failure::getMessage);
        assertTrue(failure.getMessage().contains("not JSON"), failure::getMessage);

        Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        assertEquals(1, store.declarations().getFirst().generation());
    }

    @Test
    void anEventOfAnUnknownTypeIsLeftOut() {
        store.commit(Samples.events(AGENT, "known"));
        sql(
                "INSERT INTO event(time, workload, revision, type, message) VALUES ('2026-01-01T00:00:00Z', NULL, '', 'NEW', '')");

        assertEquals(1, store.events(0, 10).size());
    }

    @Test
    void aHandleThatCantBeReadIsAnError() {
        store.commit(Change.ofInstance(Samples.instance(AGENT, "launch-1")));
        sql("UPDATE instance SET document = json_set(document, '$.phase', 'PERHAPS')");

        StoreException failure = assertThrows(StoreException.class, () -> store.instances());

        assertTrue(failure.getMessage().contains("launch-1"), failure::getMessage);
    }

    private SqliteStateStore reopened() {
        return (SqliteStateStore)
                StateStores.openForWriting(layout, Samples.CLOCK).store();
    }

    private void sql(String statement) {
        store.database.read("test", connection -> {
            Sqlite.execute(connection, statement);
            return true;
        });
    }

    private void pragma(String text) {
        sql("PRAGMA " + text);
    }

    private int pageCount() {
        return store.database.read("test", connection -> Sqlite.integer(connection, "PRAGMA page_count"));
    }

    private long logSize() throws IOException {
        return Files.size(StateDirectory.companion(layout.database(), "-wal"));
    }

    private static String permissions(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }

    @Test
    void whatHasNotChangedIsReadOnce() {
        store.commit(Change.ofHistory(AGENT, Samples.withoutFormer(Samples.eventful())));
        store.pause(AGENT, "a reason", Samples.NOON);

        WorkloadHistory history = store.history(AGENT);

        assertSame(history, store.history(AGENT));
        assertSame(store.instances(AGENT), store.instances(AGENT));
        assertSame(store.pause(AGENT).orElseThrow(), store.pause(AGENT).orElseThrow());
    }

    @Test
    void whatHasBeenReadIsNotShownAfterAChange() {
        WorkloadHistory history = Samples.withoutFormer(Samples.eventful());
        Instance instance = Samples.instance(AGENT, "launch-1");
        store.commit(Change.ofHistory(AGENT, history));
        assertEquals(history, store.history(AGENT));

        store.commit(Change.ofInstance(instance));
        assertEquals(ImmutableList.of(instance), store.instances(AGENT));

        store.pause(AGENT, "a reason", Samples.NOON);
        assertTrue(store.pause(AGENT).isPresent());
        store.stop(AGENT, "another", Samples.NOON);
        assertTrue(store.pause(AGENT).orElseThrow().stopped());
        store.resume(AGENT, "", Samples.NOON);
        assertTrue(store.pause(AGENT).isEmpty());

        store.receive(new StateStore.ControlPlaneChange(
                ImmutableList.of(),
                ImmutableSet.of(),
                ImmutableMap.of(AGENT, WorkloadHistory.NONE),
                ImmutableList.of()));
        assertEquals(WorkloadHistory.NONE, store.history(AGENT));
    }

    @Test
    void whatCouldNotBeStoredIsNotShown() throws IOException {
        WorkloadHistory history = Samples.withoutFormer(Samples.eventful());
        store.commit(Change.ofHistory(AGENT, history));
        assertEquals(history, store.history(AGENT));
        Files.delete(layout.database());

        assertThrows(StoreException.class, () -> store.commit(Change.ofHistory(AGENT, WorkloadHistory.NONE)));

        assertEquals(history, store.history(AGENT));
    }
}
