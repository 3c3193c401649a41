package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.Relations.Need;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What waits for others, for a better time, or for neither. */
class OrderPlanningTest {
    private static final WorkloadId DB = WorkloadId.process("db");
    /** A Saturday, 12:00 UTC. */
    private static final Instant NOON = Instant.parse("2026-11-21T12:00:00Z");

    private static final String WINDOW = "maintenanceWindow: {start: \"02:00\", duration: 1h}";
    private static final String OPEN_WINDOW = "maintenanceWindow: {start: \"11:00\", duration: 2h}";
    private static final String CLOSED_UNTIL =
            "its declaration changed, and its maintenance window is closed; next try at 2026-11-22T02:00:00Z";

    @Test
    void whatItDependsOnComesFirst() {
        WorkloadPlan plan = plan(declared("1", ""), null, nothing(), needs(Need.State.COMING));

        assertPlanned("install NOT_INSTALLED: wait launch", plan);
        assertEquals(
                "not running; it is started after what it depends on, and process/db is not well yet", plan.message());
        assertEquals(NOON.plusSeconds(5), ((Step.Wait) plan.steps().getFirst()).until());
    }

    @Test
    void whatDoesNotComeByItselfIsSaidToBeInTheWay() {
        WorkloadPlan stuck = plan(declared("1", ""), null, nothing(), needs(Need.State.STUCK));
        assertPlanned("wait WAITING_FOR_DEPENDENCY: wait", stuck);
        assertTrue(stuck.message().contains("process/db does not become well"), stuck::message);

        WorkloadPlan undeclared = plan(declared("1", ""), null, nothing(), needs(Need.State.UNDECLARED));
        assertPlanned("wait WAITING_FOR_DEPENDENCY: wait", undeclared);
        assertTrue(undeclared.message().contains("process/db is declared by nobody"), undeclared::message);
        assertEquals(Step.Wait.Kind.DECLARATION, ((Step.Wait) undeclared.steps().getFirst()).kind());
    }

    @Test
    void whatDependsOnItselfIsNotStartedAndSaysWhy() {
        Relations relations = new Relations(
                ImmutableList.of(new Need(DB, Need.State.COMING)),
                ImmutableList.of(WorkloadId.process("p"), DB),
                ImmutableList.of(),
                ImmutableList.of());

        WorkloadPlan plan = plan(declared("1", ""), null, nothing(), relations);

        assertPlanned("wait DEPENDENCY_CYCLE: wait", plan);
        assertTrue(plan.message().startsWith("it depends on itself: process/p -> process/db -> process/p"));
    }

    @Test
    void whatRunsRunsOnWhateverBecomesOfWhatItDependsOn() {
        Declaration declared = declared("1", "");
        for (Need.State state : Need.State.values()) {
            assertPlanned("none AT_DESIRED_STATE", plan(declared, declared, running(declared), needs(state)));
        }
    }

    @Test
    void anUpgradeStopsNothingUntilItsSuccessorCouldBeStarted() {
        Declaration before = declared("1", "");

        assertPlanned(
                "upgrade REVISION_CHANGED: wait stop launch",
                plan(declared("2", ""), before, running(before), needs(Need.State.COMING)));
        assertPlanned(
                "wait WAITING_FOR_DEPENDENCY: wait",
                plan(declared("2", ""), before, running(before), needs(Need.State.STUCK)));
    }

    @Test
    void whatNobodyWantsAnyMoreIsStoppedAfterWhatDependedOnIt() {
        Declaration before = declared("1", "");
        Relations relations = new Relations(
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(WorkloadId.process("web")),
                ImmutableList.of());

        WorkloadPlan plan = plan(null, before, running(before), relations);

        assertPlanned("remove NO_LONGER_DECLARED: wait stop remove", plan);
        assertEquals("no longer declared; it is stopped after what depends on it: process/web", plan.message());
        assertPlanned("remove NO_LONGER_DECLARED: stop remove", plan(null, before, running(before), Relations.NONE));
    }

    @Test
    void whatRunsWellIsChangedOnlyInItsWindow() {
        Declaration before = declared("1", WINDOW);

        WorkloadPlan closed = plan(declared("2", WINDOW), before, running(before), Relations.NONE);
        assertPlanned("wait WAITING_FOR_WINDOW: wait", closed);
        assertEquals(CLOSED_UNTIL, closed.message());

        assertPlanned(
                "upgrade REVISION_CHANGED: stop launch",
                plan(declared("2", OPEN_WINDOW), before, running(before), Relations.NONE));
    }

