package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.Relations.Need;
import io.homeostat.reconcile.plan.Step.Wait;
import io.homeostat.reconcile.record.ObservationRecorder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What files that a program's environment comes from do to a plan. */
class FilePlanningTest {
    private static final String FILE = "/run/web.env";
    private static final String TOKEN = "/run/token";
    private static final String FILES = "envFiles: [/run/web.env]\nenv: {TOKEN: {file: /run/token}}";
    private static final ImmutableMap<String, FileContent> THEN = files("A=1\n", "hunter2");
    private static final FileContent GONE = new FileContent.Absent();

    private ImmutableMap<String, FileContent> files = THEN;
    private Relations relations = Relations.NONE;
    private WorkloadHistory history = WorkloadHistory.NONE;
    private @Nullable ObservedInstance instance;
    private Instant now = NOW;

    private static ImmutableMap<String, FileContent> files(String variables, String token) {
        return ImmutableMap.of(FILE, content(variables), TOKEN, content(token));
    }

    private static FileContent content(String text) {
        return FileContent.of(text.getBytes(StandardCharsets.UTF_8));
    }

    private static Declaration declared(String spec) {
        Workload workload = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web, labels: {team: sre}}
                spec:
                  install: local
                  entryPoint: /bin/web
                  %s
                """.formatted(spec.replace("\n", "\n  ")));
        return new Declaration(
                workload, SourceName.APPLIED, 1, CanonicalDocument.of(workload).hash(), ImmutableList.of());
    }

    /** Launched for this, with the files as they are now. */
    private void runs(Declaration declared, Loss... lost) {
        runs(declared, null, lost);
    }

    private void runs(Declaration declared, @Nullable Health health, Loss... lost) {
        Instance launched = new Instance(
                "l1",
                declared.workload().id(),
                declared.hash(),
                "local",
                null,
                new Step.Launch(declared.workload(), declared.hash(), null).inputs(files),
                NOW.minusSeconds(60),
                new ProcessIdentity(1, 1, "boot"),
                Phase.STARTED,
                "");
        Liveness running = new Liveness.Running(
                new ProcessIdentity(1, 1, "boot"), Duration.ofHours(1), true, health, ImmutableSet.copyOf(lost));
        instance = new ObservedInstance(launched, true, running);
        history = history.withLastKnownGood(new LastKnownGood(declared.workload(), declared.hash(), null));
    }

    private WorkloadPlan plan(Declaration declared) {
        return Planner.plan(learned(declared).situation());
    }

    private ObservationRecorder.Learned learned(Declaration declared) {
        WorkloadId id = declared.workload().id();
        ObservedWorkload seen = ObservedWorkload.absent(id)
                .withInstances(instance == null ? ImmutableList.of() : ImmutableList.of(instance))
                .withFiles(files);
        Situation situation = new Situation(
                declared,
                new Policy(false, true),
                seen,
                HostFacts.of("boot", "instance"),
                relations,
                ImmutableSet.of(),
                history,
                null,
                Judgement.checks(declared, history, now),
                7,
                now);
        return ObservationRecorder.observed(situation);
    }

    private String planned(Declaration declared) {
        WorkloadPlan plan = plan(declared);
        String steps = plan.steps().stream().map(Step::word).collect(Collectors.joining(" "));
        return plan.action().word() + " " + plan.reason() + (steps.isEmpty() ? "" : ": " + steps);
    }

    private static Relations needing(Need.State state) {
        return new Relations(
                ImmutableList.of(new Need(WorkloadId.process("db"), state)),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of());
    }

    @Test
    void theSameContentIsNoChange() {
        runs(declared(FILES));

        assertEquals("none AT_DESIRED_STATE", planned(declared(FILES)));
    }

    @Test
    void anotherContentIsARestartThatNamesTheFileAndNoDigest() {
        runs(declared(FILES));
        files = files("A=1\n", "hunter3");

        WorkloadPlan plan = plan(declared(FILES));
        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared(FILES)));
        assertEquals("content of /run/token changed", plan.message());
        assertFalse(plan.reason().isDrift());
        assertFalse(plan.message().contains(digest("hunter3")));
        assertFalse(plan.toString().contains("hunter"));

        files = files("A=2\n", "hunter3");
        assertEquals(
                "content of /run/web.env, /run/token changed",
                plan(declared(FILES)).message());
    }

    private static String digest(String text) {
        return Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString();
    }

    @Test
    void oneFileInPlaceOfAValueOrOfAnotherFileIsAChangeOfTheDeclaration() {
        runs(declared(FILES));

        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared("env: {TOKEN: {file: /run/token}}")));
        runs(declared("env: {TOKEN: /run/token}"));
        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared("env: {TOKEN: {file: /run/token}}")));
    }

    @Test
    void whatAFormerVersionLaunchedWithoutFilesRunsOn() {
        String before = Hashing.sha256()
                .newHasher()
                .putInt(3)
                .putString("A=1", StandardCharsets.UTF_8)
                .hash()
                .toString();

        assertEquals(
                before, LaunchInputs.of(declared("env: {A: \"1\"}").workload()).get("environment"));
    }

    @Test
    void nothingIsLaunchedWithoutAFile() {
        files = ImmutableMap.of(FILE, content("A=1"), TOKEN, GONE);
        WorkloadPlan plan = plan(declared(FILES));

        assertEquals("wait FILE_UNUSABLE: wait", planned(declared(FILES)));
        assertEquals(
                "spec.env.TOKEN can't be read from /run/token: it does not exist; correct the file or the declaration",
                plan.message());
        assertEquals(Wait.Kind.DECLARATION, ((Wait) plan.steps().getFirst()).kind());
    }

    @Test
    void thatNothingIsLaunchedIsAnEventOnceAndThatSomethingRunsOnIsNone() {
        Declaration declared = declared(FILES);
        history = history.withAttempts(declared.generation(), Attempts.of(declared.hash()));
        files = ImmutableMap.of(FILE, GONE, TOKEN, GONE);

        ObservationRecorder.Learned told = ObservationRecorder.planned(learned(declared), plan(declared));
        assertTrue(told.change().events().stream()
                .anyMatch(event -> event.type() == EventType.PLUGIN_START_FAILED
                        && event.message().contains("/run/web.env: ")));
        history = told.situation().history();
        assertEquals(
                ImmutableList.of(),
                ObservationRecorder.planned(learned(declared), plan(declared))
                        .change()
                        .events());

        files = THEN;
        history = WorkloadHistory.NONE.withAttempts(declared.generation(), Attempts.of(declared.hash()));
        runs(declared);
        files = ImmutableMap.of(FILE, GONE, TOKEN, GONE);
        assertEquals(
                ImmutableList.of(),
                ObservationRecorder.planned(learned(declared), plan(declared))
                        .change()
                        .events());
    }

    @Test
    void nothingIsLaunchedWithAFileThatIsWrong() {
        files = files("A=1\nhunter2\n", "");

        String message = plan(declared(FILES)).message();
        assertTrue(message.startsWith("spec.envFiles can't be read from /run/web.env: line 2 of it "), message);
        assertFalse(message.contains("hunter2"), message);
    }

    @Test
    void whoIsWaitedForMayWriteTheFile() {
        files = ImmutableMap.of(FILE, GONE, TOKEN, GONE);
        relations = needing(Need.State.COMING);
        assertEquals("install NOT_INSTALLED: wait launch", planned(declared(FILES + "\ndependsOn: [process/db]")));

        relations = needing(Need.State.WELL);
        assertEquals("wait FILE_UNUSABLE: wait", planned(declared(FILES + "\ndependsOn: [process/db]")));
    }

    @Test
    void whatRunsRunsOnWithoutItsFile() {
        runs(declared(FILES));
        files = ImmutableMap.of(FILE, GONE, TOKEN, content("hunter2"));

        assertEquals("wait FILE_UNUSABLE: wait", planned(declared(FILES)));
        assertTrue(plan(declared(FILES))
                .message()
                .endsWith("it runs on with what it was launched with, and could not be launched again"));

        files = THEN;
        assertEquals("none AT_DESIRED_STATE", planned(declared(FILES)));
        files = files("A=2", "hunter2");
        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared(FILES)));
    }

    @Test
    void aFileThatIsGoneKeepsOtherFilesFromBeingTaken() {
        runs(declared(FILES));
        files = ImmutableMap.of(FILE, GONE, TOKEN, content("hunter3"));

        assertEquals("wait FILE_UNUSABLE: wait", planned(declared(FILES)));
    }

    @Test
    void whatIsDeclaredInsteadIsNotBegunWithoutItsFile() {
        runs(declared(""));
        files = ImmutableMap.of(FILE, GONE, TOKEN, GONE);

        assertEquals("wait FILE_UNUSABLE: wait", planned(declared(FILES)));

        instance = null;
        Exit crash = new Exit(1, null, Exit.Reason.EXITED, NOW.minusSeconds(1));
        history = history.withRun(history.run().withExit(crash));
        assertEquals("restart PROCESS_EXITED: launch", planned(declared(FILES)));
        assertEquals(
                declared("").hash(),
                ((Step.Launch) plan(declared(FILES)).steps().getFirst()).hash());
    }

    @Test
    void aClosedWindowKeepsWhatIsWellAndItIsMaintainedMeanwhile() {
        Declaration declared = declared(FILES + "\nmaintenanceWindow: {start: '02:00', duration: 1h, timezone: UTC}");
        runs(declared);
        files = files("A=2", "hunter2");

        assertEquals("wait WAITING_FOR_WINDOW: wait", planned(declared));
        assertTrue(plan(declared).message().contains("launched with changed"));
        now = Instant.parse("2026-11-21T02:30:00Z");
        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared));

        now = NOW;
        files = THEN;
        runs(declared, Loss.LOG);
        files = files("A=2", "hunter2");
        assertEquals("restart LOG_MISSING: stop launch", planned(declared));
    }

    @Test
    void aProgramThatWritesItsFileItselfIsNotRestartedForEver() {
        Declaration declared = declared(FILES);
        runs(declared);
        files = files("A=2", "hunter2");
        history = history.withRun(RunRecord.NONE.withRepairs(Failures.NONE.failed(NOW, "content changed", false)));

        assertEquals("wait ENVIRONMENT_CHANGED: wait", planned(declared));
        assertTrue(plan(declared)
                .message()
                .startsWith(
                        "a file that it was launched with changed again; it was restarted for that just before, so the"
                                + " workload may change it itself"));
        now = NOW.plus(Duration.ofMinutes(5));
        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared));
    }

    @Test
    void whatIsIllIsReplacedWhateverTheWindow() {
        Declaration declared = declared(FILES + "\nmaintenanceWindow: {start: '02:00', duration: 1h, timezone: UTC}"
                + "\nprobe: {tcp: {address: '127.0.0.1:1'}}");
        runs(declared, Health.failed(Health.Verdict.UNHEALTHY, "no answer", NOW));
        history = history.withRun(RunRecord.NONE.unhealthy(NOW).unhealthy(NOW).unhealthy(NOW));
        files = files("A=2", "hunter2");

        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared));
    }

    @Test
    void whatIsIllAndCouldNotBeLaunchedAgainIsSaidToRunOn() {
        Declaration declared = declared(FILES + "\nprobe: {tcp: {address: '127.0.0.1:1'}}");
        runs(declared, Health.failed(Health.Verdict.UNHEALTHY, "no answer", NOW));
        files = ImmutableMap.of(FILE, GONE, TOKEN, GONE);
        String obstacle = " failed checks); it is not stopped, because it could not be launched again: spec.envFiles";

        assertEquals("wait UNHEALTHY: wait", planned(declared));
        assertTrue(
                plan(declared).message().startsWith("no answer (1 of 3" + obstacle),
                plan(declared).message());
        history = history.withRun(RunRecord.NONE.unhealthy(NOW).unhealthy(NOW).unhealthy(NOW));
        assertEquals("wait UNHEALTHY: wait", planned(declared));
        assertTrue(
                plan(declared).message().startsWith("no answer (3 of 3" + obstacle),
                plan(declared).message());
    }

    @Test
    void aChangeOfAFileTakesOneOfThePlacesOfADisruptionBudget() {
        Declaration declared = declared(FILES + "\nmaxDisruption: {label: team, count: 1}");
        runs(declared);
        files = files("A=2", "hunter2");
        assertEquals("restart ENVIRONMENT_CHANGED: stop launch", planned(declared));

        relations = new Relations(
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(new Need(WorkloadId.process("other"), Need.State.COMING)));
        assertEquals("wait WAITING_FOR_OTHERS: wait", planned(declared));
    }

    @Test
    void aChangeOfAFileWaitsForDependencies() {
        Declaration declared = declared(FILES + "\ndependsOn: [process/db]");
        runs(declared);
        files = files("A=2", "hunter2");

        relations = needing(Need.State.STUCK);
        assertEquals("wait WAITING_FOR_DEPENDENCY: wait", planned(declared));
        relations = needing(Need.State.COMING);
        assertEquals("restart ENVIRONMENT_CHANGED: wait stop launch", planned(declared));
    }

    @Test
    void aOneShotWaitsForItsFilesAndDoesNotRunAgainForThem() {
        Declaration declared = declared(FILES + "\nexecution: {type: oneShot, timeout: 1m, triggers: {startup: true}}");
        files = ImmutableMap.of(FILE, GONE, TOKEN, GONE);
        assertEquals("wait FILE_UNUSABLE: wait", planned(declared));

        files = THEN;
        assertEquals("install NOT_INSTALLED: launch", planned(declared));
        runs(declared);
        String running = planned(declared);
        files = files("A=2", "hunter2");
        assertEquals(running, planned(declared));
    }

    @Test
    void aFileIsNoReasonOfItsOwnToUndo() {
        runs(declared(FILES));
        files = files("A=2", "hunter2");

        assertEquals(Reason.ENVIRONMENT_CHANGED, plan(declared(FILES)).reason());
        Step.Stop stop = (Step.Stop) plan(declared(FILES)).steps().getFirst();
        assertEquals(Step.Stop.Cause.REPLACED, stop.cause());
    }
}
