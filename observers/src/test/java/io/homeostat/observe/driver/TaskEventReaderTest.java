package io.homeostat.observe.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Strings;
import io.grpc.Status;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.observe.driver.TaskEventReader.Taken;
import io.homeostat.observe.driver.TaskEventReader.Told;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.goplugin.PluginConnection;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a driver tells of its tasks, and how much of that is taken. */
class TaskEventReaderTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Backoff AT_ONCE = Backoff.doubling(Duration.ofMillis(10), Duration.ofMillis(20));

    @TempDir
    Path root;

    private final GrpcTransport transport = new GrpcTransport();
    private FakeDriver driver;
    private DriverSession session;

    @BeforeEach
    void setUp() throws Exception {
        Path socket = root.resolve("plugin1");
        driver = FakeDriver.on(socket);
        session = new DriverSession(
                "fake",
                new PluginConnection(
                        transport,
                        new Handshake(2, Handshake.Network.UNIX, socket.toString()),
                        root,
                        (channel, bytes) -> {}),
                () -> true,
                () -> Instant.EPOCH);
    }

    @AfterEach
    void tearDown() throws Exception {
        session.close();
        driver.close();
        transport.close();
    }

    private TaskEventReader reader() {
        TaskEventReader reader = new TaskEventReader("fake", session, AT_ONCE, Ticker.systemTicker());
        reader.open();
        soon().until(() -> driver.listeners.size() == 1);
        return reader;
    }

    private static ConditionFactory soon() {
        return Awaitility.await().atMost(LONG).pollInterval(Duration.ofMillis(10));
    }

    private static DriverTaskEvent event(String message) {
        return DriverTaskEvent.newBuilder()
                .setTaskId("a/web/1")
                .setAllocId("a")
                .setTaskName("web")
                .setMessage(message)
                .build();
    }

    @Test
    void idsAreCutToo() {
        String endless = "x".repeat(100_000);

        Told told = Told.of(
                "fake",
                DriverTaskEvent.newBuilder()
                        .setTaskId(endless)
                        .setAllocId(endless)
                        .setTaskName(endless)
                        .build());

        assertTrue(told.taskId().length()
                        + told.allocation().length()
                        + told.task().length()
                < 2000);
    }

    private static Told told(String words) {
        return new Told("fake", "a/web/1", "a", "web", words);
    }

    @Test
    void whatADriverTellsIsTakenOnceInOrder() {
        try (TaskEventReader reader = reader()) {
            driver.listeners.getFirst().onNext(event("pulling"));
            driver.listeners
                    .getFirst()
                    .onNext(event("pulled").toBuilder()
                            .putAnnotations("size", "7 MB")
                            .putAnnotations("image", "web:1")
                            .build());

            List<Told> all = new ArrayList<>();
            soon().until(() -> {
                Taken taken = reader.take();
                all.addAll(taken.told());
                return taken.dropped() == 0 && all.size() == 2;
            });

            assertEquals(List.of(told("pulling"), told("pulled (image=web:1, size=7 MB)")), all);
        }
        soon().until(driver.listeners::isEmpty);
    }

    @Test
    void whatItTellsIsOneLineOfBoundedLength() {
        DriverTaskEvent.Builder event = event("one\ntwo\u001b[31m\u202e" + Strings.repeat("x", 10_000)).toBuilder();
        for (int i = 0; i < 1000; i++) {
            event.putAnnotations("key " + i, Strings.repeat("v", 10_000));
        }

        String words = Told.of("fake", event.build()).words();

        assertTrue(words.startsWith("one two?[31m?xxx"), words);
        assertTrue(words.length() < 2000, () -> Integer.toString(words.length()));
    }

    @Test
    void aFloodIsCutOffAndWhatIsDroppedIsCounted() {
        try (TaskEventReader reader = reader()) {
            for (int i = 0; i < TaskEventReader.BURST + 100; i++) {
                driver.listeners.getFirst().onNext(event("event " + i));
            }

            List<Told> all = new ArrayList<>();
            int[] dropped = {0};
            soon().until(() -> {
                Taken taken = reader.take();
                all.addAll(taken.told());
                dropped[0] += taken.dropped();
                return dropped[0] > 0;
            });

            assertTrue(all.size() >= TaskEventReader.BURST, () -> Integer.toString(all.size()));
            assertTrue(all.size() + dropped[0] <= TaskEventReader.BURST + 100);
            assertEquals(told("event 0"), all.getFirst());
        }
    }

    @Test
    void aStreamThatBreaksIsOpenedAgain() {
        try (TaskEventReader reader = reader()) {
            driver.listeners.removeFirst().onError(Status.UNKNOWN.asException());
            soon().until(() -> driver.listeners.size() == 1);
            driver.listeners.removeFirst().onCompleted();
            soon().until(() -> driver.listeners.size() == 1);

            driver.listeners.getFirst().onNext(event("again"));

            soon().until(() -> reader.take().told().equals(List.of(told("again"))));
        }
    }

    @Test
    void aDriverThatDoesNotKnowTheCallIsNotAskedAgain() {
        driver.plugin.failing("TaskEvents", Status.UNIMPLEMENTED);
        try (TaskEventReader reader = new TaskEventReader("fake", session, AT_ONCE, Ticker.systemTicker())) {
            reader.open();
            soon().until(() -> driver.plugin.count("TaskEvents") == 1);

            soon().during(Duration.ofMillis(500))
                    .until(() -> reader.take().told().isEmpty());

            assertEquals(1, driver.plugin.count("TaskEvents"));
        }
    }
}
