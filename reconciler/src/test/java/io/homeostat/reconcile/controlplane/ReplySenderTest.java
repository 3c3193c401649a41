package io.homeostat.reconcile.controlplane;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.channel.Channel;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acs.MessageBody;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Answers: to whom, how many at once, and when they count as received. */
class ReplySenderTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final OpenChannel channel = new OpenChannel();
    private final ReplySender replies = new ReplySender(CompletableFuture.completedFuture(channel));

    @Test
    void anAnswerGivenBeforeThereIsAChannelIsSentOnceThereIs() {
        CompletableFuture<Channel> opening = new CompletableFuture<>();
        ReplySender early = new ReplySender(opening);
        early.send(request("r1"), "answer", Any.getDefaultInstance(), () -> {});

        opening.complete(channel);

        assertEquals(1, channel.sent().size());
    }

    @Test
    void onlyAcceptedAnswersCountAsReceived() {
        AtomicInteger received = new AtomicInteger();
        for (int i = 0; i < 2; i++) {
            replies.send(request("r" + i), "answer", Any.getDefaultInstance(), received::incrementAndGet);
        }

        channel.acknowledge(0, Status.newBuilder().setCode(Code.INTERNAL_VALUE).build());
        assertEquals(0, received.get());
        channel.acknowledge(1, Status.getDefaultInstance());
        assertEquals(1, received.get());
    }

    @Test
    void ofTooManyAnswersTheOldestAreTakenBack() {
        for (int i = 0; i < ReplySender.MOST_PENDING + 3; i++) {
            replies.send(request("r" + i), "answer", Any.getDefaultInstance(), () -> {});
        }

        assertEquals(List.of(0, 1, 2), channel.cancelled());
    }

    @Test
    void acknowledgedAnswersMakeRoom() {
        for (int i = 0; i < 3 * ReplySender.MOST_PENDING; i++) {
            replies.send(request("r" + i), "answer", Any.getDefaultInstance(), () -> {});
            channel.acknowledge(i, Status.getDefaultInstance());
        }

        assertEquals(List.of(), channel.cancelled());
    }

    @Test
    void requestsDuringALookGetOneAnswerFromTheSameLookWithTheirOwnLabels() throws Exception {
        AtomicInteger looks = new AtomicInteger();
        CountDownLatch looking = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(1);
        PluginStatesResponder states = new PluginStatesResponder(
                () -> {
                    looks.incrementAndGet();
                    looking.countDown();
                    asked.await();
                    return ImmutableList.of();
                },
                findings -> new PluginStates.Answer(CurrentPluginStates.getDefaultInstance(), () -> {}),
                replies,
                Duration.ZERO);
        try (states) {
            states.asked(request("r1"));
            looking.await();
            states.asked(request("r2"));
            states.asked(request("r3"));
            asked.countDown();

            await().atMost(PATIENCE).until(() -> channel.sent().size() == 3);
            assertEquals(
                    List.of("r1", "r2", "r3"),
                    channel.sent().stream()
                            .map(reply -> reply.getLabelsOrThrow("request_id"))
                            .toList());
            assertEquals(1, looks.get());
        }
    }

    @Test
    void aFloodOfRequestsIsAnsweredToTheNewestOfThem() throws Exception {
        CountDownLatch looking = new CountDownLatch(1);
        CountDownLatch flooded = new CountDownLatch(1);
        PluginStatesResponder states = new PluginStatesResponder(
                () -> {
                    looking.countDown();
                    flooded.await();
                    return ImmutableList.of();
                },
                findings -> new PluginStates.Answer(CurrentPluginStates.getDefaultInstance(), () -> {}),
                replies,
                Duration.ZERO);
        try (states) {
            states.asked(request("first"));
            looking.await();
            for (int i = 0; i < 10_000; i++) {
                states.asked(request("r" + i));
            }
            flooded.countDown();

            await().atMost(PATIENCE)
                    .until(() -> channel.sent().stream()
                            .anyMatch(reply ->
                                    reply.getLabelsOrThrow("request_id").equals("r9999")));
            assertTrue(
                    channel.sent().size() <= 1 + ReplySender.MOST_PENDING,
                    () -> channel.sent().size() + " answers");
        }
    }

    @Test
    void aLookThatBreaksOffIsNotTheEndOfAnswering() {
        AtomicInteger looks = new AtomicInteger();
        PluginStatesResponder states = new PluginStatesResponder(
                () -> {
                    if (looks.getAndIncrement() == 0) {
                        throw new IllegalStateException("a look broke off, as this test wants");
                    }
                    return ImmutableList.of();
                },
                findings -> new PluginStates.Answer(CurrentPluginStates.getDefaultInstance(), () -> {}),
                replies,
                Duration.ZERO);
        try (states) {
            states.asked(request("r1"));
            await().atMost(PATIENCE).until(() -> looks.get() == 1);
            states.asked(request("r2"));

            await().atMost(PATIENCE).until(() -> !channel.sent().isEmpty());
            assertEquals("r2", channel.sent().getFirst().getLabelsOrThrow("request_id"));
        }
    }

    private static MessageBody request(String id) {
        return MessageBody.newBuilder()
                .putLabels("message_type", "agent_controlplane.ListPluginStates")
                .putLabels("request_id", id)
                .build();
    }
}
