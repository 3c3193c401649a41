package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.record.Conditions;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.record.OutcomeRecorder;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is planned when a guest has changed, hangs, or is not the one that it was. */
class GuestPlanningTest {
    private static final WorkloadId MACHINE = WorkloadId.process("vm");
    private static final Health WELL = Health.healthy(NOW);
    private static final String SANDBOX = """
            apiVersion: homeostat.io/v1
            kind: Sandbox
            metadata: {name: guest}
            spec:
              endpoint: vsock://3:1024
              interfaces: [{name: eth0, hwAddr: "02:00:00:00:00:01", addresses: [10.0.0.2/24]}]
              dependsOn: [process/vm]
            """;

    private final Workload workload = Written.workload(SANDBOX);
    private Relations relations = in(MACHINE);

    /** Of what runs in these. */
    private static Relations in(WorkloadId... hosts) {
        return new Relations(
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                null,
                null,
                ImmutableList.of(),
                ImmutableSet.copyOf(hosts));
    }

    private Situation seen(Workload launched, Workload declared, Liveness liveness, WorkloadHistory history) {
        Declaration declaration =
                new Declaration(declared, SourceName.APPLIED, 1, "hash-" + declared.hashCode(), ImmutableList.of());
        Instance instance = new Instance(
                "launch",
                launched.id(),
                "hash-" + launched.hashCode(),
                launched.revision(),
                null,
                LaunchInputs.of(launched),
                NOW.minusSeconds(60),
                liveness instanceof Liveness.Running running
                        ? running.identity()
                        : new Identity.Sandbox("vsock://3:1024", 1, true, "boot"),
                Phase.STARTED,
                Traits.of(launched).configHash(),
                ImmutableSortedMap.of());
        return new Situation(
                declaration,
                Policy.NONE,
                new ObservedWorkload(
                        launched.id(),
                        Observation.seen(ImmutableList.of()),
                        Observation.seen(Optional.empty()),
                        Observation.seen(ImmutableList.of(new ObservedInstance(instance, true, liveness))),
                        Observation.seen(ObservedLimits.NONE),
                        Observation.seen(false)),
                HostFacts.of("boot", "instance"),
                relations,
                ImmutableSet.of(),
                history.attempts().hash().isEmpty()
                        ? history.withAttempts(1, Attempts.of(declaration.hash()))
                        : history,
                null,
                Judgement.checks(declaration, history, NOW),
                7,
                NOW);
    }

    private Situation learned(Workload declared, Liveness liveness, WorkloadHistory history) {
        return ObservationRecorder.observed(seen(workload, declared, liveness, history))
                .situation();
    }

    private Situation learned(Liveness liveness) {
        return learned(workload, liveness, WorkloadHistory.NONE);
    }

    private static Liveness running(@Nullable Health health, Deviation deviation, Loss... lost) {
        return new Liveness.Running(
                new Identity.Sandbox("vsock://3:1024", 1, true, "boot"),
                Duration.ofMinutes(1),
                true,
                health,
                ImmutableSet.copyOf(lost),
                deviation);
    }

    private static String words(WorkloadPlan plan) {
        String steps = plan.steps().stream().map(Step::word).collect(Collectors.joining(" "));
        return (plan.action().word() + " " + plan.reason() + ": " + steps).strip() + " (" + plan.message() + ")";
    }

