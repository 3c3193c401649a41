package io.homeostat.desired.channel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.Connection;
import io.homeostat.controlplane.Nonsense;
import io.homeostat.controlplane.Sent;
import io.homeostat.proto.acs.MessageResponse;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever a control plane sends, the channel takes what makes sense and stays. */
class BrokenControlPlaneTest {
    /** So much gRPC lets come in advance on a line that it has found to be slow. */
    private static final long WIDEST_WINDOW = 8L << 20;

    @TempDir
    private Path directory;

    private ChannelBench bench;

    @BeforeEach
    void listen() throws Exception {
        bench = new ChannelBench(directory);
    }

    @AfterEach
    void close() throws Exception {
        bench.close();
    }

    @Test
    void whatMeansNothingChangesNothing() throws Exception {
        bench.open();
        Connection connection = connection();
        connection.send(StreamAgentMessagesResponse.getDefaultInstance());
        connection.send(response("never sent", Status.getDefaultInstance()));
        connection.send(response("", error(Code.INTERNAL)));
        connection.send(response("never sent", error(Code.RESOURCE_EXHAUSTED)));
        String registration = bench.controlPlane.transcript().heard().getFirst().getMessageId();
        connection.send(response(registration, Status.getDefaultInstance()));

        assertWell(connection);
    }

    @Test
    void aSecondAnswerIsNoNews() throws Exception {
        bench.open();
        Connection connection = connection();
        bench.channel().send(ChannelBench.body("1")).get(30, TimeUnit.SECONDS);
        String id = bench.heardBodies().getFirst().getMessageId();

        connection.send(response(id, error(Code.INTERNAL)));
        connection.send(response(id, error(Code.RESOURCE_EXHAUSTED)));

        assertWell(connection);
        assertEquals(
                List.of("1", "well"),
                bench.heardBodies().stream()
                        .map(message -> ChannelBench.name(message.getMessageBody()))
                        .toList());
    }

    @Test
    void anInboxThatThrowsIsAnErrorAcknowledgementAndNotTheEnd() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        bench.answer = body -> {
            if (calls.getAndIncrement() == 0) {
                throw new IllegalStateException("secret words");
            }
            return Status.getDefaultInstance();
        };
        bench.open();
        Connection connection = connection();

        Status status = bench.controlPlane.send(Bodies.getAgentInfo()).awaitAcknowledgement(ChannelBench.PATIENCE);

        assertEquals(Code.INTERNAL_VALUE, status.getCode());
        assertFalse(status.getMessage().contains("secret"), status.getMessage());
        assertWell(connection);
    }

    @Test
    void bytesThatAreNoMessageEndNothingButTheStream() throws Exception {
        bench.open();
        connection().sendBytes(ByteString.copyFrom(new byte[] {0x0F, 1, 2}));

        awaitStream(2);
        assertWell(connection());
    }

    @Test
    void aMessageThatIsTooLongEndsNothingButTheStream() throws Exception {
        bench.open();
        connection().sendBytes(ByteString.copyFrom(new byte[Endpoint.MAX_MESSAGE_BYTES + 1]));

        awaitStream(2);
        assertTrue(bench.channel().status().lastError().contains("RESOURCE_EXHAUSTED"));
        assertWell(connection());
        assertEquals(1, bench.received().size());
    }

    @Test
    void aFloodIsHeardOneAtATimeAndWaitsWhileWeAreBusy() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        AtomicLong poured = new AtomicLong();
        bench.answer = body -> {
            try {
                busy.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return Status.getDefaultInstance();
        };
        bench.open();
        var nonsense = Nonsense.messages(3);
        Connection connection = connection();
        connection.flood(() -> {
            ByteString next = nonsense.get();
            poured.addAndGet(next.size());
            return next;
        });

        await().atMost(ChannelBench.PATIENCE).until(() -> bench.received().size() == 1);
        AtomicLong held = new AtomicLong(-1);
        await().atMost(ChannelBench.PATIENCE)
                .during(Duration.ofMillis(500))
                .until(() -> held.getAndSet(poured.get()) == held.get());
        assertTrue(held.get() < WIDEST_WINDOW, held::toString);
        assertEquals(1, bench.received().size());
        busy.countDown();
        await().atMost(ChannelBench.PATIENCE).until(() -> poured.get() > held.get() + WIDEST_WINDOW);
        connection.stopFlood();
        assertWell(connection);
    }

    private void assertWell(Connection connection) throws Exception {
        Sent sent = bench.controlPlane.send(Bodies.getAgentInfo());
        assertEquals(Status.getDefaultInstance(), sent.awaitAcknowledgement(ChannelBench.PATIENCE));
        CompletableFuture<Status> ours = bench.channel().send(ChannelBench.body("well"));
        assertEquals(Status.getDefaultInstance(), ours.get(30, TimeUnit.SECONDS));
        assertEquals(
                connection.number(),
                bench.controlPlane.connection().orElseThrow().number());
    }

    private Connection connection() throws InterruptedException {
        return bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
    }

    private void awaitStream(int number) {
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.controlPlane
                        .connection()
                        .filter(open -> open.number() == number)
                        .isPresent());
    }

    private static StreamAgentMessagesResponse response(String id, Status status) {
        return StreamAgentMessagesResponse.newBuilder()
                .setMessageId(id)
                .setMessageResponse(MessageResponse.newBuilder().setStatus(status))
                .build();
    }

    private static Status error(Code code) {
        return Status.newBuilder().setCode(code.getNumber()).build();
    }
}
