package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.PlanningRow.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.MoreCollectors;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.record.Conditions;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.Wish;
import io.homeostat.reconcile.status.WorkloadState;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A daemon that is launched again only after a failure, and has ended with exit status 0. */
class CompletedPlanningTest {
    private static final Exit DONE = new Exit(0, null, Exit.Reason.EXITED, NOW.minusSeconds(30));
    private static final Exit FAILED = new Exit(3, null, Exit.Reason.EXITED, NOW.minusSeconds(30));

    @TestFactory
    Stream<DynamicTest> itRestsUntilThereIsAReasonToLaunchIt() {
        return PlanningRow.tests(List.of(
                row("nothing has changed", "none COMPLETED", () -> completed(wish("A"))),
                row(
                        "other limits are declared, which are of no account for what it does",
                        "none COMPLETED",
                        () -> completed(wish("A").limited(new Limits(new Size(1 << 20), null, false)))),
                row(
                        "somebody pauses it",
                        "wait PAUSED: wait",
                        () -> completed(wish("A")).paused("why not")),
                row(
                        "nobody knows in which boot this is",
                        "none COMPLETED",
                        () -> completed(wish("A"))
                                .on(new HostFacts(
                                        Observation.unseen("no permission"),
                                        "instance",
                                        HostFacts.of("boot", "instance").answers()))),
                row(
                        "the machine has booted",
                        "restart RUN_DUE: launch",
                        () -> completed(wish("A")).on(HostFacts.of("another", "instance"))),
                row(
                        "the machine has booted, and it is never to run again",
                        "none COMPLETED",
                        () -> completed(wish("A").restarted(Policy.NEVER)).on(HostFacts.of("another", "instance"))),
                row(
                        "somebody asks for it",
                        "restart RESTART_REQUESTED: launch",
                        () -> completed(wish("A")).history(asked("launch"))),
                row(
                        "somebody has asked for it before",
                        "none COMPLETED",
                        () -> completed(wish("A")).history(asked("former"))),
                row(
                        "it is to run always now",
                        "restart EXECUTION_CHANGED: launch",
                        () -> completed(wish("A").restarted(Policy.ALWAYS))),
                row(
                        "another revision is declared",
                        "upgrade REVISION_CHANGED: download unpack activate launch",
                        () -> completed(wish("B"))),
                row(
                        "other arguments are declared",
                        "restart ARGUMENTS_CHANGED: launch",
                        () -> completed(
                                Wish.of("A", ImmutableList.of("-v"), "c").restarted(Policy.ON_FAILURE))),
                row(
                        "its symlink was moved",
                        "activate LINK_MOVED: activate",
                        () -> completed(wish("A")).active("B")),
                row(
                        "what is declared now has failed and is undone",
                        "wait REVISION_FAILED: wait",
                        () -> completed(wish("B")).undone(1, NOW.minusSeconds(5))),
                row(
                        "what is declared now has failed, and still runs",
                        "rollback REVISION_FAILED: stop activate",
                        () -> completed(wish("B"))
                                .installed("B")
                                .active("B")
                                .runs("B", Phase.CREATED, Duration.ZERO, null)
                                .undone(1, NOW.minusSeconds(5)))));
    }

    @Test
    void anUpgradeOfAPluginIsItsConfigurationToo() {
        Example plugin = completed(
                Example.plugin(), Wish.of("A", ImmutableList.of(), "d").restarted(Policy.ON_FAILURE));

        assertEquals("restart CONFIG_CHANGED: launch start", plugin.planned());
    }

    @Test
    void itIsSaidSinceWhenAndHowItEnded() {
        assertEquals(
                "completed: process " + DONE.words() + ", at 2026-11-20T11:59:30Z",
                completed(wish("A")).plan().message());
    }

    @Test
    void whatIsGoneBackToIsNotSaidToRun() {
        String message =
                completed(wish("B")).undone(1, NOW.minusSeconds(5)).plan().message();

        assertTrue(
                message.startsWith("revision B failed and was undone, A had completed before: never listens"), message);
    }

    @Test
    void whatItHasLeftBehindIsStoppedAndNothingIsLaunchedAfterThat() {
        assertEquals(
                "stop RUN_OVER: stop",
                installed(Example.process(), wish("A"))
                        .is("A", new Liveness.Orphaned(DONE, 2))
                        .planned());
        assertEquals(
                "restart PROCESS_EXITED: stop launch",
                installed(Example.process(), wish("A"))
                        .is("A", new Liveness.Orphaned(FAILED, 2))
                        .planned());
    }

    @Test
    void aFailureIsFollowedByALaunch() {
        assertEquals(
                "restart PROCESS_EXITED: launch",
                installed(Example.process(), wish("A")).ended("A", FAILED).planned());
    }

    @Test
    void aCleanEndThatJustCameIsFollowedByNothing() {
        assertEquals(
                "none COMPLETED",
                installed(Example.process(), wish("A")).ended("A", DONE).planned());
    }

    private static Wish wish(String revision) {
        return Wish.of(revision, ImmutableList.of(), "c").restarted(Policy.ON_FAILURE);
    }

    @Test
    void whatHasCompletedIsSaidToHaveCompletedWhileItsSuccessorIsUndone() {
        Situation situation =
                completed(wish("B")).undone(1, NOW.minusSeconds(5)).learned().situation();

        assertEquals(WorkloadState.EXECUTION_COMPLETED, WorkloadState.of(situation, Planner.plan(situation)));
        assertEquals(
                "TRUE COMPLETED",
                Conditions.of(situation, Planner.plan(situation)).stream()
                        .filter(condition -> condition.type() == Condition.Type.HEALTHY)
                        .map(condition -> condition.status() + " " + condition.reason())
                        .collect(MoreCollectors.onlyElement()));
    }

    /** A is installed and good, and something is declared. */
    private static Example installed(Example example, Wish wish) {
        return example.wants(wish).installed("A").active("A").knownGood(wish("A"));
    }

    /** A has completed, and something is declared. */
    private static Example completed(Wish wish) {
        return completed(Example.process(), wish);
    }

    private static Example completed(Example example, Wish wish) {
        Example installed = installed(example, wish);
        String work = Work.of(Declarations.workload(installed.situation().id(), "A", ImmutableList.of(), "c"));
        return installed.history(history -> history.withRun(
                history.run().withExit(DONE).withCompleted(new Completed(work, "launch", "boot", DONE))));
    }

    private static UnaryOperator<WorkloadHistory> asked(String launchId) {
        return history -> history.withRun(history.run().withAgain(launchId));
    }
}
