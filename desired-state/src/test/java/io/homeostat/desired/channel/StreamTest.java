package io.homeostat.desired.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.grpc.Metadata;
import io.homeostat.controlplane.Bodies;
import io.homeostat.proto.acs.MessageResponse;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** In which order a stream hears and says things. */
class StreamTest {
    private final RecordedCall call = new RecordedCall();
    private final List<String> received = new ArrayList<>();
    private final SendQueue queue = new SendQueue(ChannelTiming.DEFAULT, Ticker.systemTicker());
    private final ChannelStatus.Tracker status = new ChannelStatus.Tracker(InstantSource.system());
    private final Stream stream = new Stream(
            call,
            (id, body) -> {
                received.add(id + " after " + call.sent.size() + " and " + call.requested);
                return Status.getDefaultInstance();
            },
            queue,
            status,
            new CallerIdentity.Credentials("channel", "resource", "s3cr3t"),
            Ticker.systemTicker());

    @BeforeEach
    void register() {
        stream.register();
    }

    @Test
    void theNextMessageIsAskedForOnlyWhenThisOneIsAcknowledged() {
        accept();
        stream.onMessage(body("a"));

        assertEquals(List.of("a after 1 and 2"), received);
        assertEquals("a", call.sent.getLast().getMessageId());
        assertTrue(call.sent.getLast().hasMessageResponse());
        assertFalse(call.sent.getLast().getMessageResponse().hasStatus());
        assertEquals(3, call.requested);
    }

    @Test
    void whileOurAcknowledgementsAreNotReadNothingMoreIsHeard() {
        accept();
        call.ready = false;
        stream.onMessage(body("a"));
        assertEquals(2, call.requested);
        assertFalse(stream.open());

        call.ready = true;
        stream.onReady();
        stream.onReady();
        assertEquals(3, call.requested);
        assertTrue(stream.open());
    }

    @Test
    void aMessageWithAnEndlessIdEndsTheStream() {
        accept();
        stream.onMessage(body("x".repeat(2_000)));

        assertEquals(List.of(), received);
        assertEquals(1, call.sent.size());
        assertTrue(call.cancelled);
    }

    @Test
    void aMessageThatComesBeforeTheRegistrationsAnswerIsTakenAndOursWait() {
        stream.onMessage(body("early"));
        assertEquals(1, received.size());
        assertFalse(stream.open());

        accept();
        assertTrue(stream.open());
    }

    @Test
    void theFirstAnswerIsTheRegistrationsWhateverItsIdAndALaterRefusalStillCounts() {
        stream.onMessage(response("anything", Code.OK));
        assertTrue(stream.registered());

        stream.onMessage(response(call.sent.getFirst().getMessageId(), Code.PERMISSION_DENIED));
        assertTrue(stream.over());
        assertTrue(call.cancelled);
    }

    @Test
    void anEndedStreamSaysNothingMore() {
        accept();
        stream.end(new StreamOutcome.Failed(StreamOutcome.Cause.ENDED, "first"));
        stream.end(new StreamOutcome.Failed(StreamOutcome.Cause.ENDED, "second"));
        stream.send(StreamAgentMessagesRequest.getDefaultInstance());
        stream.onMessage(body("late"));
        assertEquals(1, call.sent.size());

        stream.onClose(io.grpc.Status.CANCELLED, new Metadata());
        assertEquals(
                new StreamOutcome.Failed(StreamOutcome.Cause.ENDED, "first"),
                stream.ending().join());
    }

    @Test
    void whatHasEndedByItselfIsNotEndedAgain() {
        stream.onClose(io.grpc.Status.UNAVAILABLE, new Metadata());
        stream.endUnlessRegistered(Duration.ofSeconds(10));

        assertFalse(call.cancelled);
    }

    @Test
    void aStreamThatWasEndedBeforeItBeganDoesNotBegin() {
        RecordedCall unused = new RecordedCall();
        Stream ended = new Stream(
                unused,
                (id, body) -> Status.getDefaultInstance(),
                queue,
                status,
                new CallerIdentity.Credentials("channel", "resource", ""),
                Ticker.systemTicker());
        ended.end(new StreamOutcome.Renewed());
        ended.register();

        assertEquals(List.of(), unused.sent);
        assertEquals(new StreamOutcome.Renewed(), ended.ending().join());
    }

    @Test
    void limitsThatAreNoNumbersAreNoLimits() {
        Metadata headers = new Metadata();
        headers.put(key("agent-communication-message-rate-limit"), "many");
        headers.put(key("agent-communication-bandwidth-limit"), "-1");
        stream.onHeaders(headers);
        for (int i = 0; i < 30; i++) {
            var _ = queue.add(UUID.randomUUID().toString(), ChannelBench.body("" + i));
            assertTrue(queue.turn().request() != null);
        }
    }

    @Test
    void theLimitsOfTheHeadersAreForMessagesAndBytes() {
        Metadata headers = new Metadata();
        headers.put(key("agent-communication-bandwidth-limit"), "400");
        stream.onHeaders(headers);
        var _ = queue.add(UUID.randomUUID().toString(), ChannelBench.body("x".repeat(200)));
        var _ = queue.add(UUID.randomUUID().toString(), ChannelBench.body("1"));
        assertTrue(queue.turn().request() != null);
        assertTrue(queue.turn().pause() > Duration.ofSeconds(10).toNanos());
    }

    @Test
    void howAStreamEndedDecidesHowSoonTheNextOneIsTried() {
        assertInstanceOf(StreamOutcome.Renewed.class, StreamOutcome.of(io.grpc.Status.DEADLINE_EXCEEDED, ""));
        for (io.grpc.Status status : List.of(
                io.grpc.Status.OK,
                io.grpc.Status.CANCELLED,
                io.grpc.Status.UNAVAILABLE,
                io.grpc.Status.RESOURCE_EXHAUSTED,
                io.grpc.Status.INTERNAL)) {
            assertFalse(failed(status, "").cause().isRefusal(), status::toString);
        }
        for (io.grpc.Status status : List.of(
                io.grpc.Status.UNAUTHENTICATED,
                io.grpc.Status.PERMISSION_DENIED,
                io.grpc.Status.INVALID_ARGUMENT,
                io.grpc.Status.UNIMPLEMENTED)) {
            assertTrue(failed(status, "").cause().isRefusal(), status::toString);
        }
    }

    @Test
    void aLongComplaintIsCutAndMasked() {
        StreamOutcome.Failed refused = failed(
                io.grpc.Status.PERMISSION_DENIED.withDescription("s3cr3t https://bucket/x?sig=1 " + "x".repeat(10_000)),
                "s3cr3t");

        assertTrue(refused.error().length() < 600);
        assertFalse(refused.error().contains("s3cr3t") || refused.error().contains("sig"), refused.error());
    }

    private static StreamOutcome.Failed failed(io.grpc.Status status, String secret) {
        return assertInstanceOf(StreamOutcome.Failed.class, StreamOutcome.of(status, secret));
    }

    private void accept() {
        stream.onMessage(response(call.sent.getFirst().getMessageId(), Code.OK));
    }

    private static StreamAgentMessagesResponse body(String id) {
        return StreamAgentMessagesResponse.newBuilder()
                .setMessageId(id)
                .setMessageBody(Bodies.getAgentInfo())
                .build();
    }

    private static StreamAgentMessagesResponse response(String id, Code code) {
        return StreamAgentMessagesResponse.newBuilder()
                .setMessageId(id)
                .setMessageResponse(MessageResponse.newBuilder()
                        .setStatus(Status.newBuilder().setCode(code.getNumber())))
                .build();
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }
}
