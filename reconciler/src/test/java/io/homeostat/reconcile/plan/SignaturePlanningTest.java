package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a machine does that installs only what is signed. */
class SignaturePlanningTest {
    private static final Policy SIGNED_ONLY = new Policy(true, true);

    @Test
    void whatNobodyHasSignedIsNotFetched() {
        assertEquals(
                "wait SIGNATURE_MISSING: wait",
                Example.plugin().wants("A").under(SIGNED_ONLY).planned());
    }

    @Test
    void whatIsInTheCacheAlreadyIsNotUnpackedWithoutASignature() {
        assertEquals(
                "wait SIGNATURE_MISSING: wait",
                Example.plugin().wants("A").cached("A").under(SIGNED_ONLY).planned());
    }

    @Test
    void whatIsInstalledAlreadyIsLaunched() {
        assertEquals(
                "install NOT_INSTALLED: launch start",
                Example.plugin()
                        .wants("A")
                        .installed("A")
                        .active("A")
                        .under(SIGNED_ONLY)
                        .planned());
    }

    @Test
    void anUnsignedRevisionLeavesTheOldOneRunning() {
        assertEquals(
                "wait SIGNATURE_MISSING: wait",
                Example.plugin()
                        .wants("A")
                        .provenAsDeclared()
                        .wants("B")
                        .installed("A")
                        .active("A")
                        .runs("A")
                        .under(SIGNED_ONLY)
                        .planned());
    }

    @Test
    void whatIsSignedIsFetchedAndItsSignatureIsCheckedBeforeItIsUnpacked() {
        WorkloadPlan plan = Planner.plan(learned(signed("A".repeat(86) + "=="), WorkloadHistory.NONE));

        assertEquals(
                List.of("download", "unpack", "activate", "launch"),
                plan.steps().stream().map(Step::word).toList());
        assertEquals(
                List.of("A".repeat(86) + "=="),
                plan.steps().stream()
                        .filter(Step.Unpack.class::isInstance)
                        .map(step -> ((Step.Unpack) step).signature())
                        .toList());
    }

    @Test
    void aRefusalIsToldOnceAndNamesTheRemedy() {
        Situation first = learned(signed(null), WorkloadHistory.NONE);
        Learned told = told(first);
        Event event = told.change().events().getFirst();
        assertEquals(EventType.PLUGIN_INSTALL_FAILED, event.type());
        assertEquals("1", event.revision());
        assertTrue(
                event.message()
                        .startsWith(
                                "revision 1 is not signed, and signatures are required here; declare source.signature"),
                event::message);

        assertEquals(List.of(), told(told.situation()).change().events());
    }

    @Test
    void whereSignaturesAreNotRequiredNothingIsRefused() {
        Situation situation = learned(signed(null), WorkloadHistory.NONE);
        Situation free = new Situation(
                situation.declared(),
                Policy.NONE,
                situation.seen(),
                situation.host(),
                Relations.NONE,
                situation.archives(),
                situation.history(),
                null,
                situation.checks(),
                7,
                Example.NOW);

        assertEquals(Reason.NOT_INSTALLED, Planner.plan(free).reason());
        assertEquals(List.of(), told(free).change().events());
    }

    /** What is told of a situation beside what was learned on the way to it. */
    private static Learned told(Situation situation) {
        Change nothing =
                new Change(situation.id(), null, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of());
        return ObservationRecorder.planned(new Learned(nothing, situation), Planner.plan(situation));
    }

    private static Workload signed(@Nullable String signature) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: p}
                spec:
                  revision: "1"
                  source: {url: "https://bucket/p.tar.gz"%s}
                  entryPoint: bin/p
                """.formatted(signature == null ? "" : ", signature: \"" + signature + "\""));
    }

    private static Situation learned(Workload workload, WorkloadHistory history) {
        Declaration declared = new Declaration(workload, SourceName.APPLIED, 1, "hash", ImmutableList.of());
        return ObservationRecorder.observed(new Situation(
                        declared,
                        SIGNED_ONLY,
                        ObservedWorkload.absent(workload.id()),
                        HostFacts.of("boot", "instance"),
                        Relations.NONE,
                        ImmutableSet.of(),
                        history,
                        null,
                        Judgement.checks(declared, history, Example.NOW),
                        7,
                        Example.NOW))
                .situation();
    }
}
