package io.homeostat.desired.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** When which message goes out. Time stands still unless a test moves it. */
class SendQueueTest {
    private static final Status OK = Status.getDefaultInstance();

    private long nanos = Long.MAX_VALUE - Duration.ofSeconds(1).toNanos();
    private final SendQueue queue = new SendQueue(ChannelTiming.DEFAULT, () -> nanos);

    @Test
    void whatIsNotAcknowledgedIsDueAgainAfterTwoSeconds() {
        var _ = add(body("1"));
        StreamAgentMessagesRequest first = taken().getFirst();

        pass(Duration.ofMillis(1_999));
        assertEquals(List.of(), taken());
        pass(Duration.ofMillis(1));
        assertSame(first, taken().getFirst());
    }

    @Test
    void eachRefusalForTooMuchAddsAQuarterOfASecondAndHoldsTheOthers() {
        var _ = add(body("1"));
        String id = taken().getFirst().getMessageId();
        for (int i = 1; i <= 3; i++) {
            queue.answered(id, status(Code.RESOURCE_EXHAUSTED));
            var _ = add(body("other " + i));
            pass(Duration.ofMillis(250L * i - 1));
            assertEquals(List.of(), taken());
            pass(Duration.ofMillis(1));
            assertTrue(taken().stream().anyMatch(sent -> sent.getMessageId().equals(id)));
        }
    }

    @Test
    void anErrorIsAnAnswerAndASecondAnswerIsNone() throws Exception {
        CompletableFuture<Status> future = add(body("1"));
        String id = taken().getFirst().getMessageId();
        queue.answered(id, status(Code.INTERNAL));
        queue.answered(id, OK);
        queue.answered("other", OK);

        assertEquals(Code.INTERNAL_VALUE, future.get().getCode());
        assertEquals(0, queue.size());
    }

    @Test
    void noMoreThanTheWindowIsOnItsWay() {
        for (int i = 0; i < 40; i++) {
            var _ = add(body("" + i));
        }
        List<StreamAgentMessagesRequest> sent = taken();
        assertEquals(32, sent.size());
        queue.answered(sent.get(5).getMessageId(), OK);
        assertEquals(List.of("32"), names(taken()));
        assertEquals(39, queue.size());
    }

    @Test
    void onANewStreamAllGoesOutInItsOrder() {
        var _ = add(body("1"));
        var _ = taken();
        pass(Duration.ofMillis(100));
        var _ = add(body("2"));
        var _ = taken();
        pass(Duration.ofMillis(100));
        var _ = add(body("3"));

        queue.startOver();
        assertEquals(List.of("1", "2", "3"), names(taken()));
    }

    @Test
    void howLongToWaitIsSaid() {
        assertEquals(SendQueue.Turn.NOTHING, queue.turn());
        var _ = add(body("1"));
        var _ = taken();
        pass(Duration.ofMillis(500));
        assertEquals(Duration.ofMillis(1_500).toNanos(), queue.turn().pause());
    }

    @Test
    void theBudgetHoldsForRepetitionsToo() {
        queue.limit(4, 0);
        var _ = add(body("1"));
        assertEquals(1, taken().size());
        pass(Duration.ofSeconds(20));
        assertEquals(List.of(), taken());
        pass(Duration.ofSeconds(1));
        assertEquals(1, taken().size());
    }

    @Test
    void whereOnlySoMuchMayBeSentWhatWasNeverSentComesBeforeRepetitions() {
        queue.limit(4, 0);
        for (int i = 1; i <= 3; i++) {
            var _ = add(body("" + i));
        }
        assertEquals(List.of("1"), names(taken()));
        pass(Duration.ofSeconds(21));
        assertEquals(List.of("2"), names(taken()));
        pass(Duration.ofSeconds(21));
        assertEquals(List.of("3"), names(taken()));
        pass(Duration.ofSeconds(21));
        assertEquals(List.of("1"), names(taken()));
    }

    @Test
    void whatIsTooLongToBeTakenIsAnsweredAtOnce() throws Exception {
        Status status = add(body("x".repeat(Endpoint.MAX_MESSAGE_BYTES))).get();

        assertEquals(Code.INVALID_ARGUMENT_VALUE, status.getCode());
        assertEquals(0, queue.size());
    }

    @Test
    void whatIsWaitedForMaySendTheNextMessage() throws Exception {
        CompletableFuture<Status> second = add(body("1")).thenCompose(_ -> add(body("2")));
        queue.answered(taken().getFirst().getMessageId(), OK);
        queue.answered(taken().getFirst().getMessageId(), OK);

        assertEquals(OK, second.get());
    }

    @Test
    void whatIsAnsweredMayBeSentAgainUnderItsIdAtOnce() throws Exception {
        CompletableFuture<CompletableFuture<Status>> again = new CompletableFuture<>();
        var _ = queue.add("id", body("1")).thenAccept(_ -> again.complete(queue.add("id", body("1"))));
        var _ = taken();

        queue.answered("id", status(Code.UNAVAILABLE));

        assertEquals("id", taken().getFirst().getMessageId());
        queue.answered("id", OK);
        assertEquals(OK, again.get().get());
    }

    @Test
    void onceClosedNothingWaits() {
        CompletableFuture<Status> before = add(body("1"));
        queue.close();

        assertTrue(before.isCompletedExceptionally());
        assertTrue(add(body("2")).isCompletedExceptionally());
        assertEquals(0, queue.size());
        assertEquals(List.of(), taken());
    }

    private CompletableFuture<Status> add(MessageBody body) {
        return queue.add(UUID.randomUUID().toString(), body);
    }

    /** All that may be sent now. */
    private List<StreamAgentMessagesRequest> taken() {
        return Stream.generate(() -> queue.turn().request())
                .takeWhile(Objects::nonNull)
                .map(Objects::requireNonNull)
                .toList();
    }

    private static List<String> names(List<StreamAgentMessagesRequest> sent) {
        return sent.stream()
                .map(message -> ChannelBench.name(message.getMessageBody()))
                .toList();
    }

    private static MessageBody body(String name) {
        return ChannelBench.body(name);
    }

    private static Status status(Code code) {
        return Status.newBuilder().setCode(code.getNumber()).build();
    }

    private void pass(Duration time) {
        nanos += time.toNanos();
    }
}
