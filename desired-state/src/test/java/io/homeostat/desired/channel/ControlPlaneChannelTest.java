package io.homeostat.desired.channel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.controlplane.AnswerPolicy;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.Sent;
import io.homeostat.controlplane.Transcript.Entry;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the two sides say to each other when all is well, and when messages are not answered as they should be. */
class ControlPlaneChannelTest {
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
    void itRegistersFirstAndSaysWhoItIsInTheHeadersToo() throws InterruptedException {
        bench.open();
        var connection = bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);

        assertEquals(ChannelBench.RESOURCE, connection.caller().resource());
        assertEquals(ChannelBench.CHANNEL, connection.caller().channel());
        assertEquals("", connection.caller().authentication());
        StreamAgentMessagesRequest first =
                bench.controlPlane.transcript().heard().getFirst();
        assertEquals(ChannelBench.RESOURCE, first.getRegisterConnection().getResourceId());
        assertEquals(ChannelBench.CHANNEL, first.getRegisterConnection().getChannelId());
        assertEquals(0, first.getRegisterConnection().getProtocolVersion());
        assertEquals(36, first.getMessageId().length());
        await().untilAsserted(() -> assertNotNull(bench.channel().status().connectedSince()));
    }

    @Test
    void aMessageIsTakenAndAcknowledgedWithWhatTheInboxSays() throws InterruptedException {
        Status no = Status.newBuilder()
                .setCode(Code.INVALID_ARGUMENT_VALUE)
                .setMessage("no")
                .build();
        bench.answer = body -> Bodies.type(body).equals("GetOSInfo") ? no : Status.getDefaultInstance();
        bench.open();
        // What is sent while it registers may overtake what was sent before.
        bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);

        Sent good = bench.controlPlane.send(Bodies.getAgentInfo());
        Sent bad = bench.controlPlane.send(Bodies.getOsInfo());

        assertEquals(Status.getDefaultInstance(), good.awaitAcknowledgement(ChannelBench.PATIENCE));
        assertEquals(no, bad.awaitAcknowledgement(ChannelBench.PATIENCE));
        assertEquals(List.of(good.id(), bad.id()), bench.received());
    }

    @Test
    void aMessageOfOursIsAcknowledgedOnce() throws Exception {
        bench.open();

        assertEquals(
                Status.getDefaultInstance(), acknowledgement(bench.channel().send(body("1"))));
        assertEquals(0, bench.channel().status().unacknowledged());
    }

    @Test
    void withoutAnAcknowledgementItIsSentAgainWithTheSameId() throws Exception {
        bench.controlPlane.script().messages(AnswerPolicy.acknowledgeFromDelivery(3));
        bench.timing = ChannelBench.repeatingAfter(Duration.ofMillis(100));
        bench.open();

        acknowledgement(bench.channel().send(body("1")));

        assertTrue(bench.heardBodies().size() >= 3);
        assertEquals(
                1,
                bench.heardBodies().stream()
                        .map(StreamAgentMessagesRequest::getMessageId)
                        .distinct()
                        .count());
    }

    @Test
    void anErrorIsTheAnswerAndNotAReasonToSendAgain() throws Exception {
        bench.controlPlane.script().messages(AnswerPolicy.refuse(Code.INVALID_ARGUMENT, "what is this"));
        bench.open();

        Status status = acknowledgement(bench.channel().send(body("1")));

        assertEquals(Code.INVALID_ARGUMENT_VALUE, status.getCode());
        assertEquals(1, bench.heardBodies().size());
    }

    @Test
    void aMessageThatIsTooMuchIsSentAgainLater() throws Exception {
        bench.controlPlane
                .script()
                .messages(AnswerPolicy.refuse(Code.RESOURCE_EXHAUSTED, "slower").times(2, AnswerPolicy.acknowledge()));
        bench.open();

        assertEquals(
                Status.getDefaultInstance(), acknowledgement(bench.channel().send(body("1"))));
        assertEquals(3, bench.heardBodies().size());
    }

    @Test
    void messagesGoOutInTheirOrder() throws Exception {
        bench.open();
        List<CompletableFuture<Status>> sent = IntStream.range(0, 200)
                .mapToObj(i -> bench.channel().send(body(Integer.toString(i))))
                .toList();
        for (CompletableFuture<Status> each : sent) {
            acknowledgement(each);
        }

        assertEquals(
                IntStream.range(0, 200).mapToObj(Integer::toString).toList(),
                bench.controlPlane.transcript().bodies().stream()
                        .map(ChannelBench::name)
                        .toList());
    }

    @Test
    void whatIsNotAcknowledgedGoesOutAgainInItsOrderWhenTheControlPlaneComesBack() throws Exception {
        bench.controlPlane.script().messages(AnswerPolicy.ignore());
        bench.open();
        CompletableFuture<Status> first = bench.channel().send(body("1"));
        CompletableFuture<Status> second = bench.channel().send(body("2"));
        bench.controlPlane
                .transcript()
                .awaitThat(
                        "both",
                        ChannelBench.PATIENCE,
                        transcript -> transcript.bodies().size() == 2);
        bench.controlPlane.goAway();
        CompletableFuture<Status> third = bench.channel().send(body("3"));
        await().untilAsserted(() -> assertTrue(bench.channel().status().connectedSince() == null));
        assertEquals(3, bench.channel().status().unacknowledged());
        int before = bench.heardBodies().size();

        bench.controlPlane.script().messages(AnswerPolicy.acknowledge());
        bench.controlPlane.comeBack();
        acknowledgement(first);
        acknowledgement(second);
        acknowledgement(third);

        assertEquals(
                List.of("1", "2", "3"),
                bench.heardBodies().subList(before, before + 3).stream()
                        .map(message -> ChannelBench.name(message.getMessageBody()))
                        .toList());
    }

    @Test
    void whatIsDoneIsWhatTheProtocolSays() throws Exception {
        bench.timing = ChannelTiming.DEFAULT;
        AnswerPolicy slower = AnswerPolicy.refuse(Code.RESOURCE_EXHAUSTED, "slower");
        bench.controlPlane.script().messages(slower.times(2, AnswerPolicy.acknowledge()));
        bench.open();
        acknowledgement(bench.channel().send(body("1")));
        bench.controlPlane.script().messages(AnswerPolicy.ignore());
        CompletableFuture<Status> ours = bench.channel().send(body("2"));
        bench.controlPlane
                .transcript()
                .awaitThat(
                        "the second",
                        ChannelBench.PATIENCE,
                        transcript -> transcript.bodies().size() == 2);
        bench.controlPlane.script().messages(AnswerPolicy.acknowledge());
        bench.controlPlane.awaitConnection(ChannelBench.PATIENCE).end(io.grpc.Status.UNAVAILABLE);
        Sent theirs = bench.controlPlane.send(Bodies.getAgentInfo());
        acknowledgement(ours);
        theirs.awaitAcknowledgement(ChannelBench.PATIENCE);

        assertEquals(List.of(), bench.controlPlane.transcript().violations());
    }

    @Test
    void aPostSaysWhoItIsToo() throws Exception {
        bench.open();
        bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        await().until(() -> bench.channel().status().connectedSince() != null);

        bench.channel().post(body("m")).get(30, TimeUnit.SECONDS);

        Entry.Posted posted =
                bench.controlPlane.transcript().entries(Entry.Posted.class).getFirst();
        assertEquals(ChannelBench.RESOURCE, posted.caller().resource());
        assertEquals(ChannelBench.CHANNEL, posted.message().getChannelId());
        assertEquals(ChannelBench.RESOURCE, posted.message().getResourceId());
        assertEquals("m", ChannelBench.name(posted.message().getMessageBody()));
    }

    private static MessageBody body(String name) {
        return ChannelBench.body(name);
    }

    private static Status acknowledgement(CompletableFuture<Status> future)
            throws ExecutionException, InterruptedException, TimeoutException {
        return future.get(30, TimeUnit.SECONDS);
    }
}
