package io.homeostat.reconcile.runtime.kata;

import io.grpc.StatusRuntimeException;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.proto.kata.AgentServiceGrpc;
import io.homeostat.proto.kata.GetOOMEventRequest;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for a guest to tell that a container has run out of memory. Each event is told to one caller only. */
final class OutOfMemoryEvents implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OutOfMemoryEvents.class);
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** So many events at once, as when the whole guest runs out of memory, then one for each pause. */
    static final int BURST = 20;

    private final Guest guest;
    private final Consumer<String> told;
    private final BooleanSupplier wanted;
    private final Thread thread;
    private final TokenBucket budget;

    private OutOfMemoryEvents(Guest guest, Consumer<String> told, BooleanSupplier wanted) {
        this.guest = guest;
        this.told = told;
        this.wanted = wanted;
        this.budget = new TokenBucket(BURST, PAUSE.toNanos(), guest.timing().read());
        this.thread =
                Thread.ofVirtual().name("out of memory " + guest.endpoint()).unstarted(this::run);
    }

    /**
     * Begins to wait.
     *
     * @param told takes the ids of containers; called by a thread of its own
     * @param wanted whether there still is anybody to tell; asked now and then
     */
    static OutOfMemoryEvents start(Guest guest, Consumer<String> told, BooleanSupplier wanted) {
        OutOfMemoryEvents events = new OutOfMemoryEvents(guest, told, wanted);
        events.thread.start();
        return events;
    }

    /** False once nobody waits for them any more. */
    boolean areAwaited() {
        return thread.isAlive();
    }

    private void run() {
        try {
            do {
                awaitBudget();
                try {
                    told.accept(AgentServiceGrpc.newBlockingStub(guest.streams().channel())
                            .getOOMEvent(GetOOMEventRequest.getDefaultInstance())
                            .getContainerId());
                } catch (StatusRuntimeException e) {
                    GuestFailure failure = GuestFailure.of(e);
                    LOG.debug("{}: GetOOMEvent: {}", guest.endpoint(), failure.words());
                    if (failure.kind() == GuestFailure.Kind.NOT_SUPPORTED
                            || failure.kind() == GuestFailure.Kind.DENIED) {
                        return;
                    }
                    guest.timing().sleep(PAUSE);
                } catch (UnreachableGuest e) {
                    guest.timing().sleep(PAUSE);
                }
            } while (wanted.getAsBoolean());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A guest may answer at once, each time. */
    private void awaitBudget() throws InterruptedException {
        for (long pause; (pause = budget.nanosUntil(1, guest.timing().read())) > 0; ) {
            guest.timing().sleep(Duration.ofNanos(pause));
        }
        budget.take(1);
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
