package io.homeostat.reconcile.agent.fleet;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig.SignedSets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.remote.LargeSetLock;
import io.homeostat.desired.remote.SetFetcher;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Choice;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sources that are asked at the same time take turns at what fills the memory. */
@Timeout(120)
final class SetPollerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final ByteString SMALL = ByteString.copyFromUtf8("# nothing\n");
    private static final ByteString LARGE = ByteString.copyFromUtf8("#".repeat(2 << 20));

    private final LargeSetLock large = new LargeSetLock();
    private final List<Thread> threads = new ArrayList<>();
    private final CountDownLatch end = new CountDownLatch(1);
    private final StateStore store;

    SetPollerTest(@TempDir Path directory) {
        Layout layout = new Layout(directory.resolve("s"), directory.resolve("r"), "test");
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
    }

    @AfterEach
    void close() throws InterruptedException {
        end.countDown();
        for (Thread thread : threads) {
            thread.interrupt();
            assertTrue(thread.join(PATIENCE));
        }
        store.close();
    }

    @Test
    void oneLargeSetIsReadAtATimeAndSmallOnesMeanwhile() throws Exception {
        CountDownLatch reading = new CountDownLatch(1);
        poll(SourceName.HTTPS, LARGE, () -> {
            reading.countDown();
            return untilTheEnd();
        });
        reading.await();

        PublishedSource packed = poll(SourceName.GIT, gzip(LARGE), () -> Choice.ALL);
        await().atMost(PATIENCE).until(large::isAwaited);
        awaitRead(poll(SourceName.BUCKET, SMALL, () -> Choice.ALL));
        awaitRead(poll(SourceName.ETCD, gzip(SMALL), () -> Choice.ALL));
        assertEquals(Optional.empty(), packed.seen());

        end.countDown();
        awaitRead(packed);
    }

    @Test
    void aSetThatCanNotBeReadHoldsUpNoOther() {
        poll(SourceName.HTTPS, LARGE, () -> {
            throw new IllegalStateException("nobody knows what this machine is");
        });
        await().atMost(PATIENCE).until(() -> !store.problems().isEmpty());

        awaitRead(poll(SourceName.GIT, LARGE, () -> Choice.ALL));
    }

    @Test
    void aSourceThatIsEndedHoldsUpNoOther() throws Exception {
        CountDownLatch holding = new CountDownLatch(1);
        start(SourceName.HTTPS, () -> Choice.ALL, () -> {
            large.acquireFor(new SetFetcher.Fetched.File("v1", LARGE));
            holding.countDown();
            Thread.sleep(Duration.ofDays(1));
            throw new IllegalStateException("not interrupted");
        });
        holding.await();
        poll(SourceName.BUCKET, LARGE, () -> Choice.ALL);
        PublishedSource last = poll(SourceName.GIT, LARGE, () -> Choice.ALL);
        await().atMost(PATIENCE).until(large::isAwaited);

        Thread waiting = threads.get(1);
        waiting.interrupt();
        assertTrue(waiting.join(PATIENCE), "ended while it waits");
        assertEquals(Optional.empty(), last.seen());

        threads.getFirst().interrupt();
        awaitRead(last);
    }

    private Choice untilTheEnd() {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return Choice.ALL;
    }

    private static void awaitRead(PublishedSource source) {
        await().atMost(PATIENCE).until(() -> source.seen().isPresent());
    }

    private PublishedSource poll(SourceName name, ByteString content, Supplier<Choice> choice) {
        return start(name, choice, () -> new SetFetcher.Fetched.File("v1", content));
    }

    private PublishedSource start(SourceName name, Supplier<Choice> choice, Fetching fetching) {
        SetReader reader = new SetReader(new SignedSets(false, ImmutableList.of(), "default"), TrustedKeys.NONE);
        PublishedSource source = new PublishedSource(
                name, name.word(), reader, choice, store, Clock.systemUTC(), new ReentrantLock(), () -> {});
        SetFetcher fetcher = new SetFetcher() {
            @Override
            public String name() {
                return name.word();
            }

            @Override
            public Fetched fetch(Optional<String> known) throws InterruptedException {
                return fetching.fetch();
            }

            @Override
            public void close() {
                // Nothing is open.
            }
        };
        threads.add(Thread.ofVirtual()
                .start(new SetPoller(fetcher, source, large, Duration.ofDays(1), new SplittableRandom(1))));
        return source;
    }

    private static ByteString gzip(ByteString content) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            content.writeTo(out);
        }
        return ByteString.copyFrom(packed.toByteArray());
    }

    @FunctionalInterface
    private interface Fetching {
        SetFetcher.Fetched fetch() throws InterruptedException;
    }
}
