package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.Example.process;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.RunRecord.Stop;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What one look adds to what is remembered: of declarations, of ends, and of processes that somebody else has launched. */
class ObservationRecorderTest {
    private static final Exit KILLED = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);

    @Test
    void anotherDeclarationForgetsTheFailuresOfTheOneBefore() {
        Learned learned = plugin().wants("B")
                .knownGood("A")
                .attempts(attempts -> Attempts.of("former").withStart(failed(2, NOW)))
                .history(history -> history.withFailed(new FailedRevision("former", "X", 1, NOW, "never listens"))
                        .withRun(history.run().withCrashes(failed(4, NOW))))
                .learned();

        WorkloadHistory history = learned.situation().history();
        assertEquals(Failures.NONE, history.attempts().start());
        assertEquals(Failures.NONE, history.run().crashes());
        assertNull(history.failed());
        assertEquals(List.of("PLUGIN_CONFIG_INSTALL B"), told(learned));
    }

    @Test
    void whatWasToBeStoppedAndGoesOnAfterAllIsNotBeingStoppedAnyMore() {
        Example runs =
                process().wants("A").knownGood("A").installed("A").active("A").runs("A");
        String launch = runs.situation().instances().getFirst().instance().launchId();
        UnaryOperator<WorkloadHistory> stopping =
                history -> history.withRun(history.run().withStop(new Stop(launch, Stop.Meaning.SUPERSEDED)));

        assertNull(planned(runs.history(stopping)).run().stop());
        Example isIll = process()
                .wants("A")
                .knownGood("A")
                .installed("A")
                .active("A")
                .runs("A", Phase.STARTED, Duration.ofHours(1), Health.failed(Verdict.UNHEALTHY, "says no", NOW));
        assertNull(planned(isIll.history(stopping)).run().stop(), "a restart that may not come is foretold");
        assertNotNull(
                planned(runs.wants("B").installed("B").history(stopping)).run().stop());
    }

    private static WorkloadHistory planned(Example example) {
        Learned learned = example.learned();
        return ObservationRecorder.planned(learned, Planner.plan(learned.situation()))
                .situation()
                .history();
    }

    @Test
    void whatIsWithdrawnForgetsItsTrialAndItsRunAndNamesTheRevisionThatWasSeenWell() {
        OneShotRun run = OneShotRun.begun("work", "launch", "boot", "instance", NOW);
        Learned learned = plugin().knownGood("A")
                .history(history -> history.withAttempts(
                                4, Attempts.of("former").withStart(failed(2, NOW)))
                        .withFailed(new FailedRevision("former", "B", 1, NOW, "never listens"))
                        .withRun(history.run().withOneShot(run)))
                .learned();

        WorkloadHistory history = learned.situation().history();
        assertEquals("", history.attempts().hash());
        assertEquals(Failures.NONE, history.attempts().start());
        assertEquals("A", history.attempts().reported().revision());
        assertNull(history.failed());
        assertNull(history.run().oneShot());
        assertEquals(List.of("PLUGIN_CONFIG_REMOVE A"), told(learned));
    }

    @Test
    void onlyOfWhatAControlPlaneHearsOfARemovalIsToldToHaveFailed() {
        Learned plugin = declaredAgain(plugin());
        assertEquals(List.of("PLUGIN_REMOVE_FAILED A", "PLUGIN_CONFIG_INSTALL A"), told(plugin));
        assertTrue(plugin.situation().history().asked().install());

        Learned process = declaredAgain(process());
        assertEquals(List.of("PLUGIN_CONFIG_INSTALL A"), told(process));
        assertFalse(process.situation().history().asked().install());
    }

    private static Learned declaredAgain(Example example) {
        return example.wants("A")
                .knownGood("A")
                .attempts(attempts -> Attempts.NONE.withReported(Reported.of("A")))
                .learned();
    }

    @Test
    void theEndOfWhatNobodyWantsIsNoCrash() {
        Learned learned = plugin().wasWanted().knownGood("A").ended("A", KILLED).learned();

        assertEquals(List.of("PLUGIN_STOPPED A"), told(learned));
        assertEquals(Failures.NONE, learned.situation().history().run().crashes());
        assertEquals(KILLED, learned.situation().history().run().lastExit());
        assertEquals(List.of("launch-A0"), learned.change().ended());
    }

    @Test
    void whatNobodyCanSeeAnyMoreIsNotToldToHaveStopped() {
        Exit exit = new Exit(null, null, Exit.Reason.DRIVER_GONE, KILLED.at());
        Situation seen = plugin().wasWanted().knownGood("A").ended("A", exit).situation();
        ObservedInstance ended = seen.instances().getFirst();
        Instance task = ended.instance()
                .withIdentity(new Identity.Task("runner", "allocation/web/0123", "handle", null, "boot"));
        Learned learned = ObservationRecorder.observed(
                seen.withSeen(seen.seen()
                        .withInstances(ImmutableList.of(new ObservedInstance(task, true, ended.liveness())))),
                "");

        assertEquals(List.of("PLUGIN_REMOVE_FAILED A"), told(learned));
        assertTrue(learned.change().events().getFirst().message().contains("allocation/web/0123"));
        assertEquals(List.of("launch-A0"), learned.change().ended());
    }

    @Test
    void aCrashRemembersWhatTheProgramSaidLast() {
        Example crashed =
                plugin().wants("A").knownGood("A").installed("A").active("A").ended("A", KILLED);
        Learned learned = ObservationRecorder.observed(crashed.situation(), "no such table: users");

        assertEquals(
                "process " + KILLED.words() + "; its log ends with: no such table: users",
                learned.situation().history().run().crashes().error());
    }

    @Test
    void anEndThatOnlyTheMachineRemembersWasWrittenDownBefore() {
        Learned learned = look(
                plugin().wants("A").installed("A").ended("A", KILLED),
                process -> new ObservedInstance(process.instance(), false, process.liveness()));

        assertEquals(List.of(), told(learned));
        assertNull(learned.situation().history().run().lastExit());
    }

    @Test
    void aLaunchOfWhichNothingCameIsNoFailureOfWhatWasToBeLaunched() {
        Exit unknown = new Exit(null, null, Exit.Reason.UNKNOWN, NOW);
        Example launched = plugin().wants("A").installed("A").active("A").ended("A", unknown);
        Learned learned = look(
                launched,
                process -> new ObservedInstance(
                        withoutIdentity(process.instance()).withPhase(Phase.CREATED, ""), true, process.liveness()));

        assertEquals(List.of("launch-A0"), learned.change().ended());
        WorkloadHistory history = learned.situation().history();
        assertEquals(Failures.NONE, history.attempts().start());
        assertEquals(Failures.NONE, history.run().crashes());
        assertNull(history.run().lastExit());
        assertEquals(List.of(), told(learned));
    }

    @Test
    void aFailedStartIsToldOfWhatIsDeclaredAndOfNothingThatItReplaced() {
        assertEquals(List.of("PLUGIN_START_FAILED A"), told(endedBeforeItsStart("A")));
        assertEquals(List.of(), told(endedBeforeItsStart("B")));
    }

    private static Learned endedBeforeItsStart(String wanted) {
        Example example = plugin().wants("A").installed("A").active("A").ended("A", KILLED);
        return look(
                wanted.equals("A") ? example : example.wants(wanted),
                process -> new ObservedInstance(
                        process.instance().withPhase(Phase.CREATED, ""), true, process.liveness()));
    }

    @Test
    void whatRunsAndIsNotRememberedIsAdopted() {
        Learned learned = look(
                plugin().wants("A")
                        .provenAsDeclared()
                        .installed("A")
                        .active("A")
                        .runs("A"),
                process -> new ObservedInstance(process.instance(), false, process.liveness()));

        Event event = Iterables.getOnlyElement(learned.change().events());
        assertEquals(EventType.AGENT_ADOPTED, event.type());
        assertEquals("found running with pid 1", event.message());
        assertEquals(
                "launch-A0",
                Iterables.getOnlyElement(learned.change().instances()).launchId());
        assertTrue(onlyProcess(learned).remembered());
    }

    @Test
    void whoALaunchedProcessIsIsWrittenDownOnceItSays() {
        Learned learned = look(
                plugin().wants("A")
                        .provenAsDeclared()
                        .installed("A")
                        .active("A")
                        .runs("A"),
                process -> new ObservedInstance(withoutIdentity(process.instance()), true, process.liveness()));

        assertEquals(
                new ProcessIdentity(1, 1, "boot"),
                Iterables.getOnlyElement(learned.change().instances()).identity());
        assertEquals(List.of(), told(learned));
    }

    @Test
    void whatIsKnownOfAProcessIsNotWrittenAgain() {
        Change change = plugin().wants("A")
                .provenAsDeclared()
                .installed("A")
                .active("A")
                .runs("A")
                .learned()
                .change();
        assertEquals(List.of(), change.instances());
        assertEquals(List.of(), change.events());
    }

    @Test
    void aProcessHasStartedOnceItHasStayedAliveAndThatIsToldOnce() {
        Learned young = process()
                .wants("A")
                .installed("A")
                .runs("A", Phase.CREATED, Duration.ofMillis(999), null)
                .learned();
        assertEquals(Phase.CREATED, onlyProcess(young).instance().phase());

        Learned old = process()
                .wants("A")
                .installed("A")
                .runs("A", Phase.CREATED, Duration.ofSeconds(1), null)
                .learned();
        assertEquals(Phase.STARTED, onlyProcess(old).instance().phase());
        assertEquals(List.of("PLUGIN_STARTED A", "PLUGIN_INSTALLED A"), told(old));

        Learned older = process()
                .wants("A")
                .installed("A")
                .runs("A", Phase.STARTED, Duration.ofSeconds(2), null)
                .learned();
        assertEquals(List.of("PLUGIN_INSTALLED A"), told(older));
    }

    /** What is learned when the processes of an example are seen otherwise. */
    private static Learned look(Example example, UnaryOperator<ObservedInstance> otherwise) {
        Situation situation = example.situation();
        ImmutableList<ObservedInstance> instances =
                situation.instances().stream().map(otherwise).collect(ImmutableList.toImmutableList());
        return ObservationRecorder.observed(situation.withSeen(situation.seen().withInstances(instances)));
    }

    private static ObservedInstance onlyProcess(Learned learned) {
        ObservedInstance process = Iterables.getOnlyElement(learned.situation().instances());
        assertTrue(process.liveness() instanceof Liveness.Running);
        return process;
    }

    private static Instance withoutIdentity(Instance instance) {
        return new Instance(
                instance.launchId(),
                instance.workload(),
                instance.target(),
                instance.revision(),
                instance.directory(),
                instance.inputs(),
                instance.launchedAt(),
                null,
                instance.phase(),
                instance.configHash());
    }

    private static List<String> told(Learned learned) {
        return learned.change().events().stream()
                .map(event -> event.type() + " " + event.revision())
                .toList();
    }
}
