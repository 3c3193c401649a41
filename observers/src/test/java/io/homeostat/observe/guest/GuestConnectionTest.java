package io.homeostat.observe.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.ttrpc.SocketWire;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** When a connection is made again, by a clock of ours. */
@Timeout(60)
class GuestConnectionTest {
    private static final GuestEndpoint ENDPOINT = GuestEndpoint.parse("unix:///run/agent.sock");

    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
    private final List<SocketChannel> guests = new ArrayList<>();
    private ServerSocketChannel server;
    private int dialled;
    private @Nullable UnreachableGuest refusal;
    private GuestConnection connection;

    @BeforeEach
    void setUp() throws IOException {
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(root.resolve("agent.sock")));
        connection = new GuestConnection(ENDPOINT, (_, _) -> dial(), timer, now::get, new Random(1));
    }

    @AfterEach
    void tearDown() throws IOException {
        connection.close();
        for (SocketChannel guest : guests) {
            guest.close();
        }
        server.close();
        timer.shutdownNow();
    }

    private Wire dial() throws UnreachableGuest {
        dialled++;
        if (refusal != null) {
            throw refusal;
        }
        try {
            Wire result = new SocketWire(SocketChannel.open(server.getLocalAddress()));
            guests.add(server.accept());
            return result;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private void pass(Duration time) {
        now.addAndGet(time.toNanos());
    }

    /** The guest closes the connection, and that is known. */
    private void lose(TtrpcChannel channel) throws IOException {
        guests.getLast().close();
        Awaitility.await().until(() -> !channel.isOpen());
    }

    @Test
    void aConnectionIsKeptAsLongAsItHolds() throws Exception {
        TtrpcChannel channel = connection.channel();

        pass(Duration.ofDays(1));

        assertSame(channel, connection.channel());
        assertEquals(1, dialled);
    }

    @Test
    void oneThatHasHeldIsMadeAgainAtOnce() throws Exception {
        for (int i = 1; i <= 3; i++) {
            TtrpcChannel channel = connection.channel();
            assertEquals(i, dialled);
            pass(Duration.ofSeconds(10));
            lose(channel);
            assertNotSame(channel, connection.channel());
            pass(Duration.ofSeconds(10));
            lose(connection.channel());
            dialled = i;
        }
    }

    @Test
    void whatFailsIsTriedAgainLaterAndTheReasonToldMeanwhile() {
        refusal = new UnreachableGuest(Reason.NOT_UP, "not yet", null);
        List<Integer> tries = new ArrayList<>();
        for (int second = 0; second < 120; second++) {
            for (int i = 0; i < 100; i++) {
                assertSame(refusal, assertThrows(UnreachableGuest.class, connection::channel));
                pass(Duration.ofMillis(10));
            }
            tries.add(dialled);
        }
        // At first often, then a random time of at most five seconds apart.
        assertTrue(tries.get(1) >= 3, () -> "at first: " + tries);
        int lastMinute = tries.get(119) - tries.get(59);
        assertTrue(lastMinute >= 12 && lastMinute <= 60, () -> "in the last minute: " + lastMinute);
    }

    @Test
    void asSoonAsItCanBeReachedItIs() throws Exception {
        refusal = new UnreachableGuest(Reason.NOT_UP, "not yet", null);
        for (int i = 0; i < 10; i++) {
            assertThrows(UnreachableGuest.class, connection::channel);
            pass(Duration.ofSeconds(5));
        }

        refusal = null;

        assertTrue(connection.channel().isOpen());
    }

    @Test
    void aGuestThatClosesEachConnectionIsNotAskedWithoutAPause() throws Exception {
        lose(connection.channel());
        // The first one may be that of a guest that has booted anew.
        lose(connection.channel());
        assertEquals(2, dialled);

        UnreachableGuest failure = assertThrows(UnreachableGuest.class, connection::channel);

        assertEquals(Reason.REFUSED, failure.reason());
        assertEquals(
                "unix:///run/agent.sock: whoever listens there closes each connection soon; look at the agent's log",
                failure.getMessage());
        assertEquals(2, dialled);
        pass(Duration.ofSeconds(5));
        assertTrue(connection.channel().isOpen());
        assertEquals(3, dialled);
    }

    @Test
    void whoeverComesWhileItConnectsGetsTheSameConnection() throws Exception {
        CountDownLatch dialling = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        try (GuestConnection slow = new GuestConnection(
                        ENDPOINT,
                        (_, _) -> {
                            dialling.countDown();
                            await(goOn);
                            return dial();
                        },
                        timer,
                        now::get,
                        new Random(1));
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<TtrpcChannel> first = threads.submit(slow::channel);
            dialling.await();
            Future<TtrpcChannel> second = threads.submit(slow::channel);
            goOn.countDown();

            assertSame(first.get(), second.get());
            assertEquals(1, dialled);
        }
    }

    @Test
    void itCanBeClosedWhileItConnects() throws Exception {
        CountDownLatch dialling = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        GuestConnection slow = new GuestConnection(
                ENDPOINT,
                (_, _) -> {
                    dialling.countDown();
                    await(goOn);
                    return dial();
                },
                timer,
                now::get,
                new Random(1));
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<TtrpcChannel> channel = threads.submit(slow::channel);
            dialling.await();

            slow.close();
            goOn.countDown();

            assertThrows(ExecutionException.class, channel::get);
            // What was made meanwhile is closed, too.
            assertEquals(-1, guests.getLast().read(ByteBuffer.allocate(1)));
        }
        assertEquals(
                Reason.NOT_TRIED,
                assertThrows(UnreachableGuest.class, slow::channel).reason());
    }

    private static void await(CountDownLatch latch) {
        Uninterruptibles.awaitUninterruptibly(latch);
    }
}
