package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.Wish;
import io.homeostat.reconcile.sim.Wish.Probing;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A declaration that changes nothing but the probe, wrongly: it fails, is undone, and must not do more harm than that. */
class JudgementTest {
    private static final WorkloadId ID = WorkloadId.process("p");

    private final Declarations declarations = new Declarations();
    private final Declaration good = declare(Probing.WHERE_IT_LISTENS);
    private final Declaration wrong = declare(Probing.ELSEWHERE);
    private final Declaration later = declare(
            Probing.ELSEWHERE,
            new MaintenanceWindow(
                    "14:00",
                    Duration.ofHours(1),
                    ImmutableList.of("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
                    "UTC"));

    @Test
    void aProcessIsJudgedByANewProbeAsSoonAsItIsDeclared() {
        WorkloadHistory history = history(null);

        assertEquals(
                wrong.workload().spec(),
                Judgement.checks(wrong, history, NOW).of(process(good).instance()));
    }

    @Test
    void untilItsWindowOpensItIsJudgedByItsOwnProbeAndProvesNothingElse() {
        WorkloadHistory history = history(later, null);
        Instance instance = process(good).instance();

        assertEquals(
                good.workload().spec(), Judgement.checks(later, history, NOW).of(instance));
        assertEquals(
                later.workload().spec(),
                Judgement.checks(later, history, NOW.plus(Duration.ofHours(2))).of(instance));
        Situation learned = learned(later, history, process(good));
        assertEquals(
                good.hash(),
                Objects.requireNonNull(learned.history().lastKnownGood()).hash());
        assertEquals(Reason.WAITING_FOR_WINDOW, Planner.plan(learned).reason());
    }

    @Test
    void whatWasBroughtBackIsJudgedByItsOwnProbeAndNotByTheOneThatFailed() {
        WorkloadHistory history = history(NOW);

        assertEquals(
                good.workload().spec(),
                Judgement.checks(wrong, history, NOW).of(process(good).instance()));
    }

    @Test
    void theHealthOfWhatWasBroughtBackDoesNotProveWhatItReplaced() {
        Situation learned = learned(history(NOW), process(good));

        assertEquals(
                good.hash(),
                Objects.requireNonNull(learned.history().lastKnownGood()).hash());
        assertNotEquals(null, learned.history().failed());
        assertEquals(Reason.REVISION_FAILED, Planner.plan(learned).reason());
    }

    @Test
    void whatGoesOnUntilAnotherOneIsFetchedIsJudgedByItsOwnProbe() {
        WorkloadHistory history = history(null);
        FailedRevision undone = FailedRevision.byRequest(
                wrong.hash(), "A", NOW, "rolled back", Objects.requireNonNull(history.lastKnownGood()));
        WorkloadHistory again = history.rolledBack(undone, new LastKnownGood(later.workload(), later.hash(), "p_B"));

        assertEquals(
                good.workload().spec(),
                Judgement.checks(wrong, again, NOW).of(process(good).instance()));
    }

    @Test
    void whatIsRolledBackInPlaceIsJudgedByTheFormerProbeAndProvesThat() {
        FailedRevision undone = FailedRevision.byRequest(
                wrong.hash(), "A", NOW, "rolled back", new LastKnownGood(wrong.workload(), wrong.hash(), "p_A"));
        WorkloadHistory history = history(null).withFailed(undone);
        ObservedInstance process = process(wrong);

        assertEquals(
                good.workload().spec(), Judgement.checks(wrong, history, NOW).of(process.instance()));
        FailedRevision replaced =
                Objects.requireNonNull(learned(history, process).history().failed());
        assertNull(replaced.meanwhile());
        assertEquals(NOW, replaced.replacedAt());
        assertEquals(
                good.workload().spec(),
                Judgement.checks(wrong, history.withFailed(replaced), NOW).of(process.instance()));
    }

    @Test
    void anotherTrialTakesAnotherLaunch() {
        Situation learned = learned(history(NOW.minus(Duration.ofDays(2))), process(good));

        assertEquals(
                ImmutableList.of("stop", "launch"),
                Planner.plan(learned).steps().stream().map(Step::word).collect(ImmutableList.toImmutableList()));
    }

    @Test
    void aCheckThatCouldNotBeMadeProvesNothing() {
        Health unknown = Health.failed(Health.Verdict.UNKNOWN, "no descriptor", NOW);
        ObservedInstance process = process(good);
        Liveness.Running running = (Liveness.Running) process.liveness();
        Situation learned = learned(
                history(null),
                new ObservedInstance(
                        process.instance(),
                        true,
                        new Liveness.Running(running.identity(), running.age(), true, unknown)));

        assertEquals(
                good.hash(),
                Objects.requireNonNull(learned.history().lastKnownGood()).hash());
    }

    private Declaration declare(Probing probe) {
        return declare(probe, null);
    }

    private Declaration declare(Probing probe, @Nullable MaintenanceWindow window) {
        return declarations.declare(
                SourceName.APPLIED,
                ID,
                new Wish(
                        "A",
                        "A",
                        ImmutableList.of(),
                        null,
                        0,
                        probe,
                        Limits.NONE,
                        Declarations.DAEMON,
                        new Wish.Order(ImmutableList.of(), null, window)));
    }

    /** @param undone when the wrong declaration was undone; null when it has not failed */
    private WorkloadHistory history(@Nullable Instant undone) {
        return history(wrong, undone);
    }

    private WorkloadHistory history(Declaration declared, @Nullable Instant undone) {
        return WorkloadHistory.NONE
                .withAttempts(declared.generation(), Attempts.of(declared.hash()))
                .withLastKnownGood(new LastKnownGood(good.workload(), good.hash(), "p_A"))
                .withFailed(undone == null ? null : new FailedRevision(declared.hash(), "A", 1, undone, "no answer"));
    }

    private static ObservedInstance process(Declaration launchedFor) {
        Instance instance = new Instance(
                "launch-1",
                ID,
                launchedFor.hash(),
                "A",
                "p_A",
                LaunchInputs.of(launchedFor.workload()),
                NOW.minusSeconds(60),
                new ProcessIdentity(1, 1, "boot"),
                Phase.STARTED,
                "");
        return new ObservedInstance(
                instance,
                true,
                new Liveness.Running(
                        new ProcessIdentity(1, 1, "boot"), Duration.ofHours(1), true, Health.healthy(NOW)));
    }

    private Situation learned(WorkloadHistory history, ObservedInstance process) {
        return learned(wrong, history, process);
    }

    private static Situation learned(Declaration declared, WorkloadHistory history, ObservedInstance process) {
        ObservedWorkload seen = new ObservedWorkload(
                ID,
                Observation.seen(ImmutableList.of(new Installation("p_A", "A", "a", "a"))),
                Observation.seen(Optional.of("p_A")),
                Observation.seen(ImmutableList.of(process)),
                Observation.seen(ObservedLimits.NONE),
                Observation.seen(true));
        return ObservationRecorder.observed(new Situation(
                        declared,
                        Policy.NONE,
                        seen,
                        HostFacts.of("boot", "instance"),
                        Relations.NONE,
                        ImmutableSet.of(),
                        history,
                        null,
                        Judgement.checks(declared, history, NOW),
                        7,
                        NOW))
                .situation();
    }
}
