package io.homeostat.observe.health;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status.Code;
import io.homeostat.observe.Observation;
import io.homeostat.observe.health.Health.Verdict;
import java.io.File;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

/** What a plugin says is its own fault, and what we take to ask it we give back. */
@Isolated("Counts all of this JVM's threads and descriptors.")
@Execution(ExecutionMode.SAME_THREAD)
class PluginFaultTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final int CALLS = 500;

    @TempDir
    Path root;

    private final PluginChannel channel = new PluginChannel(InstantSource.system());

    @AfterEach
    void tearDown() {
        channel.close();
    }

    private Path socket() {
        return root.resolve("p.sock");
    }

    @Test
    void aPluginThatLacksARightOrADescriptorIsUnhealthyAndNotUnknown() throws Exception {
        for (String words : new String[] {"open /etc/shadow: permission denied", "accept: too many open files"}) {
            try (PluginServer _ = PluginServer.on(socket()).failing(Code.UNAVAILABLE, words)) {
                Health health = channel.status(socket(), LONG);
                assertEquals(Verdict.UNHEALTHY, health.verdict());
                assertTrue(health.problem().contains(words), health.problem());
            }
        }
    }

    @Test
    void aPluginThatAnswersCancelledIsUnhealthyAndNotUnknown() throws Exception {
        try (PluginServer _ = PluginServer.on(socket()).failing(Code.CANCELLED, "context canceled")) {
            assertEquals(Verdict.UNHEALTHY, channel.status(socket(), LONG).verdict());
        }
    }

    @Test
    void aPluginThatFloodsWhoeverAsksAndReadsNothingIsUnhealthy() throws Exception {
        // SETTINGS, then PINGs of 8 bytes without end.
        ByteBuffer settings = ByteBuffer.wrap(new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0});
        ByteBuffer pings = ByteBuffer.allocate(500 * 17);
        while (pings.hasRemaining()) {
            pings.put(new byte[] {0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8});
        }
        try (ServerSocketChannel listening =
                ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of(socket()))) {
            FutureTask<Integer> flood = new FutureTask<>(() -> {
                int sent = 0;
                try (SocketChannel asking = listening.accept()) {
                    asking.write(settings);
                    while (sent < 1_000_000) {
                        pings.rewind();
                        asking.write(pings);
                        sent += 500;
                    }
                } catch (IOException e) {
                    // Closed, as it should be.
                }
                return sent;
            });
            Thread.startVirtualThread(flood);
            Health health = channel.status(socket(), LONG);

            assertEquals(Verdict.UNHEALTHY, health.verdict());
            assertTrue(health.problem().contains("UNAVAILABLE"), health.problem());
            assertTrue(flood.get() < 1_000_000);
        }
    }

    @Test
    void manyQuestionsLeaveNeitherThreadsNorDescriptors() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            // What is made once is made by the first.
            ask();
            int descriptors = descriptors();
            int threads = Thread.activeCount();
            for (int i = 0; i < CALLS; i++) {
                ask();
            }
            assertEquals(CALLS + 1, plugin.requests.size());
            // A connection is closed by the event loop, a moment after the answer.
            await().atMost(LONG).until(() -> descriptors() <= descriptors + 2);
            assertTrue(Thread.activeCount() <= threads + 2, Thread.activeCount() + " threads, not " + threads);
        }
    }

    @Test
    void manyQuestionsToNobodyLeaveNoDescriptors() throws Exception {
        assertEquals(Verdict.UNHEALTHY, channel.status(socket(), LONG).verdict());
        int descriptors = descriptors();
        for (int i = 0; i < CALLS; i++) {
            assertEquals(Verdict.UNHEALTHY, channel.status(socket(), LONG).verdict());
            assertEquals(Observation.seen(false), channel.listening(socket()));
        }
        await().atMost(LONG).until(() -> descriptors() <= descriptors + 2);
    }

    private void ask() {
        assertEquals(Verdict.HEALTHY, channel.status(socket(), LONG).verdict());
        assertEquals(Observation.seen(true), channel.listening(socket()));
    }

    private static int descriptors() {
        return Objects.requireNonNull(new File("/proc/self/fd").list()).length;
    }
}
