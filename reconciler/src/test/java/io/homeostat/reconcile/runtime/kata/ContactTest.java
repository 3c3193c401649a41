package io.homeostat.reconcile.runtime.kata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.Observation;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** What is known of a guest between two looks. */
class ContactTest {
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final Instance LAUNCH = new Instance(
            "launch",
            new WorkloadId(Kind.SANDBOX, "guest"),
            "target",
            "r",
            null,
            ImmutableSortedMap.of(),
            NOW,
            null,
            Phase.STARTED,
            "");

    private final Contact contact = new Contact();

    private boolean isAnother(long count) {
        return contact.isAnotherAgent(() -> Observation.seen(OptionalLong.of(count)));
    }

    @Test
    void anAgentThatCountsLessOrTheSameIsAnotherOne() {
        contact.scrapedBefore(3);

        assertFalse(isAnother(4));
        assertFalse(isAnother(9), "others ask it, too");
        assertTrue(isAnother(9), "each time counts");
    }

    @Test
    void anotherAgentStaysAnotherOneHoweverOftenItIsAskedThen() {
        contact.scrapedBefore(3);
        assertEquals(Optional.empty(), contact.lossToWrite());

        assertTrue(isAnother(1));
        assertTrue(isAnother(10));

        contact.well(LAUNCH);
        assertEquals(Optional.of(LAUNCH), contact.lossToWrite());
        assertEquals(Optional.empty(), contact.lossToWrite());
    }

    @Test
    void whatAnotherProcessHasSeenIsNotFoundOutAgain() {
        contact.agentIsLost();

        assertTrue(isAnother(100));
        contact.well(LAUNCH);
        assertEquals(Optional.empty(), contact.lossToWrite(), "it is written down");
    }

    @Test
    void whatDoesNotCountOrAnswerIsNoEvidence() {
        contact.scrapedBefore(3);

        assertFalse(contact.isAnotherAgent(() -> Observation.seen(OptionalLong.empty())));
        assertFalse(contact.isAnotherAgent(() -> Observation.unseen("silent")));
    }

    @Test
    void aCountIsWrittenDownOnceAndOnlyForALaunchThatAnswers() {
        assertFalse(isAnother(5));
        assertEquals(Optional.empty(), contact.scrapesToWrite());
        contact.well(LAUNCH);

        assertEquals(5, contact.scrapesToWrite().orElseThrow().count());
        assertEquals(Optional.empty(), contact.scrapesToWrite());
    }

    @Test
    void theClockIsSetAtTheFirstContactAfterASilenceAndWhenItIsWrong() {
        contact.well(LAUNCH);
        assertEquals(Optional.of(LAUNCH), contact.clockToSet());
        contact.well(LAUNCH);
        assertEquals(Optional.empty(), contact.clockToSet());

        contact.silent();
        contact.well(LAUNCH);
        assertEquals(Optional.of(LAUNCH), contact.clockToSet());

        contact.clockIsWrong();
        assertEquals(Optional.of(LAUNCH), contact.clockToSet());
        assertEquals(Optional.empty(), contact.clockToSet());
    }

    @Test
    void whoHasMadeItHasToldItTheTime() {
        contact.made(LAUNCH);
        contact.well(LAUNCH);

        assertEquals(Optional.empty(), contact.clockToSet());
    }

    @Test
    void aClockThatWasSetIsToldFromOneThatWasNot() {
        HostClock clock = new HostClock();
        Duration hour = Duration.ofHours(1);

        assertFalse(clock.hasJumped(NOW, 0));
        assertFalse(clock.hasJumped(NOW.plus(hour), hour.toNanos()));
        assertTrue(clock.hasJumped(NOW, hour.toNanos()), "back");
        assertFalse(clock.hasJumped(NOW.plusMillis(400), hour.toNanos()), "as when it is slewed");
        assertTrue(clock.hasJumped(NOW.plusSeconds(2), hour.toNanos()), "forward");
    }
}