    @Test
    void aLimitThatIsDeclaredOtherwiseWaitsForTheWindowToo() {
        Declaration before = declared("1", WINDOW);

        assertPlanned(
                "wait WAITING_FOR_WINDOW: wait",
                plan(declared("1", WINDOW + "\n  arguments: [\"-v\"]"), before, running(before), Relations.NONE));
    }

    @Test
    void aFirstInstallationAndARemovalWaitForNoWindow() {
        Declaration declared = declared("1", WINDOW);

        assertPlanned("install NOT_INSTALLED: launch", plan(declared, null, nothing(), Relations.NONE));
        assertPlanned(
                "remove NO_LONGER_DECLARED: stop remove", plan(null, declared, running(declared), Relations.NONE));
    }

    @Test
    void outsideTheWindowARepairBringsBackWhatRanBefore() {
        Declaration before = declared("1", WINDOW);

        WorkloadPlan plan = plan(declared("2", WINDOW), before, nothing(), Relations.NONE);

        assertPlanned("restart PROCESS_MISSING: launch", plan);
        assertEquals("1", ((Step.Launch) plan.steps().getFirst()).declared().revision());
    }

    @Test
    void whatWasBroughtBackOutsideTheWindowIsGivenTheTimeToStart() {
        Declaration before = declared("1", WINDOW);
        ImmutableList<ObservedInstance> starting =
                ImmutableList.of(process(before, Phase.CREATED, Duration.ofMillis(100)));

        WorkloadPlan plan = plan(declared("2", WINDOW), before, starting, Relations.NONE);

        assertEquals(Reason.START_NOT_FINISHED, plan.reason(), plan::message);
        assertTrue(plan.steps().stream().allMatch(Step.Wait.class::isInstance), plan::message);
    }

    @Test
    void aChangeThatHasBegunIsBroughtToItsEndWhenTheWindowCloses() {
        Declaration before = declared("1", WINDOW);
        Declaration after = declared("2", WINDOW);
        ImmutableList<ObservedInstance> starting =
                ImmutableList.of(process(after, Phase.CREATED, Duration.ofMillis(100)));

        WorkloadPlan plan = plan(after, before, starting, Relations.NONE);

        assertEquals(Reason.START_NOT_FINISHED, plan.reason(), plan::message);
    }

    @Test
    void onlySoManyGoDownAtATime() {
        Declaration before = declared("1", "maxDisruption: {label: tier, count: 2}");
        Declaration after = declared("2", "maxDisruption: {label: tier, count: 2}");

        WorkloadPlan plan = plan(after, before, running(before), down("a", "b"));
        assertPlanned("wait WAITING_FOR_OTHERS: wait", plan);
        assertEquals("at most 2 with its label tier may be down at a time: process/a, process/b", plan.message());

        assertPlanned("upgrade REVISION_CHANGED: stop launch", plan(after, before, running(before), down("a")));
    }

    @Test
    void whoeverAppliesDoesNotWaitForAMemberThatDoesNotComeBackByItself() {
        Declaration before = declared("1", "maxDisruption: {label: tier}");
        Relations relations = new Relations(
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(new Need(DB, Need.State.STUCK)));

        WorkloadPlan plan = plan(declared("2", "maxDisruption: {label: tier}"), before, running(before), relations);

        assertPlanned("wait WAITING_FOR_OTHERS: wait", plan);
        assertEquals(Step.Wait.Kind.RETRY, ((Step.Wait) plan.steps().getFirst()).kind());
    }

    @Test
    void aRestartThatIsAskedForIsDoneAtOnceOutsideTheWindow() {
        Declaration declared = declared("1", WINDOW);

        assertPlanned(
                "restart RESTART_REQUESTED: stop launch",
                Planner.plan(asked(declared, running(declared), Relations.NONE)));
    }

    @Test
    void aRestartThatIsAskedForOfAWholeGroupTakesOneAfterTheOther() {
        Declaration declared = declared("1", "maxDisruption: {label: tier}");

        WorkloadPlan plan = Planner.plan(asked(declared, running(declared), down("a")));

        assertPlanned("wait WAITING_FOR_OTHERS: wait", plan);
        assertTrue(plan.message().matches("a restart was asked for; at most 1 .* tier .*: process/a"), plan::message);
    }

