package io.homeostat.reconcile.agent;

import static com.google.common.util.concurrent.Uninterruptibles.awaitUninterruptibly;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.SourceSnapshot;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.agent.SourceWatcher.SourceSync;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is stored of sources that are read in unlucky moments. */
@Timeout(60)
class SourceSyncTest {
    private static final SourceProblem PROBLEM =
            new SourceProblem(SourceName.FILES, "/a.yaml", Problem.Kind.UNREADABLE, "", "can't be read");

    private final ReentrantLock storing = new ReentrantLock();
    private final StateStore store;
    private final SourceSync sources;

    SourceSyncTest(@TempDir Path directory) {
        Clock clock = Clock.systemUTC();
        Layout layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        store = StateStores.openForWriting(layout, clock).store();
        sources = new SourceSync(store, clock);
    }

    @AfterEach
    void close() {
        boolean ignored = Thread.interrupted();
        store.close();
    }

    @Test
    void whatCouldNotBeReadIsStored() {
        sources.use(ImmutableMap.of(SourceName.FILES, stored -> unreadable()));

        sources.read(storing);

        assertEquals(ImmutableList.of(PROBLEM), store.problems());
    }

    @Test
    void whatIsWrongIsLoggedOnceForAsLongAsItLasts() {
        try (HeardLog log = HeardLog.ofThisThread(SourceSync.class)) {
            sources.use(ImmutableMap.of(SourceName.FILES, stored -> unreadable()));
            sources.read(storing);
            sources.read(storing);
            assertEquals(
                    List.of("files: can't be read"),
                    log.events().stream()
                            .filter(event -> event.getLevel() == Level.WARN)
                            .map(ILoggingEvent::getFormattedMessage)
                            .toList());
        }
    }

    @Test
    void whatCouldNotBeReadBecauseTheAgentEndsIsNoProblemOfTheFiles() {
        sources.use(ImmutableMap.of(SourceName.FILES, stored -> {
            Thread.currentThread().interrupt();
            return unreadable();
        }));

        sources.read(storing);

        assertEquals(ImmutableList.of(), store.problems());
    }

    @Test
    void aDiskThatDoesNotAnswerKeepsNobodyElseFromDeclaring() throws InterruptedException {
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch answered = new CountDownLatch(1);
        sources.use(ImmutableMap.of(SourceName.FILES, stored -> {
            reading.countDown();
            awaitUninterruptibly(answered);
            return unreadable();
        }));
        Thread reader = Thread.ofPlatform().start(() -> sources.read(storing));
        assertTrue(reading.await(30, TimeUnit.SECONDS));

        boolean free = storing.tryLock();
        answered.countDown();

        assertTrue(free);
        assertEquals(ImmutableList.of(), store.problems());
        storing.unlock();
        reader.join();
        assertFalse(store.problems().isEmpty());
    }

    private static SourceSnapshot unreadable() {
        return new SourceSnapshot(
                new SourceContent(SourceName.FILES, ImmutableList.of(), ImmutableSet.of(), ImmutableList.of(PROBLEM)),
                Optional.empty());
    }
}
