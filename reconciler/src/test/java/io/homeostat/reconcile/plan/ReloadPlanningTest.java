package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Reload;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.record.OutcomeRecorder;
import io.homeostat.reconcile.sim.Declarations;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is planned when files have changed that an instance is made to read again. */
class ReloadPlanningTest {
    private static final String FILE = "/etc/p.conf";
    private static final FileContent ONE = content("one");
    private static final FileContent TWO = content("two");
    private static final FileContent MISSING = new FileContent.Absent();

    private final Example example =
            Example.plugin().wants(declared("c", null)).installed("A").active("A");

    private static FileContent content(String text) {
        return FileContent.of(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String digest(FileContent content) {
        return content instanceof FileContent.Present present ? present.sha256() : "";
    }

    private static Declaration declared(String config, @Nullable MaintenanceWindow window) {
        Declaration plain = new Declarations().declare(WorkloadId.plugin("p"), "A", ImmutableList.of(), config);
        Workload workload = plain.workload();
        PluginSpec spec = (PluginSpec) workload.spec();
        Program program = spec.program();
        Program reloaded = new Program(
                program.revision(),
                program.source(),
                program.entryPoint(),
                program.arguments(),
                program.env(),
                program.envFiles(),
                program.user(),
                program.settings(),
                new Reload("SIGHUP", null, ImmutableList.of(FILE)),
                program.install());
        Lifecycle old = spec.lifecycle();
        Lifecycle lifecycle = new Lifecycle(
                old.limits(),
                old.start(),
                old.stop(),
                old.health(),
                old.restart(),
                old.metrics(),
                old.execution(),
                old.dependsOn(),
                old.maxDisruption(),
                window,
                old.keepRevisions());
        return new Declaration(
                new Workload(workload.id(), workload.labels(), new PluginSpec(reloaded, lifecycle, spec.config())),
                plain.source(),
                plain.generation(),
                plain.hash() + window,
                ImmutableList.of());
    }

    /** @param read what the instance has read; null when that is not known */
    private ObservationRecorder.Learned seen(@Nullable FileContent read, FileContent now) {
        Situation situation = example.situation();
        ImmutableList<ObservedInstance> instances = situation.instances().stream()
                .map(one -> new ObservedInstance(
                        read == null
                                ? one.instance()
                                : one.instance().withWatched(ImmutableSortedMap.of(FILE, digest(read))),
                        one.remembered(),
                        one.liveness()))
                .collect(ImmutableList.toImmutableList());
        return ObservationRecorder.observed(
                situation.withSeen(situation.seen().withInstances(instances).withFiles(ImmutableMap.of(FILE, now))));
    }

    private WorkloadPlan plan(@Nullable FileContent read, FileContent now) {
        return Planner.plan(seen(read, now).situation());
    }

    private String planned(@Nullable FileContent read, FileContent now) {
        WorkloadPlan plan = plan(read, now);
        return plan.action().word() + " " + plan.reasons()
                + plan.steps().stream().map(Step::word).toList();
    }

    @Test
    void anotherContentIsAReloadAndTheSameIsNone() {
        example.runs("A").provenAsDeclared();

        assertEquals("none [AT_DESIRED_STATE][]", planned(ONE, ONE));
        assertEquals("reload [WATCHED_FILES_CHANGED][reload]", planned(ONE, TWO));
        assertEquals("watched file changed: " + FILE, plan(ONE, TWO).message());
        assertEquals(WorkloadPlan.Bucket.UPDATE, plan(ONE, TWO).bucket());
    }

    @Test
    void aFileThatIsMissingIsNoChangeUntilItIsThereAgain() {
        example.runs("A").provenAsDeclared();

        assertEquals("none [AT_DESIRED_STATE][]", planned(ONE, MISSING));
        assertTrue(
                plan(ONE, MISSING).message().startsWith("watched file " + FILE + " can't be read: "),
                plan(ONE, MISSING).message());
        assertEquals("reload [WATCHED_FILES_CHANGED][reload]", planned(MISSING, ONE));
    }

    @Test
    void whatAFormerVersionLaunchedCountsAsHavingReadWhatIsThereNow() {
        example.runs("A").provenAsDeclared();

        ObservationRecorder.Learned learned = seen(null, TWO);

        assertEquals("none [AT_DESIRED_STATE][]", planned(null, TWO));
        assertEquals(
                ImmutableMap.of(FILE, digest(TWO)),
                learned.change().instances().getFirst().watched());
    }

    @Test
    void whatHasNotStartedIsNotReloadedYet() {
        example.runs("A", Phase.CREATED, Duration.ofSeconds(1), null);

        assertFalse(planned(ONE, TWO).contains("reload"), planned(ONE, TWO));
    }

    @Test
    void whatIsNotWellIsNotReloaded() {
        example.provenAsDeclared()
                .runs("A", Phase.STARTED, Duration.ofHours(1), Health.failed(Health.Verdict.UNHEALTHY, "no", NOW));

        assertFalse(planned(ONE, TWO).contains("reload"), planned(ONE, TWO));
    }

    @Test
    void aNewConfigurationIsGivenFirst() {
        example.wants(declared("d", null)).runs("A");

        assertEquals("configure [CONFIG_CHANGED, WATCHED_FILES_CHANGED][applyConfig, reload]", planned(ONE, TWO));
    }

    @Test
    void itWaitsForTheMaintenanceWindow() {
        MaintenanceWindow window = new MaintenanceWindow("23:00", Duration.ofHours(1), ImmutableList.of("sat"), "UTC");
        example.wants(declared("c", window)).runs("A").provenAsDeclared();

        assertEquals("wait [WAITING_FOR_WINDOW][wait]", planned(ONE, TWO));
        assertTrue(plan(ONE, TWO).message().contains(FILE), plan(ONE, TWO).message());
    }

    @Test
    void aReloadThatFailedIsTriedAgainLaterButAtOnceWithOtherContents() {
        example.runs("A").provenAsDeclared();
        Situation situation = seen(ONE, TWO).situation();
        Change failed = OutcomeRecorder.stepped(
                situation,
                Planner.plan(situation),
                Planner.plan(situation).next().orElseThrow(),
                new Outcome.Failed(FailureCause.of(FailureCause.Kind.REFUSED), "no luck", false));

        assertEquals(EventType.AGENT_RELOAD_FAILED, event(failed).type());
        assertEquals(ImmutableList.of(), failed.instances());
        example.history(history -> Objects.requireNonNull(failed.history()));
        assertEquals("wait [RELOAD_FAILED][wait]", planned(ONE, TWO));
        assertTrue(
                plan(ONE, TWO).message().startsWith("could not reload it: no luck; next try at"),
                plan(ONE, TWO).message());
        Situation later = seen(ONE, TWO).situation().at(NOW.plus(Duration.ofHours(1)));
        assertEquals("reload", Planner.plan(later).action().word());
        example.under(Policy.NONE.once());
        WorkloadPlan withoutAgent = Planner.plan(seen(ONE, TWO).situation().at(NOW.plus(Duration.ofHours(1))));
        assertTrue(
                withoutAgent.message().startsWith("could not reload it: no luck; no agent "), withoutAgent.message());
        assertEquals("wait", withoutAgent.action().word());
        assertEquals("reload [WATCHED_FILES_CHANGED][reload]", planned(ONE, content("three")));
        assertEquals("none [AT_DESIRED_STATE][]", planned(ONE, ONE));
        example.history(history -> history.retriedNow());
        assertEquals("reload [WATCHED_FILES_CHANGED][reload]", planned(ONE, TWO));
    }

    @Test
    void whatWasReadIsRememberedAndToldToNoControlPlane() {
        example.runs("A").provenAsDeclared();
        Situation situation = seen(ONE, TWO).situation();

        Change change = OutcomeRecorder.stepped(
                situation,
                Planner.plan(situation),
                Planner.plan(situation).next().orElseThrow(),
                Outcome.done("told by SIGHUP"));

        Instance instance = change.instances().getFirst();
        assertEquals(ImmutableMap.of(FILE, digest(TWO)), instance.watched());
        assertEquals(EventType.AGENT_RELOADED, event(change).type());
        assertEquals(
                "watched file changed: " + FILE + "; told by SIGHUP",
                event(change).message());
        assertFalse(event(change).type().isPluginEvent());
        assertEquals(Reason.AT_DESIRED_STATE, plan(TWO, TWO).reason(), "and it is not reloaded again");
    }

    @Test
    void aProgramThatChangesItsFilesItselfIsNotReloadedForEver() {
        example.runs("A").provenAsDeclared();
        for (int times = 1; times <= 2; times++) {
            Situation situation = seen(ONE, TWO).situation();
            Change change = OutcomeRecorder.stepped(
                    situation,
                    Planner.plan(situation),
                    Planner.plan(situation).next().orElseThrow(),
                    Outcome.done("told by SIGHUP"));
            example.history(history -> Objects.requireNonNull(change.history()));
        }

        assertEquals("wait [WATCHED_FILES_CHANGED][wait]", planned(ONE, TWO));
        assertTrue(
                plan(ONE, TWO)
                        .message()
                        .startsWith("watched file changed: " + FILE
                                + "; it was reloaded several times just before, so the workload may change it itself;"
                                + " next try at "),
                plan(ONE, TWO).message());
        Situation later = seen(ONE, TWO).situation().at(NOW.plus(Duration.ofMinutes(5)));
        assertEquals(Reason.WATCHED_FILES_CHANGED, Planner.plan(later).reason());
        assertEquals("reload", Planner.plan(later).action().word());
        example.history(history -> history.retriedNow());
        assertEquals("reload [WATCHED_FILES_CHANGED][reload]", planned(ONE, TWO));
    }

    private static Event event(Change change) {
        return change.events().getFirst();
    }
}