    @Test
    void aRestartThatIsAskedForStopsNothingThatCouldNotBeStarted() {
        Declaration declared = declared("1", "");

        assertPlanned(
                "wait WAITING_FOR_DEPENDENCY: wait",
                Planner.plan(asked(declared, running(declared), needs(Need.State.STUCK))));
        assertPlanned(
                "restart RESTART_REQUESTED: wait stop launch",
                Planner.plan(asked(declared, running(declared), needs(Need.State.COMING))));
    }

    @Test
    void whatWaitsForItsRestartIsRepairedMeanwhile() {
        Declaration declared = declared("1", "maxDisruption: {label: tier}");
        Instance instance = running(declared).getFirst().instance();
        ObservedInstance lost = new ObservedInstance(
                instance,
                true,
                new Liveness.Running(
                        new ProcessIdentity(1, 1, "boot"),
                        Duration.ofHours(1),
                        true,
                        Health.healthy(NOON),
                        ImmutableSet.of(ObservedInstance.Loss.LOG)));

        assertPlanned(
                "restart LOG_MISSING: stop launch", Planner.plan(asked(declared, ImmutableList.of(lost), down("a"))));
    }

    @Test
    void whatIsAboutToBeReplacedIsNotRestartedBeforeThat() {
        Example example = Example.plugin()
                .wants("B")
                .knownGood("A")
                .installed("A")
                .active("A")
                .runs("A");
        Instance instance = example.situation().instances().getFirst().instance();

        assertEquals(
                "restart RESTART_REQUESTED: stop launch start",
                example.history(history -> history.withRun(history.run().withAgain(instance.launchId())))
                        .planned(),
                "a download may take long");
        assertEquals(
                "upgrade REVISION_CHANGED: unpack stop activate launch start",
                example.cached("B").planned());
    }

    /** Somebody wants what runs as it is declared to be launched again. */
    private Situation asked(Declaration declared, ImmutableList<ObservedInstance> running, Relations relations) {
        Situation situation = situation(declared, declared, running, relations);
        WorkloadHistory history = situation.history();
        return situation.withHistory(history.withRun(
                history.run().withAgain(running.getFirst().instance().launchId())));
    }

    @Test
    void whatIsDownIsRepairedHoweverManyAreDown() {
        Declaration declared = declared("1", "maxDisruption: {label: tier}");

        assertPlanned("restart PROCESS_MISSING: launch", plan(declared, declared, nothing(), down("a", "b", "c")));
    }

    @Test
    void whatIsNotWellMayBeReplacedAtOnce() {
        Declaration before = declared("1", WINDOW + "\n  maxDisruption: {label: tier}");
        Declaration after = declared("2", OPEN_WINDOW + "\n  maxDisruption: {label: tier}");
        ImmutableList<ObservedInstance> starting =
                ImmutableList.of(process(before, Phase.CREATED, Duration.ofHours(1)));

        assertPlanned("upgrade REVISION_CHANGED: stop launch", plan(after, before, starting, down("a", "b")));
    }

    @Test
    void theRunOfAOneShotTakesNobodysPlace() {
        Declaration before = declared("1", "execution: {type: oneShot, triggers: {startup: true}}");
        Declaration after = declared("2", "maxDisruption: {label: tier}");

        WorkloadPlan plan = plan(after, null, running(before), down("a", "b"));

        assertPlanned("restart EXECUTION_CHANGED: stop launch", plan);
    }

    @Test
    void whatFailedInItsWindowIsUndoneAtOnce() {
        Declaration before = declared("1", WINDOW);
        Declaration after = declared("2", WINDOW);
        Situation situation = situation(
                after, before, ImmutableList.of(process(after, Phase.STARTED, Duration.ofHours(1))), Relations.NONE);
        Situation failed = situation.withHistory(
                situation.history().withFailed(new FailedRevision(after.hash(), "2", 1, NOON, "broken")));

        WorkloadPlan plan = Planner.plan(failed);

        assertPlanned("rollback REVISION_FAILED: stop launch", plan);
    }

