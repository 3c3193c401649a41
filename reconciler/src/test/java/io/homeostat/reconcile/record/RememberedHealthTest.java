package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.observe.health.Health;
import java.time.Duration;
import java.time.Instant;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What checks of its health add to what is remembered of a workload: by the defaults, an interval of 10 s, and 10 min of health. */
class RememberedHealthTest {
    private static final Health WELL = Health.healthy(NOW);
    private static final Health SICK = Health.failed(Health.Verdict.UNHEALTHY, "says no", NOW);
    private static final Health UNKNOWN = Health.failed(Health.Verdict.UNKNOWN, "no descriptor is left", NOW);

    @Test
    void crashesAreForgottenAfterAsMuchHealthAsDeclared() {
        assertEquals(0, afterHealthOf(Duration.ofMinutes(10)).crashes().count());
        assertEquals(
                3,
                afterHealthOf(Duration.ofMinutes(10).minusMillis(1)).crashes().count());
    }

    @Test
    void healthGoesOnCountingFromWhereItBegan() {
        Instant began = NOW.minus(Duration.ofMinutes(3));
        assertEquals(began, afterHealthOf(Duration.ofMinutes(3)).healthySince());
    }

    @Test
    void healthThatBeganBeforeTheClockWasSetBackBeginsNow() {
        RunRecord run = afterHealthOf(Duration.ofHours(-1));
        assertEquals(NOW, run.healthySince());
        assertEquals(3, run.crashes().count());
    }

    @Test
    void healthBeginsAnewAfterAFailedCheck() {
        RunRecord run = after(WELL, was -> was.healthy(NOW.minusSeconds(600)).unhealthy(NOW.minusSeconds(20)));
        assertEquals(NOW, run.healthySince());
        assertEquals(0, run.healthFailures());
    }

    @Test
    void aFailedCheckCountsOnceInAnInterval() {
        assertEquals(1, after(SICK, was -> was).healthFailures());
        assertEquals(
                1, after(SICK, was -> was.unhealthy(NOW.minusMillis(9_999))).healthFailures());
        assertEquals(2, after(SICK, was -> was.unhealthy(NOW.minusSeconds(10))).healthFailures());
    }

    @Test
    void aFailureBeforeTheClockWasSetBackHoldsUpNoOther() {
        RunRecord run = after(SICK, was -> was.unhealthy(NOW.plusSeconds(3_600)));
        assertEquals(2, run.healthFailures());
        assertEquals(NOW, run.lastHealthFailure());
    }

    @Test
    void aCheckThatCouldNotSayAnythingChangesNothing() {
        RunRecord doubted = RunRecord.NONE.unhealthy(NOW.minusSeconds(60));
        assertEquals(doubted, after(UNKNOWN, was -> doubted));
        RunRecord well = RunRecord.NONE.healthy(NOW.minusSeconds(60));
        assertEquals(well, after(UNKNOWN, was -> well));
    }

    @Test
    void aDryRunThatDoesNotAskForgetsNothing() {
        RunRecord doubted = RunRecord.NONE.unhealthy(NOW.minusSeconds(60));
        assertEquals(doubted, after(null, was -> doubted));
    }

    @Test
    void whatHasNotStartedIsNotJudged() {
        RunRecord run = plugin().wants("A")
                .installed("A")
                .active("A")
                .runs("A", Phase.CREATED, Duration.ofSeconds(1), SICK)
                .learned()
                .situation()
                .history()
                .run();
        assertEquals(RunRecord.NONE, run);
    }

    private static RunRecord afterHealthOf(Duration health) {
        return after(
                WELL, was -> was.healthy(NOW.minus(health)).withCrashes(failed(3, NOW.minus(Duration.ofHours(1)))));
    }

    private static RunRecord after(@Nullable Health check, UnaryOperator<RunRecord> before) {
        return plugin().wants("A")
                .installed("A")
                .active("A")
                .runs("A", Phase.STARTED, Duration.ofHours(1), check)
                .history(history -> history.withRun(before.apply(history.run())))
                .learned()
                .situation()
                .history()
                .run();
    }
}
