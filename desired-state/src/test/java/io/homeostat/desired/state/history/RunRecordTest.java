package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.RunRecord.CalendarSince;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.RunRecord.Stop;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class RunRecordTest {
    private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");
    private static final Instant LATER = NOON.plusSeconds(60);
    private static final Exit EXIT = new Exit(1, null, Exit.Reason.EXITED, NOON);
    private static final Exit CLEAN = new Exit(0, null, Exit.Reason.EXITED, LATER);
    private static final Failures CRASHES = new Failures(2, NOON, "crash", false);
    private static final Failures REPAIRS = new Failures(3, NOON, "repair", false);
    private static final OneShotRun RUN = OneShotRun.begun("w1", "l1", "boot", "instance", NOON);
    private static final Completed COMPLETED = new Completed("w1", "l1", "boot", CLEAN);
    private static final Stop STOP = new Stop("l1", Stop.Meaning.STOPPED);

    private static final int RESTARTS = 0;
    private static final int CRASHED = 1;
    private static final int HEALTHY_SINCE = 2;
    private static final int HEALTH_FAILURES = 3;
    private static final int LAST_HEALTH_FAILURE = 4;
    private static final int LAST_EXIT = 5;
    private static final int REPAIRED = 6;
    private static final int ONE_SHOT = 7;
    private static final int AGAIN = 8;
    private static final int CALENDAR = 9;
    private static final int COMPLETE = 10;
    private static final int STOPPED = 11;

    /** A record in which no component has its default. */
    private static RunRecord eventful() {
        return new RunRecord(
                5, CRASHES, NOON, 4, NOON, EXIT, REPAIRS, RUN, "l0", new CalendarSince("key", NOON), COMPLETED, STOP);
    }

    private static List<@Nullable Object> parts(RunRecord of) {
        return Arrays.asList(
                of.restarts(),
                of.crashes(),
                of.healthySince(),
                of.healthFailures(),
                of.lastHealthFailure(),
                of.lastExit(),
                of.repairs(),
                of.oneShot(),
                of.again(),
                of.calendar(),
                of.completed(),
                of.stop());
    }

    /** Components that a change replaces; a null among them is written as an empty list. */
    static Stream<Arguments> changes() {
        Failures other = new Failures(9, LATER, "other", true);
        OneShotRun run = OneShotRun.begun("w2", "l2", "boot", "instance", LATER);
        CalendarSince calendar = new CalendarSince("other", LATER);
        Completed completed = new Completed("w2", "l2", "boot", CLEAN);
        Stop stop = new Stop("l2", Stop.Meaning.FAILED);
        return Stream.of(
                change("restart", Map.of(RESTARTS, 6), RunRecord::withRestart),
                change("crashes", Map.of(CRASHED, other), each -> each.withCrashes(other)),
                change("repairs", Map.of(REPAIRED, other), each -> each.withRepairs(other)),
                change(
                        "exit",
                        Map.of(
                                HEALTHY_SINCE,
                                List.of(),
                                HEALTH_FAILURES,
                                0,
                                LAST_HEALTH_FAILURE,
                                List.of(),
                                LAST_EXIT,
                                CLEAN),
                        each -> each.withExit(CLEAN)),
                change(
                        "healthy",
                        Map.of(HEALTHY_SINCE, LATER, HEALTH_FAILURES, 0, LAST_HEALTH_FAILURE, List.of()),
                        each -> each.healthy(LATER)),
                change(
                        "unhealthy",
                        Map.of(HEALTHY_SINCE, List.of(), HEALTH_FAILURES, 5, LAST_HEALTH_FAILURE, LATER),
                        each -> each.unhealthy(LATER)),
                change("degraded", Map.of(HEALTHY_SINCE, List.of()), RunRecord::degraded),
                change("one-shot", Map.of(ONE_SHOT, run), each -> each.withOneShot(run)),
                change("no one-shot", Map.of(ONE_SHOT, List.of()), each -> each.withOneShot(null)),
                change("again", Map.of(AGAIN, "l9"), each -> each.withAgain("l9")),
                change("not again", Map.of(AGAIN, List.of()), each -> each.withAgain(null)),
                change("calendar", Map.of(CALENDAR, calendar), each -> each.withCalendar(calendar)),
                change(
                        "completed",
                        Map.of(CRASHED, Failures.NONE, COMPLETE, completed),
                        each -> each.withCompleted(completed)),
                change("not completed", Map.of(COMPLETE, List.of()), RunRecord::withoutCompleted),
                change("stop", Map.of(STOPPED, stop), each -> each.withStop(stop)),
                change("no stop", Map.of(STOPPED, List.of()), each -> each.withStop(null)));
    }

    private static Arguments change(String name, Map<Integer, Object> changed, UnaryOperator<RunRecord> change) {
        return Arguments.of(name, changed, Named.of("change", change));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("changes")
    void aChangeReplacesItsComponentsAndKeepsTheOthers(
            String name, Map<Integer, Object> changed, UnaryOperator<RunRecord> change) {
        List<@Nullable Object> expected = parts(eventful());
        changed.forEach((component, value) -> expected.set(component, value.equals(List.of()) ? null : value));

        assertEquals(expected, parts(change.apply(eventful())), name);
    }

    @Test
    void nothingHasHappenedAtFirst() {
        assertEquals(
                Arrays.asList(0, Failures.NONE, null, 0, null, null, Failures.NONE, null, null, null, null, null),
                parts(RunRecord.NONE));
    }

    @Test
    void aFailedRunIsRetried() {
        OneShotRun failed = RUN.failed(LATER, EXIT, "no");

        assertEquals(
                eventful().withOneShot(failed.tryAgain()),
                eventful().withOneShot(failed).withFailedRunRetried());
    }

    @Test
    void noOtherRunIsRetried() {
        RunRecord running = eventful();
        RunRecord completed = eventful().withOneShot(RUN.completed(LATER, CLEAN));
        RunRecord none = eventful().withOneShot(null);

        assertSame(running, running.withFailedRunRetried());
        assertSame(completed, completed.withFailedRunRetried());
        assertSame(none, none.withFailedRunRetried());
    }
}
