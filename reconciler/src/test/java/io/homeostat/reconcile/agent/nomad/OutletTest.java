package io.homeostat.reconcile.agent.nomad;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests answers that wait for their reader. */
class OutletTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    private final FakeCall<String> call = new FakeCall<>();
    private final Outlet<String> outlet = new Outlet<>(call);

    @Test
    void whatIsSentIsAnAnswerUntilItIsComplete() throws Exception {
        assertTrue(outlet.send("a"));
        assertTrue(outlet.send("b"));
        outlet.complete();

        assertEquals(List.of("a", "b"), call.answers);
        assertTrue(call.completed);
    }

    @Test
    void anAnswerWaitsUntilThereIsRoomForIt() throws Exception {
        call.ready = false;
        FutureTask<Boolean> sending = new FutureTask<>(() -> outlet.send("a"));
        Thread sender = Thread.ofPlatform().start(sending);
        await().atMost(LONG).until(() -> sender.getState() == Thread.State.TIMED_WAITING);
        assertEquals(List.of(), call.answers);

        call.ready = true;

        assertTrue(sending.get(30, TimeUnit.SECONDS));
        assertEquals(List.of("a"), call.answers);
    }

    @Test
    void withoutAReaderNothingIsSentCompletedOrFailed() throws Exception {
        call.cancel();

        assertTrue(outlet.isCancelled());
        assertFalse(outlet.send("a"));
        outlet.complete();
        outlet.fail(Status.UNKNOWN.asException());
        assertEquals(List.of(), call.answers);
        assertFalse(call.isOver());
    }

    @Test
    void whoWaitsForRoomHearsThatTheReaderHasGone() throws Exception {
        call.ready = false;
        FutureTask<Boolean> sending = new FutureTask<>(() -> outlet.send("a"));
        Thread sender = Thread.ofPlatform().start(sending);
        await().atMost(LONG).until(() -> sender.getState() == Thread.State.TIMED_WAITING);

        call.cancel();

        assertFalse(sending.get(30, TimeUnit.SECONDS));
    }

    @Test
    void aFailureIsTheLastAnswer() {
        outlet.fail(Status.NOT_FOUND.asException());

        assertEquals(Status.Code.NOT_FOUND, call.code());
    }

    @Test
    void whatIsToBeDoneWhenTheReaderGoesIsDoneOnce() {
        AtomicInteger done = new AtomicInteger();
        outlet.whenCancelled(done::incrementAndGet);
        assertEquals(0, done.get());

        call.cancel();
        assertEquals(1, done.get());

        outlet.whenCancelled(done::incrementAndGet);
        assertEquals(2, done.get());
    }

    @Test
    void nobodySleepsForAReaderThatHasGone() throws Exception {
        call.cancel();

        outlet.sleep(TimeUnit.HOURS.toMillis(1));

        assertTrue(outlet.isCancelled());
    }
}
