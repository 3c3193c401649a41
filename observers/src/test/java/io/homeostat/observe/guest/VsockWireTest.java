package io.homeostat.observe.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.grpc.stub.StreamObserver;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.observe.ttrpc.Wire;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.kata.HealthGrpc.HealthImplBase;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections by descriptor. Where the kernel has no loopback for vsock, a pair of other sockets stands for one. */
@Timeout(60)
class VsockWireTest {
    /** The cid of this machine. */
    private static final int LOCAL = 1;

    private static final int ANY = -1;
    /** Of the tests of this class, which run at the same time, each has a port of its own. */
    private static final AtomicInteger PORTS =
            new AtomicInteger(0x48530000 + (int) (ProcessHandle.current().pid() & 0xfff) * 16);

    private final int port = PORTS.getAndIncrement();

    private record Pair(VsockWire one, VsockWire other) implements AutoCloseable {
        static Pair open() throws Throwable {
            int[] descriptors = descriptors();
            return new Pair(new VsockWire(descriptors[0]), new VsockWire(descriptors[1]));
        }

        static int[] descriptors() throws Throwable {
            var socketpair = Linker.nativeLinker()
                    .downcallHandle(
                            Linker.nativeLinker().defaultLookup().findOrThrow("socketpair"),
                            FunctionDescriptor.of(
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.JAVA_INT,
                                    ValueLayout.ADDRESS));
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment descriptors = arena.allocate(ValueLayout.JAVA_INT, 2);
                assertEquals(0, (int) socketpair.invokeExact(1, 1, 0, descriptors));
                return descriptors.toArray(ValueLayout.JAVA_INT);
            }
        }