    private static String condition(Situation situation, Condition.Type type) {
        return Conditions.of(situation, Planner.plan(situation)).stream()
                .filter(one -> one.type() == type)
                .map(one -> one.status() + " " + one.reason() + ": " + one.message())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void whatIsAsItWasGivenIsAtRest() {
        WorkloadPlan plan = Planner.plan(learned(running(WELL, Deviation.NONE)));

        assertEquals(ImmutableList.of(), plan.steps());
    }

    @Test
    void aNetworkThatWasChangedFromOutsideIsGivenAgainInPlaceAndToldOfOnce() {
        Liveness changed = running(WELL, new Deviation(ImmutableList.of("no 10.0.0.2"), ImmutableList.of()));
        Situation situation = learned(changed);
        WorkloadPlan plan = Planner.plan(situation);

        assertEquals("configure CONFIG_DRIFTED: applyConfig (changed from outside: no 10.0.0.2)", words(plan));
        assertTrue(plan.isDrift());
        assertEquals(
                List.of(EventType.DRIFT_DETECTED),
                ObservationRecorder.drift(situation, plan).stream()
                        .map(Event::type)
                        .toList());
    }

    @Test
    void whatItCouldNotBeGivenIsTriedAgainAfterAPause() {
        Liveness changed = running(WELL, new Deviation(ImmutableList.of("eth0 is called ens3"), ImmutableList.of()));
        Situation situation = learned(changed);
        WorkloadPlan plan = Planner.plan(situation);
        WorkloadHistory after = OutcomeRecorder.stepped(
                        situation,
                        plan,
                        plan.next().orElseThrow(),
                        new Outcome.Failed(FailureCause.of(FailureCause.Kind.REFUSED), "no such device", false))
                .history();

        assertEquals(
                "wait CONFIGURE_FAILED: wait (it did not accept its configuration: no such device; next try"
                        + " at 2026-11-20T12:00:10Z)",
                words(Planner.plan(learned(workload, changed, after == null ? WorkloadHistory.NONE : after))));
    }

    @Test
    void whatItCanNotBeGivenWhileItRunsTakesAnotherLaunch() {
        Liveness changed = running(WELL, new Deviation(ImmutableList.of("it is paused"), ImmutableList.of()));
        WorkloadHistory before = learned(changed).history();

        assertEquals(
                "restart CONFIG_DRIFTED: stop launch (changed from outside: it is paused)",
                words(Planner.plan(learned(
                        workload, changed, before.withAttempts(before.attempts().withRestartToConfigure(true))))));
    }

    /** A running container can be limited, and be limited otherwise, and is never without a limit again. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {}                         | {}                        | none AT_DESIRED_STATE: ()
            {}                         | {memory: 64Mi, pids: 9}   | configure CONFIG_CHANGED: applyConfig (config changed)
            {memory: 64Mi}             | {memory: 32Mi, cpu: 10%}  | configure CONFIG_CHANGED: applyConfig (config changed)
            {memory: 64Mi}             | {cpu: 10%}                | restart CONFIG_CHANGED: stop launch (limits.memory can't be taken back while it runs)
            {cpu: 10%, pids: 9}        | {}                        | restart CONFIG_CHANGED: stop launch (limits.cpu and limits.pids can't be taken back while it runs)
            """)
    void aLimitThatIsLiftedTakesAnotherLaunchAndThePlanSaysSo(String before, String now, String expected) {
        assertEquals(expected, words(Planner.plan(limited(container(before), container(now)))));
    }

    private Situation limited(Workload launched, Workload declared) {
        Liveness running = new Liveness.Running(
                new Identity.Container("vsock://3:1024", "app-1", true, "boot"), Duration.ofMinutes(1), true, WELL);
        return ObservationRecorder.observed(seen(launched, declared, running, WorkloadHistory.NONE))
                .situation();
    }

    private static Workload container(String limits) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Container
                metadata: {name: app}
                spec: {sandbox: guest, rootfs: {path: /rootfs}, command: [app], limits: %s}
                """.formatted(limits));
    }

    @Test
    void whatNobodyCanTakeAwayIsSaidAndNotDone() {
        Situation situation =
                learned(running(WELL, new Deviation(ImmutableList.of(), ImmutableList.of("and 10.0.0.9"))));

        assertEquals("none AT_DESIRED_STATE: (and 10.0.0.9)", words(Planner.plan(situation)));
        assertEquals("TRUE AT_DESIRED_STATE: and 10.0.0.9", condition(situation, Condition.Type.CONVERGED));
    }

    @Test
    void aSlowGuestIsWaitedForHoweverLong() {
        Liveness slow =
                running(Health.failed(Health.Verdict.DEGRADED, "it blocks", NOW.minusSeconds(1)), Deviation.NONE);
        WorkloadHistory before = learned(running(WELL, Deviation.NONE)).history();
        Situation situation = learned(workload, slow, before);
        for (int look = 0; look < 10; look++) {
            situation = learned(workload, slow, situation.history());
        }

        String words = "it blocks (since 2026-11-20T12:00:00Z)";
        assertEquals("none DEGRADED: (" + words + ")", words(Planner.plan(situation)));
        assertEquals("FALSE DEGRADED: " + words, condition(situation, Condition.Type.HEALTHY));
        ImmutableList<Condition> known = ImmutableList.of(new Condition(
                Condition.Type.HEALTHY, Condition.Status.FALSE, Reason.DEGRADED, words, NOW.minusSeconds(90)));
        assertEquals(
                "none DEGRADED: (it blocks (since 2026-11-20T11:58:30Z))",
                words(Planner.plan(learned(workload, slow, situation.history().withConditions(known)))));
        assertEquals(0, situation.history().run().healthFailures());
    }

    @Test
    void aGuestWhereNobodyListensIsGoneAfterAsManyChecksAsAreDeclared() {
        Liveness gone = running(Health.failed(Health.Verdict.GONE, "it refused", NOW), Deviation.NONE);
        Situation once = learned(gone);

        String words = words(Planner.plan(once));
        assertTrue(words.startsWith("wait GUEST_LOST: wait stop launch (it refused (1 of 3 "), words);
        WorkloadHistory failed = once.history()
                .withRun(once.history().run().unhealthy(NOW.minusSeconds(20)).unhealthy(NOW.minusSeconds(10)));
        assertEquals(
                "restart GUEST_LOST: stop launch",
                words(Planner.plan(learned(workload, gone, failed))).replaceAll(" \\(.*", ""));
    }

    @Test
    void aGuestWhoseAgentIsAnotherOneIsBootedAnewByWhatItRunsIn() {
        Liveness lost = running(WELL, Deviation.NONE, Loss.GUEST_AGENT);
        Situation situation = learned(lost);
        WorkloadPlan plan = Planner.plan(situation);

        assertEquals(
                "restart GUEST_LOST: reboot (the agent of its guest was started again, and only a new boot of the guest heals"
                        + " that: process/vm is restarted)",
                words(plan));
        assertEquals(ImmutableList.of(MACHINE), ((Step.Reboot) plan.next().orElseThrow()).hosts());

        // Its machine takes a while, and is not told again and again.
        WorkloadHistory told = OutcomeRecorder.stepped(
                        situation, plan, plan.next().orElseThrow(), Outcome.done())
                .history();
        WorkloadPlan next = Planner.plan(learned(workload, lost, told == null ? WorkloadHistory.NONE : told));
        assertEquals("wait GUEST_LOST: wait", words(next).replaceAll(" \\(.*", ""));
        assertEquals(Step.Wait.Kind.PROGRESS, ((Step.Wait) next.next().orElseThrow()).kind());
    }

    @Test
    void soIsOneThatHasLostWhatItsContainersShare() {
        WorkloadPlan plan = Planner.plan(learned(running(WELL, Deviation.NONE, Loss.SHARED_PIDS)));

        assertEquals(
                "restart GUEST_LOST: reboot (the container has ended that the first process of its shared namespace was in,"
                        + " and only a new boot of the guest gives it another one: process/vm is restarted)",
                words(plan));
    }

    @Test
    void whereNothingHereRunsItTheConditionSaysWhatToDo() {
        Workload alone = Written.workload(SANDBOX.replace("  dependsOn: [process/vm]\n", ""));

        Situation situation = learned(alone, running(WELL, Deviation.NONE, Loss.GUEST_AGENT), WorkloadHistory.NONE);

        String converged = condition(situation, Condition.Type.CONVERGED);
        assertTrue(converged.startsWith("FALSE GUEST_LOST: "), converged);
        assertTrue(
                converged.endsWith("; boot it anew (what it runs in is no Process that it depends on and that runs)"),
                converged);
    }

    /** What is done may have prepared the machine; to run it once more would boot nothing. */
    @Test
    void whatDoesNotRunIsNotLaunchedAgainToBootAGuest() {
        relations = in();

        WorkloadPlan plan = Planner.plan(learned(running(WELL, Deviation.NONE, Loss.GUEST_AGENT)));

        assertEquals("wait GUEST_LOST: wait", words(plan).substring(0, "wait GUEST_LOST: wait".length()));
    }

    @Test
    void aGuestThatHasBootedAnewIsMadeASandboxOfAgain() {
        Exit booted = new Exit(null, null, Exit.Reason.GUEST_BOOTED, NOW);
        WorkloadHistory before = learned(running(WELL, Deviation.NONE)).history();
        Situation situation = learned(workload, new Liveness.Ended(booted), before);

        assertEquals("restart GUEST_LOST: launch (its guest has booted anew)", words(Planner.plan(situation)));
        assertEquals(Reason.GUEST_LOST, Planner.plan(situation).reason());
        assertEquals(booted, situation.history().run().lastExit());
    }

    @Test
    void aGuestThatBootsAnewIsNoFaultOfItsSandboxUnlessThatWasMadeJustBefore() {
        WorkloadHistory before = learned(running(WELL, Deviation.NONE)).history();
        Instant launched = learned(running(WELL, Deviation.NONE))
                .instances()
                .getFirst()
                .instance()
                .launchedAt();
        Exit later = new Exit(null, null, Exit.Reason.GUEST_BOOTED, launched.plusSeconds(60));
        Exit soon = new Exit(null, null, Exit.Reason.GUEST_BOOTED, launched.plusSeconds(59));

        assertEquals(0, crashes(later, before));
        assertEquals(1, crashes(soon, before));
    }

    private int crashes(Exit exit, WorkloadHistory before) {
        return learned(workload, new Liveness.Ended(exit), before)
                .history()
                .run()
                .crashes()
                .count();
    }
}
