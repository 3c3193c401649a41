package io.homeostat.desired.state.sqlite;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StoreException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What several threads have to write while one waits for the disk. */
@Timeout(60)
class WritingTogetherTest {
    private static final int WRITERS = 5;

    @TempDir
    Path directory;

    private final List<Thread> threads = new ArrayList<>();
    private final ExecutorService writers = Executors.newFixedThreadPool(WRITERS, work -> {
        Thread thread = new Thread(work);
        threads.add(thread);
        return thread;
    });
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
        writers.shutdownNow();
        store.close();
    }

    @Test
    void isOneTransaction() throws Exception {
        List<Integer> seenByOthers = new ArrayList<>();
        try (Connection other = Sqlite.openLive(layout.database())) {
            List<Future<Boolean>> written = together(number -> connection -> {
                put(connection, number);
                seenByOthers.add(rows(other));
                return true;
            });
            for (Future<Boolean> one : written) {
                assertTrue(one.get());
            }
            assertEquals(WRITERS, rows(other));
        }
        assertEquals(ImmutableList.of(0, 0, 0, 0, 0), seenByOthers);
    }

    @Test
    void whatFailsTakesNothingElseWithIt() throws Exception {
        List<Future<Boolean>> written = together(number -> connection -> {
            put(connection, number);
            if (number == 2) {
                throw new SQLException("not this one");
            }
            return true;
        });

        for (int number = 0; number < WRITERS; number++) {
            if (number == 2) {
                ExecutionException failure = assertThrows(
                        ExecutionException.class, () -> written.get(2).get());
                StoreException cause = assertInstanceOf(StoreException.class, failure.getCause());
                assertTrue(String.valueOf(cause.getMessage()).startsWith("cannot write 2 in "), cause::toString);
            } else {
                assertTrue(written.get(number).get());
            }
        }
        assertEquals(
                ImmutableList.of("0", "1", "3", "4"),
                store.database.read(
                        "read",
                        connection -> Database.list(
                                connection,
                                "SELECT value FROM meta WHERE key LIKE 'test-%' ORDER BY value",
                                row -> row.getString(1))));
    }

    @Test
    void anErrorIsForWhoCausedItAndLeavesNoTransactionOpen() throws Exception {
        List<Future<Boolean>> written = together(number -> connection -> {
            put(connection, number);
            if (number == 2) {
                throw new StackOverflowError();
            }
            return true;
        });

        for (int number = 0; number < WRITERS; number++) {
            if (number == 2) {
                ExecutionException failure = assertThrows(
                        ExecutionException.class, () -> written.get(2).get());
                assertInstanceOf(StackOverflowError.class, failure.getCause());
            } else {
                assertTrue(written.get(number).get());
            }
        }
        store.checkWritable(Samples.NOON);
    }

    @Test
    void isInTheOrderOfItsTimesAndRememberedAsItIsStored() throws Exception {
        for (int number = 0; number < WRITERS; number++) {
            assertEquals(ImmutableList.of(), store.instances(id(number)));
            store.commit(Change.ofInstance(Samples.instance(id(number), "first-" + number)));
            assertEquals(1, store.instances(id(number)).size());
        }
        AtomicLong seconds = new AtomicLong();
        InstantSource clock = () -> Samples.NOON.plusSeconds(seconds.incrementAndGet());

        CountDownLatch held = hold();
        List<Future<?>> written = new ArrayList<>();
        for (int number = 0; number < WRITERS; number++) {
            Change change = change(number);
            written.add(writers.submit(() -> store.commit(change, clock)));
        }
        release(held);
        for (Future<?> one : written) {
            one.get();
        }

        ImmutableList<Instant> times = store.events(0, 100).stream()
                .map(StoredEvent::event)
                .map(Event::time)
                .collect(ImmutableList.toImmutableList());
        assertEquals(WRITERS, times.size());
        assertEquals(ImmutableList.sortedCopyOf(Comparator.naturalOrder(), times), times);
        for (int number = 0; number < WRITERS; number++) {
            ImmutableList<Instance> remembered = store.instances(id(number));
            assertEquals(ImmutableList.of("second-" + number), launches(remembered));
            store.close();
            open();
            assertEquals(remembered, store.instances(id(number)));
        }
    }

    private static Change change(int number) {
        return new Change(
                id(number),
                null,
                false,
                ImmutableList.of(Samples.instance(id(number), "second-" + number)),
                ImmutableList.of("first-" + number),
                ImmutableList.of(new Event(Samples.NOON, id(number), "1", EventType.PLUGIN_CRASHED, "crashed")));
    }

    private static ImmutableList<String> launches(ImmutableList<Instance> instances) {
        return instances.stream().map(Instance::launchId).collect(ImmutableList.toImmutableList());
    }

    private static WorkloadId id(int number) {
        return WorkloadId.process("p" + number);
    }

    private interface Work {
        Database.Reading<Boolean> of(int number);
    }

    private List<Future<Boolean>> together(Work work) throws InterruptedException {
        CountDownLatch held = hold();
        List<Future<Boolean>> written = new ArrayList<>();
        for (int i = 0; i < WRITERS; i++) {
            int number = i;
            written.add(writers.submit(() -> store.database.write("write " + number + " in", work.of(number))));
        }
        release(held);
        return written;
    }

    /** As somebody does whose write takes long. */
    private CountDownLatch hold() throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch begun = new CountDownLatch(1);
        Thread.ofVirtual()
                .start(() -> store.database.read("wait for", connection -> {
                    begun.countDown();
                    Uninterruptibles.awaitUninterruptibly(held);
                    return true;
                }));
        begun.await();
        return held;
    }

    private void release(CountDownLatch held) {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> threads.size() == WRITERS
                        && threads.stream().allMatch(thread -> thread.getState() == Thread.State.WAITING));
        held.countDown();
    }

    private static void put(Connection connection, int number) throws SQLException {
        Database.update(
                connection, "INSERT INTO meta(key, value) VALUES (?, ?)", "test-" + number, Integer.toString(number));
    }

    private static int rows(Connection connection) throws SQLException {
        return Sqlite.integer(connection, "SELECT count(*) FROM meta WHERE key LIKE 'test-%'");
    }
}