        @Override
        public void close() {
            one.close();
            other.close();
        }
    }

    private static ByteBuffer direct(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
    }

    @Test
    void whatOneWritesTheOtherReadsUntilTheEnd() throws Throwable {
        try (Pair pair = Pair.open()) {
            ByteBuffer sent = direct("hello");
            assertEquals(5, pair.one.write(sent));
            assertFalse(sent.hasRemaining());
            pair.one.close();

            ByteBuffer read = ByteBuffer.allocateDirect(3);
            assertEquals(3, pair.other.read(read));
            assertEquals("hel", StandardCharsets.UTF_8.decode(read.flip()).toString());
            assertEquals(2, pair.other.read(read.clear()));
            assertEquals("lo", StandardCharsets.UTF_8.decode(read.flip()).toString());
            assertEquals(-1, pair.other.read(read.clear()));
            assertThrows(IOException.class, () -> pair.other.write(direct("nobody reads this")));
        }
    }

    @Test
    void whatThereIsNoRoomForIsNotWrittenUntilThereIs() throws Throwable {
        try (Pair pair = Pair.open()) {
            ByteBuffer much = ByteBuffer.allocateDirect(64 << 20);
            while (pair.one.write(much) > 0) {
                assertTrue(much.hasRemaining(), "there is always room");
            }
            CompletableFuture<Void> room = CompletableFuture.runAsync(
                    () -> {
                        try {
                            pair.one.awaitRoom();
                        } catch (IOException e) {
                            throw new CompletionException(e);
                        }
                    },
                    command -> Thread.ofPlatform().start(command));
            assertFalse(room.isDone());

            // Exactly what was written: there is no more to come.
            ByteBuffer read = ByteBuffer.allocateDirect(much.position());
            while (read.hasRemaining()) {
                assertTrue(pair.other.read(read) > 0);
            }

            room.get();
            assertTrue(pair.one.write(much) > 0);
        }
    }

    @Test
    void closingItEndsTheWaitOfWhoeverReads() throws Throwable {
        try (Pair pair = Pair.open()) {
            CompletableFuture<Thread> reader = new CompletableFuture<>();
            CompletableFuture<Integer> read = CompletableFuture.supplyAsync(
                    () -> {
                        reader.complete(Thread.currentThread());
                        try {
                            return pair.one.read(ByteBuffer.allocateDirect(1));
                        } catch (IOException e) {
                            throw new CompletionException(e);
                        }
                    },
                    command -> Thread.ofPlatform().start(command));
            reader.get();

            pair.one.close();

            // Either it was reading, or it has not begun.
            assertInstanceOf(
                    ClosedChannelException.class,
                    assertThrows(ExecutionException.class, read::get).getCause());
            assertEquals(-1, pair.other.read(ByteBuffer.allocateDirect(1)));
            assertThrows(ClosedChannelException.class, () -> pair.one.read(ByteBuffer.allocateDirect(1)));
        }
    }

    @Test
    void closingAnAcceptorEndsTheWaitOfWhoeverAccepts() throws Exception {
        VsockAcceptor acceptor = acceptor(ANY);
        CompletableFuture<Exception> failure = new CompletableFuture<>();
        Thread accepting = Thread.ofPlatform().start(() -> {
            try {
                acceptor.accept().close();
            } catch (IOException e) {
                failure.complete(e);
            }
        });

        acceptor.close();

        assertInstanceOf(AsynchronousCloseException.class, failure.get());
        accepting.join();
        assertThrows(AsynchronousCloseException.class, acceptor::accept);
        // The port is free again.
        acceptor(ANY).close();
    }

    @Test
    void aPortThatIsTakenIsRefused() throws Exception {
        try (VsockAcceptor _ = acceptor(ANY)) {
            IOException refused = assertThrows(IOException.class, () -> new VsockAcceptor(ANY, port));

            assertEquals(
                    "port " + port + " of vsock can't be listened at: Address already in use", refused.getMessage());
        }
    }

    @Test
    void whoIsNotKnownToBeTheHostIsDisconnected() throws Throwable {
        int[] descriptors = Pair.descriptors();
        try (VsockAcceptor acceptor = acceptor(ANY);
                VsockWire other = new VsockWire(descriptors[1])) {
            assertFalse(acceptor.admits(descriptors[0]));

            assertEquals(-1, other.read(ByteBuffer.allocateDirect(1)));
        }
    }

    @Test
    void whoListensForItsHostServesNobodyOfItsOwnMachine() throws Exception {
        acceptor(LOCAL).close();
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        try (TtrpcServer server = new TtrpcServer(acceptor(ANY), timer, List.of())) {
            server.start();
            try (Wire wire =
                    new GuestDialer(timer).connect(new GuestEndpoint.Vsock(LOCAL, port), Duration.ofSeconds(30))) {
                assertEquals(-1, wire.read(ByteBuffer.allocateDirect(1)));
            }
        } finally {
            timer.shutdownNow();
        }
    }

    @Test
    void callsGoThroughALoopbackOfVsock() throws Exception {
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        HealthImplBase health = new HealthImplBase() {
            @Override
            public void check(CheckRequest request, StreamObserver<HealthCheckResponse> answers) {
                answers.onNext(HealthCheckResponse.getDefaultInstance());
                answers.onCompleted();
            }
        };
        try (TtrpcServer server = new TtrpcServer(acceptor(LOCAL), timer, List.of(health.bindService()))) {
            server.start();
            GuestEndpoint endpoint = new GuestEndpoint.Vsock(LOCAL, port);
            try (TtrpcChannel client = new TtrpcChannel(
                    new GuestDialer(timer).connect(endpoint, Duration.ofSeconds(30)), "guest", timer)) {
                assertEquals(
                        HealthCheckResponse.getDefaultInstance(),
                        HealthGrpc.newBlockingStub(client)
                                .withDeadlineAfter(30, TimeUnit.SECONDS)
                                .check(CheckRequest.getDefaultInstance()));
            }
        } finally {
            timer.shutdownNow();
        }
    }

    /** Skips the test where this machine has no vsock, or none with this address. */
    private VsockAcceptor acceptor(int cid) throws IOException {
        try {
            return new VsockAcceptor(cid, port);
        } catch (IOException e) {
            String why = String.valueOf(e.getMessage());
            assumeTrue(
                    !why.contains("Cannot assign requested address") && !why.contains("not supported"),
                    "no vsock here (the module vsock_loopback): " + why);
            throw e;
        }
    }
}
