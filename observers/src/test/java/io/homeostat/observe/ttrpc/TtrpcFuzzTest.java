package io.homeostat.observe.ttrpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthCheckResponse.ServingStatus;
import io.homeostat.proto.kata.HealthGrpc;
import io.homeostat.proto.kata.HealthGrpc.HealthImplBase;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Garbage, and frames that are almost right: the connection may end of them, and nothing else. */
@Timeout(300)
class TtrpcFuzzTest {
    private static final int ROUNDS = Boolean.getBoolean("nightly") ? 200 : 50;

    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    @AfterEach
    void tearDown() {
        timer.shutdownNow();
    }

    /** Frames of a real connection, of which some bytes are others, some are missing, or which are cut off; or any bytes at all. */
    private static byte[] almostFrames(Random random, List<Frame> real) {
        ByteArrayOutputStream result = new ByteArrayOutputStream();
        for (int i = random.nextInt(6); i >= 0; i--) {
            byte[] bytes = Peer.bytes(real.get(random.nextInt(real.size())));
            for (int change = random.nextInt(4); change > 0; change--) {
                // The first bytes of the length are left alone most of the time: after a huge one there is nothing to
                // see.
                int place = random.nextInt(10) == 0 ? 0 : 2;
                bytes[place + random.nextInt(bytes.length - place)] = (byte) random.nextInt();
            }
            result.write(bytes, 0, random.nextInt(8) == 0 ? random.nextInt(bytes.length) : bytes.length);
        }
        if (random.nextInt(10) == 0) {
            byte[] any = new byte[random.nextInt(2000)];
            random.nextBytes(any);
            result.writeBytes(any);
        }
        return result.toByteArray();
    }

    static List<Long> seeds() {
        return List.of(1L, 2L, 3L, 4L);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void aServerServesOn(long seed) throws Exception {
        Random random = new Random(seed);
        List<Frame> real = KataFrames.read().stream()
                .map(exchange -> exchange.asked().frame())
                .toList();
        HealthImplBase health = new HealthImplBase() {
            @Override
            public void check(CheckRequest request, StreamObserver<HealthCheckResponse> answers) {
                answers.onNext(HealthCheckResponse.newBuilder()
                        .setStatus(ServingStatus.SERVING)
                        .build());
                answers.onCompleted();
            }
        };
        Path socket = root.resolve("socket");
        try (TtrpcServer server = new TtrpcServer(new SocketAcceptor(socket), timer, List.of(health.bindService()))) {
            server.start();
            for (int round = 0; round < ROUNDS; round++) {
                try (Peer peer = Peer.to(socket)) {
                    sendAsFarAsItGoes(peer, almostFrames(random, real));
                }
                try (TtrpcChannel client = new TtrpcChannel(
                        new SocketWire(SocketChannel.open(UnixDomainSocketAddress.of(socket))), "server", timer)) {
                    assertEquals(ServingStatus.SERVING, check(client).getStatus(), "round " + round);
                }
            }
        }
    }

    private static HealthCheckResponse check(TtrpcChannel client) {
        return HealthGrpc.newBlockingStub(client)
                .withDeadlineAfter(60, TimeUnit.SECONDS)
                .check(CheckRequest.getDefaultInstance());
    }

    private static void sendAsFarAsItGoes(Peer peer, byte[] bytes) {
        try {
            peer.send(bytes);
        } catch (IOException e) {
            // It was closed in the middle, which is its right.
            assertNotNull(e.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {5, 6, 7, 8})
    void eachCallOfAClientHasAnEnd(long seed) throws Exception {
        Random random = new Random(seed);
        List<Frame> real = KataFrames.read().stream()
                .map(exchange -> exchange.answered().frame())
                .map(frame -> new Frame(2 * random.nextInt(3) + 1, frame.type(), frame.flags(), frame.payload()))
                .toList();
        for (int round = 0; round < ROUNDS; round++) {
            Peer.Pair pair = Peer.pair(root.resolve(seed + "-" + round));
            try (TtrpcChannel client = new TtrpcChannel(pair.tested(), "guest", timer)) {
                var first = HealthGrpc.newFutureStub(client).check(CheckRequest.getDefaultInstance());
                var second = HealthGrpc.newFutureStub(client).check(CheckRequest.getDefaultInstance());
                try (Peer peer = pair.peer()) {
                    peer.receive();
                    peer.receive();
                    sendAsFarAsItGoes(peer, almostFrames(random, real));
                }
                for (var call : List.of(first, second)) {
                    assertNotNull(outcome(call), "round " + round);
                }
            }
        }
    }

    /** An error other than a status would be a fault of ours. */
    private static Status outcome(Future<HealthCheckResponse> call) throws Exception {
        try {
            HealthCheckResponse _ = call.get(60, TimeUnit.SECONDS);
            return Status.OK;
        } catch (ExecutionException e) {
            Status status = Status.fromThrowable(e);
            if (status.getCode() == Status.Code.UNKNOWN && status.getCause() != null) {
                throw e;
            }
            return status;
        }
    }
}
