package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.OneShotRun.Result;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class OneShotRunTest {
    private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");
    private static final Exit CLEAN = new Exit(0, null, Exit.Reason.EXITED, NOON);
    private static final OneShotRun BEGUN = OneShotRun.begun("w", "l", "boot", "instance", NOON);

    @Test
    void aRunThatHasBegunIsUnderWay() {
        assertEquals(new OneShotRun("w", "l", "boot", "instance", NOON, Result.RUNNING, null, null, "", false), BEGUN);
        assertNull(BEGUN.duration());
    }

    @Test
    void aRunThatEndsKeepsHowItBegan() {
        Instant end = NOON.plusSeconds(5);

        assertEquals(
                new OneShotRun("w", "l", "boot", "instance", NOON, Result.COMPLETED, end, CLEAN, "", false),
                BEGUN.completed(end, CLEAN));
        assertEquals(
                new OneShotRun("w", "l", "boot", "instance", NOON, Result.FAILED, end, null, "no", false),
                BEGUN.failed(end, null, "no"));
        assertEquals(
                new OneShotRun("w", "l", "boot", "instance", NOON, Result.FAILED, end, CLEAN, "no", true),
                BEGUN.failed(end, CLEAN, "no").tryAgain());
    }

    @Test
    void aRunThatEndsIsNotOneToBeRetried() {
        OneShotRun retried = BEGUN.failed(NOON, null, "no").tryAgain();

        assertFalse(retried.completed(NOON, null).retried());
        assertFalse(retried.failed(NOON, null, "no").retried());
    }

    @Test
    void aRunLastsUntilItEnds() {
        assertEquals(
                Duration.ofSeconds(5),
                BEGUN.completed(NOON.plusSeconds(5), null).duration());
        assertEquals(Duration.ZERO, BEGUN.completed(NOON, null).duration());
    }

    @Test
    void aClockThatWasSetBackMakesNoNegativeDuration() {
        assertEquals(Duration.ZERO, BEGUN.completed(NOON.minusSeconds(5), null).duration());
    }

    @Test
    void aRunIsOfTheInstanceWithItsLaunch() {
        assertTrue(BEGUN.isOf(instance("l")));
        assertFalse(BEGUN.isOf(instance("m")));
    }

    @Test
    void aRunWithoutALaunchHasNotStarted() {
        assertTrue(BEGUN.hasStarted());
        assertFalse(OneShotRun.begun("w", "", "boot", "instance", NOON).hasStarted());
    }

    private static Instance instance(String launchId) {
        return new Instance(
                launchId,
                WorkloadId.process("a"),
                "t",
                "r",
                null,
                ImmutableSortedMap.of(),
                NOON,
                null,
                Instance.Phase.STARTED,
                "");
    }
}
