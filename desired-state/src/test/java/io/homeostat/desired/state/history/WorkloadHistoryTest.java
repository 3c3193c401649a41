package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.Asked;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.state.sqlite.Samples;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class WorkloadHistoryTest {
    private static final Instant NOON = Samples.NOON;
    private static final LastKnownGood GOOD = good("h0", "a_A1");
    private static final LastKnownGood MEANWHILE = good("h3", "a_B1");
    private static final FailedRevision UNDONE = new FailedRevision("h1", "B2", 2, NOON, "never ready");

    private static LastKnownGood good(String hash, @Nullable String directory) {
        return new LastKnownGood(Samples.plugin("a", hash), hash, directory);
    }

    private static FailedRevision byRequest(String hash, @Nullable LastKnownGood meanwhile) {
        return FailedRevision.byRequest(hash, "B2", NOON, "asked for", meanwhile);
    }

    private static Failures failure(String error) {
        return new Failures(1, NOON, error, false);
    }

    private static WorkloadHistory declared(Attempts attempts) {
        return WorkloadHistory.NONE.withAttempts(1, attempts);
    }

    private static WorkloadHistory crashed(WorkloadHistory history) {
        return history.withRun(history.run().withCrashes(failure("crash")));
    }

    private static List<@Nullable Object> parts(WorkloadHistory of) {
        return Arrays.asList(
                of.observedGeneration(),
                of.attempts(),
                of.lastKnownGood(),
                of.former(),
                of.failed(),
                of.run(),
                of.decision(),
                of.conditions(),
                of.asked());
    }

    static Stream<Arguments> changes() {
        RunRecord run = RunRecord.NONE.withRestart();
        Decision decision = new Decision(Execution.State.ENABLED, "", NOON);
        Asked asked = new Asked(false, new Apply("c9", "h9"));
        return Stream.of(
                change("attempts", 1, Attempts.of("h9"), each -> each.withAttempts(Attempts.of("h9"))),
                change("last known good", 2, GOOD, each -> each.withLastKnownGood(GOOD)),
                change("no last known good", 2, null, each -> each.withLastKnownGood(null)),
                change("failed", 4, UNDONE, each -> each.withFailed(UNDONE)),
                change("not failed", 4, null, each -> each.withFailed(null)),
                change("run", 5, run, each -> each.withRun(run)),
                change("decision", 6, decision, each -> each.withDecision(decision)),
                change("conditions", 7, ImmutableList.of(), each -> each.withConditions(ImmutableList.of())),
                change("asked", 8, asked, each -> each.withAsked(asked)));
    }

    private static Arguments change(
            String name, int component, @Nullable Object value, UnaryOperator<WorkloadHistory> change) {
        return Arguments.of(name, component, value, Named.of("change", change));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("changes")
    void aChangeReplacesOneComponentAndKeepsTheOthers(
            String name, int component, @Nullable Object value, UnaryOperator<WorkloadHistory> change) {
        List<@Nullable Object> expected = parts(Samples.eventful());
        expected.set(component, value);

        assertEquals(expected, parts(change.apply(Samples.eventful())), name);
    }

    @Test
    void anotherGenerationBringsItsAttempts() {
        WorkloadHistory history = Samples.eventful().withAttempts(9, Attempts.of("h9"));

        assertEquals(List.of(9L, Attempts.of("h9")), List.of(history.observedGeneration(), history.attempts()));
    }

    @Test
    void onlyWhatWasDeclaredOnceIsOfSomethingDeclared() {
        assertFalse(WorkloadHistory.NONE.isOfSomethingDeclared());
        assertTrue(WorkloadHistory.DELETED.isOfSomethingDeclared());
        assertEquals(Attempts.NONE, WorkloadHistory.DELETED.attempts());
    }

    @Test
    void aRetryAtOnceForgetsWhatCountsAgainstTheWorkload() {
        WorkloadHistory before = Samples.eventful();
        WorkloadHistory after = before.retriedNow();

        assertEquals(Attempts.of("h1").withRestartToConfigure(true).withReported(Reported.of("B2")), after.attempts());
        assertEquals(
                before.run()
                        .withCrashes(before.run().crashes().forgiven())
                        .withRepairs(Failures.NONE)
                        .withFailedRunRetried(),
                after.run());
        assertTrue(after.run().oneShot() != null && after.run().oneShot().retried());
        assertEquals(before.withAttempts(after.attempts()).withRun(after.run()), after);
    }

    @Test
    void aWorkloadIsTriedSinceItsRetryWhenAnythingCountsAgainstItAgain() {
        WorkloadHistory retried = Samples.eventful().retriedNow();

        assertTrue(Samples.eventful().isTriedSince());
        assertFalse(retried.isTriedSince());
        assertTrue(crashed(retried).isTriedSince());
    }

    @Test
    void withoutARollbackByRequestTheRunningRevisionIsTheLastGoodOne() {
        WorkloadHistory history = WorkloadHistory.NONE.withLastKnownGood(GOOD);

        assertEquals(
                history.withLastKnownGood(MEANWHILE),
                history.withFailed(byRequest("h1", MEANWHILE)).withoutRollback());
        assertEquals(history, history.withFailed(byRequest("h1", null)).withoutRollback());
    }

    @Test
    void aFailedUpgradeIsNoRollbackByRequest() {
        WorkloadHistory failed = WorkloadHistory.NONE.withFailed(UNDONE);

        assertSame(failed, failed.withoutRollback());
        assertSame(WorkloadHistory.NONE, WorkloadHistory.NONE.withoutRollback());
    }

    @Test
    void aSettledWorkloadHasNoFailuresOfRestoreAndUpkeep() {
        Attempts attempts = Samples.eventful().attempts();

        assertEquals(
                Samples.eventful()
                        .withAttempts(attempts.withRestore(Failures.NONE).withUpkeep(Failures.NONE)),
                Samples.eventful().settled());
        assertTrue(attempts.restore().count() > 0 && attempts.upkeep().count() > 0);
    }

    @Test
    void aSuccessorRemembersWhereFormerRevisionsAreInstalled() {
        WorkloadHistory history = WorkloadHistory.NONE
                .succeededBy(good("h1", "d1"))
                .succeededBy(good("h2", "d2"))
                .succeededBy(good("h3", null))
                .succeededBy(good("h4", "d4"));
        assertEquals(ImmutableList.of("d2", "d1"), history.former());

        assertEquals(
                ImmutableList.of("d4", "d2"),
                history.succeededBy(good("h1", "d1")).former());
        assertEquals(
                ImmutableList.of("d2", "d1"),
                history.succeededBy(good("h5", "d4")).former());
    }

    @Test
    void nineFormerRevisionsAreRemembered() {
        WorkloadHistory history = WorkloadHistory.NONE;
        for (int i = 0; i <= 10; i++) {
            history = history.succeededBy(good("h" + i, "d" + i));
        }

        assertEquals(IntStream.rangeClosed(1, 9).mapToObj(i -> "d" + (10 - i)).toList(), history.former());
    }

    @Test
    void theLastGoodRevisionAndTheOneThatGoesOnMeanwhileStandIn() {
        WorkloadHistory good = WorkloadHistory.NONE.withLastKnownGood(GOOD);

        assertEquals(ImmutableList.of(), WorkloadHistory.NONE.standIns());
        assertEquals(ImmutableList.of(GOOD), good.standIns());
        assertEquals(ImmutableList.of(GOOD), good.withFailed(UNDONE).standIns());
        assertEquals(
                ImmutableList.of(GOOD, MEANWHILE),
                good.withFailed(byRequest("h1", MEANWHILE)).standIns());
    }

    @Test
    void aDeclarationWasUndoneWhenItIsTheFailedOne() {
        WorkloadHistory history = WorkloadHistory.NONE.withFailed(UNDONE);

        assertEquals(Optional.of(UNDONE), history.undone("h1"));
        assertEquals(Optional.empty(), history.undone("h2"));
        assertEquals(Optional.empty(), WorkloadHistory.NONE.undone("h1"));
    }

    @Test
    void aDeclarationWasWellWhenItIsTheLastGoodOneOrWasUndoneByRequest() {
        WorkloadHistory history = WorkloadHistory.NONE.withLastKnownGood(GOOD);

        assertTrue(history.wasWell("h0"));
        assertFalse(history.wasWell("h1"));
        assertFalse(history.withFailed(UNDONE).wasWell("h1"));
        assertTrue(history.withFailed(byRequest("h1", null)).wasWell("h1"));
        assertFalse(history.withFailed(byRequest("h1", null)).wasWell("h2"));
        assertFalse(WorkloadHistory.NONE.wasWell("h0"));
    }

    @ParameterizedTest
    @CsvSource({
        "install, install",
        "upkeep, upkeep",
        "start, start",
        "restore, ''",
        "configure, ''",
        "limits, ''",
        "install upkeep start, install",
        "upkeep start, upkeep",
    })
    void theFirstFailureThatKeepsADeclarationFromRunningIsTheProblem(String failed, String problem) {
        assertEquals(problem, declared(failing(failed)).problem());
    }

    @ParameterizedTest
    @CsvSource({
        "install, ''",
        "start, ''",
        "restore, restore",
        "upkeep, upkeep",
        "restore upkeep, restore",
    })
    void afterARollbackTheProblemIsThatOfTheRevisionThatStandsIn(String failed, String problem) {
        assertEquals(problem, declared(failing(failed)).withFailed(UNDONE).problem());
    }

    private static Attempts failing(String steps) {
        Attempts attempts = Attempts.of("h1");
        for (String each : steps.split(" ", -1)) {
            Failures failure = failure(each);
            attempts = switch (each) {
                case "install" -> attempts.withInstall(failure);
                case "start" -> attempts.withStart(failure);
                case "restore" -> attempts.withRestore(failure);
                case "upkeep" -> attempts.withUpkeep(failure);
                case "configure" -> attempts.withConfigure(failure);
                default -> attempts.withLimits(failure);
            };
        }
        return attempts;
    }

    @Test
    void aCrashIsTheProblemOfARevisionThatWorkedBefore() {
        WorkloadHistory declared = declared(Attempts.of("h1"));

        assertEquals(
                "crash", crashed(declared.withLastKnownGood(good("h1", null))).problem());
        assertEquals("", crashed(declared.withLastKnownGood(GOOD)).problem());
        assertEquals("", crashed(declared).problem());
        assertEquals("crash", crashed(declared.withFailed(UNDONE)).problem());
        assertEquals(
                "", crashed(declared.withFailed(byRequest("h1", MEANWHILE))).problem());
    }

    @Test
    void aForgivenCrashIsNoProblem() {
        WorkloadHistory history = crashed(declared(Attempts.of("h1")).withLastKnownGood(good("h1", null)));

        assertEquals(
                "",
                history.withRun(history.run()
                                .withCrashes(history.run().crashes().forgiven()))
                        .problem());
    }

    @Test
    void aStandInFailsWhenItCrashesOrIsUnhealthy() {
        WorkloadHistory undone = WorkloadHistory.NONE.withFailed(UNDONE);
        WorkloadHistory unhealthy = undone.withRun(RunRecord.NONE.unhealthy(NOON));

        assertFalse(undone.standInFails());
        assertTrue(crashed(undone).standInFails());
        assertTrue(unhealthy.standInFails());
        assertFalse(unhealthy.withFailed(byRequest("h1", MEANWHILE)).standInFails());
        assertFalse(crashed(WorkloadHistory.NONE).standInFails());
    }

    @Test
    void afterARollbackNothingCountsAgainstTheFormerRevision() {
        WorkloadHistory before = Samples.eventful().withLastKnownGood(good("h1", "d1"));
        Attempts attempts = before.attempts();

        assertEquals(
                before.succeededBy(GOOD)
                        .withFailed(UNDONE)
                        .withAttempts(attempts.withStart(Failures.NONE)
                                .withRestore(Failures.NONE)
                                .withUpkeep(Failures.NONE)
                                .withRestartToConfigure(false))
                        .withRun(before.run().withCrashes(Failures.NONE)),
                before.rolledBack(UNDONE, GOOD));
        assertEquals(
                ImmutableList.of("d1", "ops-agent_A0"),
                before.rolledBack(UNDONE, GOOD).former());
        assertFalse(attempts.start().equals(Failures.NONE) || attempts.reload().equals(ReloadFailures.NONE));
    }

    @Test
    void aFailedUpgradeIsLaunchedAndReplaced() {
        FailedRevision request = byRequest("h1", MEANWHILE);
        Instant later = NOON.plusSeconds(1);

        assertEquals(new FailedRevision("h1", "B2", 2, NOON, "never ready", false, null, null), UNDONE);
        assertEquals(new FailedRevision("h1", "B2", 1, NOON, "asked for", true, MEANWHILE, null), request);
        assertEquals(
                new FailedRevision("h1", "B2", 1, NOON, "asked for", true, MEANWHILE, later),
                request.withReplacedAt(later));
        assertEquals(
                new FailedRevision("h1", "B2", 1, NOON, "asked for", true, null, later),
                request.withReplacedAt(later).launched());
    }

    @Test
    void whatAControlPlaneWaitsForIsKeptApart() {
        Apply apply = new Apply("c1", "h1");

        assertEquals(new Asked(true, apply), Asked.NOTHING.withApply(apply).withInstall(true));
        assertEquals(new Asked(true, null), new Asked(true, apply).withApply(null));
        assertEquals(new Asked(false, apply), new Asked(true, apply).withInstall(false));
        assertNull(Asked.NOTHING.apply());
    }
}
