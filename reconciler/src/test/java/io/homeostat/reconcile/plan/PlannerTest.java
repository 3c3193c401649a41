package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.Example.process;
import static io.homeostat.reconcile.plan.PlanningRow.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.ObservedInstance.Liveness;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What is planned on the way of a workload: how it comes here, is changed, and goes. */
class PlannerTest {
    @TestFactory
    Stream<DynamicTest> howItIsInstalled() {
        return PlanningRow.tests(installing());
    }

    @TestFactory
    Stream<DynamicTest> howItIsChanged() {
        return PlanningRow.tests(upgrading());
    }

    @TestFactory
    Stream<DynamicTest> howItIsRemoved() {
        return PlanningRow.tests(removing());
    }

    private static List<PlanningRow> installing() {
        return List.of(
                row(
                        "a plugin that is nowhere is fetched, installed and started",
                        "install NOT_INSTALLED: download unpack activate launch start",
                        () -> plugin().wants("A")),
                row(
                        "a process has no Start",
                        "install NOT_INSTALLED: download unpack activate launch",
                        () -> process().wants("A")),
                row(
                        "an archive in the cache is not fetched again",
                        "install NOT_INSTALLED: unpack activate launch start",
                        () -> plugin().wants("A").cached("A")),
                row(
                        "an installation is not unpacked again",
                        "install NOT_INSTALLED: launch start",
                        () -> plugin().wants("A").installed("A").active("A")),
                row(
                        "a plugin that listens is started",
                        "restart START_NOT_FINISHED: start",
                        () -> plugin().wants("A").installed("A").active("A").listens("A")),
                row(
                        "a plugin that does not listen yet is waited for",
                        "wait START_NOT_FINISHED: wait start",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Phase.CREATED, Duration.ofSeconds(2), null)),
                row(
                        "a launch whose process has not reported is waited for",
                        "wait START_NOT_FINISHED: wait",
                        () -> plugin().wants("A").installed("A").active("A").is("A", new Liveness.Pending())),
                row(
                        "what runs, is started, configured and well is left alone",
                        "none AT_DESIRED_STATE",
                        () -> plugin().wants("A").installed("A").active("A").runs("A")),
                row(
                        "a process has to stay alive for a second",
                        "wait START_NOT_FINISHED: wait",
                        () -> process()
                                .wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Phase.CREATED, Duration.ofMillis(300), null)),
                row(
                        "and then counts as started",
                        "none AT_DESIRED_STATE",
                        () -> process()
                                .wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Phase.CREATED, Duration.ofSeconds(1), null)));
    }

    private static List<PlanningRow> upgrading() {
        return List.of(
                row(
                        "the old revision runs until the new one is unpacked",
                        "upgrade REVISION_CHANGED: download unpack stop activate launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("B")),
                row(
                        "a fresh revision is there: swap",
                        "upgrade REVISION_CHANGED: stop activate launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .installed("B")
                                .active("A")
                                .runs("A")
                                .wants("B")),
                row(
                        "the old revision died while the new one is not there yet: it is needed once more",
                        "restart PROCESS_MISSING: launch start",
                        () -> plugin().knownGood("A").installed("A").active("A").wants("B")),
                row(
                        "the old revision crashes for ever: the new one, which may be the remedy, is fetched meanwhile",
                        "upgrade REVISION_CHANGED: download unpack activate launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .wants("B")
                                .history(h -> h.withRun(h.run().withCrashes(failed(9, NOW))))),
                row(
                        "the old revision is starting: the new one is fetched meanwhile",
                        "upgrade REVISION_CHANGED: download unpack stop activate launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Phase.CREATED, Duration.ofSeconds(2), null)
                                .wants("B")),
                row(
                        "other arguments need a restart",
                        "restart ARGUMENTS_CHANGED: stop launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "c", "-v")),
                row(
                        "another config is applied in place",
                        "configure CONFIG_CHANGED: applyConfig",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "other")),
                row(
                        "unless the plugin takes it only at Start",
                        "restart CONFIG_CHANGED: stop launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "other")
                                .attempts(attempts -> attempts.withRestartToConfigure(true))),
                row(
                        "a plugin that refused its config is left alone for a while",
                        "wait CONFIGURE_FAILED: wait",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "other")
                                .attempts(attempts -> attempts.withConfigure(failed(1, NOW)))));
    }

    private static List<PlanningRow> removing() {
        return List.of(
                row(
                        "what nobody declares is stopped and removed",
                        "remove NO_LONGER_DECLARED: stop remove",
                        () -> plugin().wasWanted()
                                .knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")),
                row(
                        "files alone are removed",
                        "remove NO_LONGER_DECLARED: remove",
                        () -> plugin().wasWanted().installed("A")),
                row(
                        "what a lost database has forgotten goes on running",
                        "wait UNCLAIMED: wait",
                        () -> plugin().installed("A").active("A").runs("A")),
                row("nothing is nothing", "none AT_DESIRED_STATE", () -> plugin()));
    }

    @Test
    void whatStartsIsLookedAtInTimeAlthoughAnotherOneIsFetched() {
        WorkloadPlan plan = plugin().knownGood("A")
                .installed("A")
                .active("A")
                .runs("A", Phase.CREATED, Duration.ofSeconds(2), null)
                .wants("B")
                .plan();

        assertInstanceOf(Step.Download.class, plan.next().orElseThrow());
        assertEquals(
                ((Step.Wait) plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Phase.CREATED, Duration.ofSeconds(2), null)
                                .wants("A")
                                .plan()
                                .next()
                                .orElseThrow())
                        .until(),
                plan.due());
    }

    @Test
    void whatCouldNotBeRemovedIsTriedAgainByAnAgentOrByDelete() {
        Example example = plugin().wasWanted().installed("A").attempts(attempts -> attempts.withUpkeep(failed(1, NOW)));

        String message = example.plan().message();
        assertTrue(message.startsWith("could not remove: no luck; next try at"), message);
        String once = example.under(Policy.NONE.once()).plan().message();
        assertTrue(once.endsWith("; no agent runs that would try again, homeostat delete plugin/p does"), once);
    }

    @Test
    void onlyARemovedPluginIsToldToCleanUp() {
        Step.Stop removed = (Step.Stop) plugin().wasWanted()
                .knownGood("A")
                .installed("A")
                .runs("A")
                .plan()
                .steps()
                .get(0);
        Step.Stop replaced = (Step.Stop) plugin().knownGood("A")
                .installed("A")
                .installed("B")
                .active("A")
                .runs("A")
                .wants("B")
                .plan()
                .steps()
                .get(0);

        assertTrue(removed.cleanup());
        assertEquals(Step.Stop.Cause.REMOVED, removed.cause());
        assertTrue(!replaced.cleanup());
        assertEquals(Step.Stop.Cause.REPLACED, replaced.cause());
    }

    @Test
    void whatIsBeingToldToStartIsWaitedForByWhoKnowsThat() {
        Situation asked = plugin().wants("A")
                .installed("A")
                .active("A")
                .runs("A", Phase.START_SENT, Duration.ofSeconds(1), null)
                .learned()
                .situation();

        WorkloadPlan plan = Planner.planDuringStart(asked);

        assertEquals(Action.RESTART, Planner.plan(asked).action(), "for who does not");
        assertEquals(Action.WAIT, plan.action());
        assertTrue(plan.message().startsWith("starting: ") && plan.message().endsWith(" Start"), plan.message());
    }

    @Test
    void whatIsToBeReplacedOnceItHasAnsweredStartIsSaidToBeReplaced() {
        Situation asked = plugin().wants("B")
                .installed("A")
                .installed("B")
                .active("A")
                .runs("A", Phase.START_SENT, Duration.ofSeconds(1), null)
                .learned()
                .situation();

        assertEquals(Planner.plan(asked), Planner.planDuringStart(asked));
    }
}
