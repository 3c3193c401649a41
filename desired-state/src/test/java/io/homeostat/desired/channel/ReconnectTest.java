package io.homeostat.desired.channel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.controlplane.AnswerPolicy;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.Connection;
import io.homeostat.controlplane.Sent;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.desired.platform.Backoff;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Streams end, and others begin. */
class ReconnectTest {
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
    void aStreamIsRenewedInTimeAndWhatWasUnansweredGoesOutAgain() throws Exception {
        bench.controlPlane.script().messages(AnswerPolicy.acknowledgeFromDelivery(2));
        bench.timing = ChannelBench.renewingAfter(Duration.ofMillis(500));
        bench.open();

        assertEquals(
                Status.getDefaultInstance(),
                bench.channel().send(ChannelBench.body("1")).get(30, TimeUnit.SECONDS));
        assertTrue(opened().size() >= 2);
        assertEquals("", bench.channel().status().lastError());
    }

    @Test
    void aRegistrationThatIsNotAnsweredIsTriedAgain() throws Exception {
        bench.controlPlane.script().registrations(AnswerPolicy.ignore().times(2, AnswerPolicy.acknowledge()));
        bench.timing = ChannelBench.givingUpRegistrationAfter(Duration.ofMillis(300));
        bench.open();

        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.channel().status().connectedSince() != null);
        assertEquals(
                "no answer to the registration within 300 ms",
                bench.channel().status().lastError());
    }

    @Test
    void aRefusedRegistrationIsTriedAgainAndSaidClearly() throws Exception {
        bench.controlPlane
                .script()
                .registrations(AnswerPolicy.refuse(Code.FAILED_PRECONDITION, "unknown channel")
                        .times(2, AnswerPolicy.acknowledge()));
        bench.open();

        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.channel().status().connectedSince() != null);
        assertEquals(
                "the control plane refuses the registration: FAILED_PRECONDITION: unknown channel",
                bench.channel().status().lastError());
    }

    @Test
    void whoAcceptsAndClosesAtOnceIsAskedLessAndLessOften() throws Exception {
        bench.controlPlane.script().messages(AnswerPolicy.end(io.grpc.Status.UNAVAILABLE));
        bench.timing = ChannelBench.pausing(Backoff.doubling(Duration.ofMillis(50), Duration.ofMinutes(5)));
        bench.random = new Longest();
        bench.open();
        var _ = bench.channel().send(ChannelBench.body("1"));

        bench.controlPlane
                .transcript()
                .awaitThat("five streams", ChannelBench.PATIENCE, transcript -> opened().size() >= 5);
        Duration four = opened().get(4).at().minus(opened().get(0).at());
        assertTrue(four.toMillis() >= 50 + 100 + 200 + 400 - 20, four::toString);
    }

    @Test
    void aStreamThatDidSomethingIsReplacedSoonHoweverOftenThatHappens() throws Exception {
        bench.timing = ChannelBench.pausing(Backoff.doubling(Duration.ofMillis(50), Duration.ofMinutes(5)));
        bench.random = new Longest();
        bench.open();

        int streams = 12;
        for (int i = 1; i <= streams; i++) {
            Connection open = bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
            assertEquals(i, open.number());
            bench.channel().send(ChannelBench.body("" + i)).get(30, TimeUnit.SECONDS);
            open.end(io.grpc.Status.UNAVAILABLE);
            // Until its end is known it counts as open.
            await().atMost(ChannelBench.PATIENCE)
                    .until(() -> bench.controlPlane
                            .connection()
                            .filter(next -> next.number() > open.number())
                            .isPresent());
        }

        Duration all = opened().getLast().at().minus(opened().getFirst().at());
        // Doubled each time, the pauses would be more than three minutes together; so they are 200 ms each.
        assertTrue(all.compareTo(Duration.ofMinutes(1)) < 0, all::toString);
    }

    @Test
    void aStreamThatEndsBehindAMessageNotAskedForYetIsFollowedByAnother() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        bench.answer = body -> {
            try {
                busy.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return Status.getDefaultInstance();
        };
        bench.open();
        Connection connection = bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        Sent taken = bench.controlPlane.send(Bodies.getAgentInfo());
        await().atMost(ChannelBench.PATIENCE).until(() -> bench.received().size() == 1);
        Sent behind = bench.controlPlane.send(Bodies.getAgentInfo());
        connection.end(io.grpc.Status.UNAVAILABLE);
        // Time for the end to arrive while the first message is being taken.
        await().during(Duration.ofMillis(300)).until(() -> opened().size() == 1);
        busy.countDown();

        assertEquals(Status.getDefaultInstance(), taken.awaitAcknowledgement(ChannelBench.PATIENCE));
        assertEquals(Status.getDefaultInstance(), behind.awaitAcknowledgement(ChannelBench.PATIENCE));
        assertEquals(2, opened().size());
    }

    @Test
    void nobodyThereIsSaidWithTheEndpoint() throws Exception {
        bench.controlPlane.goAway();
        bench.open();

        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.channel().status().lastError().startsWith("the connection failed: "));
        ChannelStatus status = bench.channel().status();
        assertNull(status.connectedSince());
        assertNull(status.lastMessage());
        assertEquals(bench.controlPlane.endpoint(), status.endpoint());
        assertEquals("the message was dropped: there is no connection with the control plane", whyNotPosted());
    }

    @Test
    void aPostThatIsNotTakenFails() throws Exception {
        bench.controlPlane.script().posts(post -> io.grpc.Status.RESOURCE_EXHAUSTED.withDescription("slower"));
        bench.open();
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.channel().status().connectedSince() != null);

        assertEquals("the control plane did not take the message: RESOURCE_EXHAUSTED: slower", whyNotPosted());
    }

    @Test
    void theRatesOfTheHeadersAreKept() throws Exception {
        bench.controlPlane.script().messageRate(240);
        bench.open();
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.channel().status().connectedSince() != null);
        Duration began = bench.controlPlane.transcript().now();
        List<CompletableFuture<Status>> sent = IntStream.range(0, 62)
                .mapToObj(i -> bench.channel().send(ChannelBench.body("" + i)))
                .toList();
        for (CompletableFuture<Status> each : sent) {
            each.get(30, TimeUnit.SECONDS);
        }

        // Not from when the first one is heard, which may be long after it was sent.
        Duration all = bench.controlPlane.transcript().now().minus(began);
        // Sixty at once, then three a second.
        assertTrue(all.toMillis() >= 600, all::toString);
    }

    @Test
    void theSameFileCanComeToBeASocketLater() throws Exception {
        String endpoint = "unix:" + directory.resolve("later.sock");
        Files.writeString(directory.resolve("later.sock"), "");
        bench.open(endpoint);
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> !bench.channel().status().lastError().isEmpty());

        Files.delete(directory.resolve("later.sock"));
        Files.createSymbolicLink(directory.resolve("later.sock"), directory.resolve("acs.sock"));
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.channel().status().connectedSince() != null);
    }

    @Test
    void closingEndsTheStreamAndWhatWaits() throws Exception {
        bench.controlPlane.script().messages(AnswerPolicy.ignore());
        bench.open();
        bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        CompletableFuture<Status> waiting = bench.channel().send(ChannelBench.body("1"));

        bench.channel().close();

        assertThrows(CancellationException.class, () -> waiting.get(30, TimeUnit.SECONDS));
        assertTrue(bench.channel().send(ChannelBench.body("2")).isCompletedExceptionally());
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.controlPlane.connection().isEmpty());
        int streams = opened().size();
        await().during(Duration.ofMillis(300)).until(() -> opened().size() == streams);
    }

    @Test
    void closingInterruptsAnInboxThatTakesItsTime() throws Exception {
        CountDownLatch taking = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        bench.answer = body -> {
            taking.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
            return Status.getDefaultInstance();
        };
        bench.open();
        var _ = bench.controlPlane.send(Bodies.getAgentInfo());
        assertTrue(taking.await(30, TimeUnit.SECONDS));

        bench.channel().close();

        assertTrue(interrupted.await(0, TimeUnit.SECONDS));
    }

    @Test
    void whatIsTakenBackIsNotSent() throws Exception {
        bench.controlPlane.goAway();
        bench.open();
        CompletableFuture<Status> first = bench.channel().send(ChannelBench.body("1"));
        CompletableFuture<Status> second = bench.channel().send(ChannelBench.body("2"));
        first.cancel(false);
        assertEquals(1, bench.channel().status().unacknowledged());

        bench.controlPlane.comeBack();
        second.get(30, TimeUnit.SECONDS);
        assertEquals(1, bench.heardBodies().size());
        assertFalse(second.isCancelled());
    }

    private String whyNotPosted() {
        ExecutionException lost = assertThrows(
                ExecutionException.class,
                () -> bench.channel().post(ChannelBench.body("m")).get(30, TimeUnit.SECONDS));
        return String.valueOf(
                assertInstanceOf(IOException.class, lost.getCause()).getMessage());
    }

    private List<Entry.Opened> opened() {
        return bench.controlPlane.transcript().entries(Entry.Opened.class);
    }

    /** Always the longest pause. */
    private static final class Longest implements RandomGenerator {
        @Override
        public long nextLong() {
            return Long.MAX_VALUE;
        }

        @Override
        public long nextLong(long bound) {
            return bound - 1;
        }
    }
}