    @Test
    void whatIsUndoneOrBroughtBackWaitsForNothingThatOnlyTheNewDeclarationDependsOn() {
        Declaration before = declared("1", WINDOW);
        Declaration after = declared("2", WINDOW + "\n  dependsOn: [process/db]");
        for (Need.State state : List.of(Need.State.COMING, Need.State.STUCK, Need.State.UNDECLARED)) {
            assertPlanned("restart PROCESS_MISSING: launch", plan(after, before, nothing(), needs(state)));
            Situation situation = situation(after, before, running(after), needs(state));
            WorkloadHistory failed =
                    situation.history().withFailed(new FailedRevision(after.hash(), "2", 1, NOON, "broken"));
            assertPlanned("rollback REVISION_FAILED: stop launch", Planner.plan(situation.withHistory(failed)));
        }
    }

    @Test
    void whatIsUndoneWaitsForWhatTheLastGoodRevisionDependsOn() {
        Declaration before = declared("1", "dependsOn: [process/db]");
        Declaration after = declared("2", "dependsOn: [process/db]");
        Situation situation = situation(after, before, nothing(), needs(Need.State.COMING));
        WorkloadHistory failed =
                situation.history().withFailed(new FailedRevision(after.hash(), "2", 1, NOON, "broken"));

        WorkloadPlan plan = Planner.plan(situation.withHistory(failed));

        assertEquals("wait launch", plan.steps().stream().map(Step::word).collect(Collectors.joining(" ")));
    }

    private void assertPlanned(String expected, WorkloadPlan plan) {
        String steps = plan.steps().stream().map(Step::word).collect(Collectors.joining(" "));
        assertEquals(
                expected,
                plan.action().word() + " " + plan.reason() + (steps.isEmpty() ? "" : ": " + steps),
                plan::message);
    }

    private WorkloadPlan plan(
            @Nullable Declaration declared,
            @Nullable Declaration lastKnownGood,
            ImmutableList<ObservedInstance> instances,
            Relations relations) {
        return Planner.plan(situation(declared, lastKnownGood, instances, relations));
    }

    private Situation situation(
            @Nullable Declaration declared,
            @Nullable Declaration lastKnownGood,
            ImmutableList<ObservedInstance> instances,
            Relations relations) {
        WorkloadHistory history =
                WorkloadHistory.NONE.withAttempts(1, Attempts.of(declared == null ? "" : declared.hash()));
        if (lastKnownGood != null) {
            history =
                    history.withLastKnownGood(new LastKnownGood(lastKnownGood.workload(), lastKnownGood.hash(), null));
        }
        ObservedWorkload seen = ObservedWorkload.absent(WorkloadId.process("p")).withInstances(instances);
        return new Situation(
                declared,
                Policy.NONE,
                seen,
                HostFacts.of("boot", "instance"),
                relations,
                ImmutableSet.of(),
                history,
                null,
                Judgement.checks(declared, history, NOON),
                7,
                NOON);
    }

    private static ImmutableList<ObservedInstance> nothing() {
        return ImmutableList.of();
    }

    private static ImmutableList<ObservedInstance> running(Declaration declared) {
        return ImmutableList.of(process(declared, Phase.STARTED, Duration.ofHours(1)));
    }

    private static ObservedInstance process(Declaration declared, Phase start, Duration age) {
        Instance instance = new Instance(
                "launch",
                declared.id(),
                declared.hash(),
                declared.workload().revision(),
                null,
                LaunchInputs.recorded(declared.workload(), null),
                NOON,
                new ProcessIdentity(1, 1, "boot"),
                start,
                "");
        return new ObservedInstance(
                instance,
                true,
                new Liveness.Running(new ProcessIdentity(1, 1, "boot"), age, true, Health.healthy(NOON)));
    }

    private static Relations needs(Need.State state) {
        return new Relations(
                ImmutableList.of(new Need(DB, state)), ImmutableList.of(), ImmutableList.of(), ImmutableList.of());
    }

    private static Relations down(String... names) {
        return new Relations(
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                List.of(names).stream()
                        .map(name -> new Need(WorkloadId.process(name), Need.State.COMING))
                        .collect(ImmutableList.toImmutableList()));
    }

    private static Declaration declared(String revision, String more) {
        Workload workload = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: p, labels: {tier: front}}
                spec:
                  revision: "%s"
                  install: local
                  entryPoint: /bin/p
                  %s
                """.formatted(revision, more));
        return new Declaration(workload, SourceName.FILES, 1, "hash of " + revision + more, ImmutableList.of());
    }
}
