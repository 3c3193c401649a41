package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Attempts.Reported.ReportedFailure;
import java.time.Instant;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class AttemptsTest {
    private static final Instant NOON = Instant.parse("2026-01-02T12:00:00Z");
    private static final Failures ONE = new Failures(1, NOON, "no route", true);

    private static Failures failures(int count) {
        return new Failures(count, NOON, "failure " + count, false);
    }

    /** Attempts in which each component has a value of its own. */
    private static Attempts attempts() {
        return new Attempts(
                "h1",
                failures(1),
                failures(2),
                failures(3),
                failures(4),
                failures(5),
                failures(6),
                new ReloadFailures(failures(7), "c1"),
                true,
                Reported.of("B2"));
    }

    static Stream<Arguments> changes() {
        Failures next = failures(9);
        ReloadFailures reload = new ReloadFailures(next, "c2");
        return Stream.of(
                change("install", 1, next, each -> each.withInstall(next)),
                change("start", 2, next, each -> each.withStart(next)),
                change("configure", 3, next, each -> each.withConfigure(next)),
                change("limits", 4, next, each -> each.withLimits(next)),
                change("restore", 5, next, each -> each.withRestore(next)),
                change("upkeep", 6, next, each -> each.withUpkeep(next)),
                change("reload", 7, reload, each -> each.withReload(reload)),
                change("restartToConfigure", 8, false, each -> each.withRestartToConfigure(false)),
                change("reported", 9, Reported.of("C3"), each -> each.withReported(Reported.of("C3"))));
    }

    private static Arguments change(String name, int component, Object value, Function<Attempts, Attempts> change) {
        return Arguments.of(name, component, value, Named.of("change", change));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("changes")
    void aChangeReplacesOneComponentAndKeepsTheOthers(
            String name, int component, Object value, Function<Attempts, Attempts> change) {
        Attempts before = attempts();

        Attempts after = change.apply(before);

        for (int i = 0; i < parts(after).size(); i++) {
            assertEquals(
                    i == component ? value : parts(before).get(i), parts(after).get(i), name + ": component " + i);
        }
    }

    private static ImmutableList<Object> parts(Attempts of) {
        return ImmutableList.of(
                of.hash(),
                of.install(),
                of.start(),
                of.configure(),
                of.limits(),
                of.restore(),
                of.upkeep(),
                of.reload(),
                of.restartToConfigure(),
                of.reported());
    }

    @Test
    void anotherDeclarationBeginsWithoutFailures() {
        assertEquals(
                new Attempts(
                        "h2",
                        Failures.NONE,
                        Failures.NONE,
                        Failures.NONE,
                        Failures.NONE,
                        Failures.NONE,
                        Failures.NONE,
                        ReloadFailures.NONE,
                        false,
                        Reported.NOTHING),
                Attempts.of("h2"));
        assertEquals(Attempts.of(""), Attempts.NONE);
    }

    @Test
    void failuresAreCountedWithTheLastTimeAndCause() {
        Instant later = NOON.plusSeconds(1);

        assertEquals(new Failures(1, NOON, "a", false), Failures.NONE.failed(NOON, "a", false));
        assertEquals(new Failures(2, later, "b", true), ONE.failed(later, "b", true));
    }

    @Test
    void forgivenFailuresCountNoMoreButAreStillKnown() {
        assertEquals(new Failures(0, NOON, "no route", false), ONE.forgiven());
    }

    @Test
    void aReloadFailsAgainOnlyWithTheSameContents() {
        ReloadFailures first = ReloadFailures.NONE.failed("c1", NOON, "a");
        assertEquals(new ReloadFailures(new Failures(1, NOON, "a", false), "c1"), first);

        assertEquals(new ReloadFailures(new Failures(2, NOON, "b", false), "c1"), first.failed("c1", NOON, "b"));
        assertEquals(new ReloadFailures(new Failures(1, NOON, "b", false), "c2"), first.failed("c2", NOON, "b"));
    }

    @Test
    void reloadsThatSucceedAreCountedWithoutContents() {
        assertEquals(new ReloadFailures(new Failures(2, NOON, "", false), ""), ReloadFailures.succeeded(ONE, NOON));
    }

    @Test
    void theLastEightReportedFailuresAreRemembered() {
        Reported reported = Reported.of("B2");
        assertEquals(new Reported("B2", ImmutableList.of()), reported);

        for (int code = 1; code <= 10; code++) {
            reported = reported.and(failure(code));
            assertEquals(
                    new Reported(
                            "B2",
                            IntStream.rangeClosed(Math.max(1, code - 7), code)
                                    .mapToObj(AttemptsTest::failure)
                                    .collect(ImmutableList.toImmutableList())),
                    reported);
        }
    }

    private static ReportedFailure failure(int code) {
        return new ReportedFailure(
                EventType.PLUGIN_INSTALL_FAILED, "B2", new FailureCause(FailureCause.Kind.HTTP_STATUS, code));
    }
}
