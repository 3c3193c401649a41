package io.homeostat.reconcile.runtime.task;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause.Kind;
import io.homeostat.observe.driver.FailedStart;
import io.homeostat.observe.process.Account;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.DriverCapabilities.FSIsolation;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.NetworkOverride;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskResponse;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.reconcile.runtime.DriverMachine;
import io.homeostat.reconcile.runtime.FakeTaskDriver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the launch of a task: the checks before it, the notes on it, and the remains of one that failed. */
class TaskLaunchTest extends TaskTestBed {
    private static final Duration LONG = Duration.ofSeconds(30);

    private ActuationFailure refused(String spec) {
        return assertThrows(
                ActuationFailure.class, () -> bench.runtime.prepare(TaskBench.launch(spec), ImmutableSet.of()));
    }

    private ActuationFailure failed(String spec) {
        return assertThrows(ActuationFailure.class, () -> bench.create(spec));
    }

    private Identity.Task noted() {
        return bench.tasks.noted(TaskBench.intended()).orElseThrow();
    }

    private boolean isStartUnanswered() {
        return bench.tasks.starts().mayComeFrom(bench.host.runner(), TaskBench.LAUNCH);
    }

    private ImmutableList<FailedStart> failedStarts() throws Exception {
        return FailedStart.of(bench.host.directory(bench.host.runner()));
    }

    private static DriverCapabilities.Builder capable() {
        return DriverCapabilities.newBuilder().setSendSignals(true).setExec(true);
    }

    @Test
    void theDriverIsAskedOnceEverythingIsWrittenDownThatFindsTheTaskAgain() throws Exception {
        AtomicReference<Identity.Task> before = new AtomicReference<>();
        bench.driver.before("StartTask", () -> {
            before.set(noted());
            assertTrue(isStartUnanswered());
            assertTrue(bench.tasks.begun().contains(TaskBench.LAUNCH));
            assertTrue(Files.isDirectory(bench.place.local()));
            assertTrue(Files.isDirectory(bench.host.groups.group(bench.place.groups())));
            assertTrue(Files.exists(TaskOutputs.out(bench.host.layout.launch(TaskBench.WEB, TaskBench.LAUNCH))));
        });

        bench.create("");

        assertEquals(bench.identity(""), before.get());
        assertEquals(List.of("StartTask"), startAndStop());
    }

    private List<String> startAndStop() {
        return bench.driver.taskCalls().stream()
                .filter(call -> !call.equals("WaitTask"))
                .toList();
    }

    @Test
    void whatTheDriverAnswersIsNotedAndItsEndIsWaitedFor() throws Exception {
        Identity.Task created = bench.create("config: {path: /bin/true}");

        StartTaskRequest asked = bench.driver.last(StartTaskRequest.class);
        TaskHandle handle = TaskHandle.newBuilder()
                .setConfig(asked.getTask())
                .setDriverState(FakeTaskDriver.HANDLE_STATE)
                .build();
        assertEquals(bench.identity(Base64.getEncoder().encodeToString(handle.toByteArray())), created);
        assertEquals(created, noted());
        assertFalse(asked.getTask().getMsgpackDriverConfig().isEmpty());
        assertFalse(isStartUnanswered());
        assertFalse(bench.tasks.begun().contains(TaskBench.LAUNCH));
        await().atMost(LONG).until(() -> bench.driver.count("WaitTask") == 1);
    }

    @Test
    void theNetworkThatTheDriverAnswersWithIsPartOfTheIdentity() throws Exception {
        NetworkOverride network =
                NetworkOverride.newBuilder().setAddr("10.0.0.1").build();
        bench.driver.answering(
                "StartTask",
                StartTaskResponse.newBuilder()
                        .setHandle(TaskHandle.getDefaultInstance())
                        .setNetworkOverride(network)
                        .build());

        Identity.Task created = bench.create("");

        assertEquals(
                network,
                NetworkOverride.parseFrom(Base64.getDecoder().decode(Objects.requireNonNull(created.network()))));
    }

    @Test
    void aDriverThatMakesNoNetworkLeavesNoneInTheIdentity() throws Exception {
        assertNull(bench.create("").network());
    }

    @Test
    void processesThatAnEarlierLaunchLeftAreKilledAndTheirGroupIsMadeAnew() throws Exception {
        bench.host.groups.enter(bench.place.groups());
        Path group = bench.host.groups.group(bench.place.groups());
        Files.writeString(group.resolve("memory.events"), "oom_kill 7\n");

        bench.create("");

        assertEquals(List.of(group), bench.host.groups.killed);
        assertEquals("oom_kill 0\n", Files.readString(group.resolve("memory.events")));
    }

    @Test
    void whetherTheTaskIsInItsGroupsIsWrittenDownWhenItIs() throws Exception {
        bench.create("");
        assertFalse(Files.exists(bench.tasks.groupedNote(TaskBench.intended())));

        bench.driver.before("StartTask", () -> bench.host.groups.enter(bench.place.groups()));
        bench.create("");
        assertTrue(Files.exists(bench.tasks.groupedNote(TaskBench.intended())));
    }

    @Test
    void whatWasInstalledForItIsInItsDirectory() throws Exception {
        Path installed = bench.host.layout.install(TaskBench.WEB, "installed");
        Files.createDirectories(installed);
        Files.writeString(installed.resolve("program"), "content");
        Instance intended = TaskBench.intended();
        Instance withDirectory = new Instance(
                intended.launchId(),
                intended.workload(),
                intended.target(),
                intended.revision(),
                "installed",
                intended.inputs(),
                intended.launchedAt(),
                null,
                intended.phase(),
                "");

        Identity _ =
                bench.runtime.prepare(TaskBench.launch(""), ImmutableSet.of()).create(withDirectory);

        assertEquals("content", Files.readString(bench.place.local().resolve("program")));
    }

    @Test
    void aTaskOfAnImageSeesItsDirectoriesAtTheRootOfThatImage() throws Exception {
        bench.create("");
        String onHost = bench.driver.last(StartTaskRequest.class).getTask().getEnvOrThrow("NOMAD_TASK_DIR");
        bench.driver.capable(
                capable().setFsIsolation(DriverCapabilities.FSIsolation.IMAGE).build());
        bench.host.machine.drivers().forget(DriverMachine.LAUNCH);
        bench.create("");

        assertEquals(bench.place.local().toString(), onHost);
        assertEquals(
                "/local", bench.driver.last(StartTaskRequest.class).getTask().getEnvOrThrow("NOMAD_TASK_DIR"));
    }

    @ParameterizedTest
    @CsvSource({
        "NONE,   '',           0,     0, 700, 0",
        "NONE,   user: root,   0,     0, 700, 0",
        "NONE,   user: nobody, 0,     0, 710, 65534",
        "UNVEIL, user: nobody, 0,     0, 710, 65534",
        "UNVEIL, user: nobodies, 0,   0, 700, 0",
        "CHROOT, user: nobody, 0,     0, 700, 0",
        "IMAGE,  user: nobody, 0,     0, 700, 0",
        "NONE,   '',           65534, 7, 710, 7",
        "IMAGE,  user: daemon, 65534, 7, 710, 7"
    })
    void ofAllUsersItsDirectoriesLetInWhoeverDoesNotGoThereAsRoot(
            FSIsolation isolation, String spec, int uidOfDriver, int gidOfDriver, String mode, int group)
            throws Exception {
        assumeTrue(Account.ourUid() == 0, "only root runs tasks as others");
        bench.driver.capable(capable().setFsIsolation(isolation).build());
        bench.host.runProcessAs(uidOfDriver, gidOfDriver);

        bench.create(spec);

        assertEquals(mode, Integer.toOctalString((int) Files.getAttribute(bench.place.root(), "unix:mode") & 07777));
        assertEquals(group, Files.getAttribute(bench.place.root(), "unix:gid"));
    }

    @Test
    void anIsolationThatIsNotKnownIsRefusedBeforeAnythingIsStarted() {
        bench.driver.capable(capable().setFsIsolationValue(99).build());

        ActuationFailure failure = failed("");

        assertEquals(Kind.CONTENT, failure.failureCause().kind());
        assertFalse(failure.fatal());
        assertEquals(List.of(), bench.driver.taskCalls());
        assertFalse(bench.tasks.begun().contains(TaskBench.LAUNCH));
    }

    @Test
    void aLimitThatTasksCannotHaveIsRefusedWithoutAskingTheDriver() {
        ActuationFailure failure = refused("limits: {pids: 10}");

        assertEquals(Kind.LIMITS, failure.failureCause().kind());
        assertTrue(failure.fatal());
        assertEquals(List.of(), bench.driver.calls);
    }

    @ParameterizedTest
    @CsvSource({"UNHEALTHY", "UNDETECTED"})
    void aDriverThatCannotRunTasksNowIsAReasonToTryAgain(HealthState health) {
        bench.driver.saying(FingerprintResponse.newBuilder().setHealth(health).build());

        ActuationFailure failure = refused("");

        assertEquals(Kind.REFUSED, failure.failureCause().kind());
        assertFalse(failure.fatal());
    }

    @Test
    void aProbeThatTheDriverCannotRunIsRefusedForGood() {
        bench.driver.capable(DriverCapabilities.getDefaultInstance());

        ActuationFailure failure = refused("probe: {exec: {command: [/bin/true]}}");

        assertEquals(Kind.ARGUMENTS, failure.failureCause().kind());
        assertTrue(failure.fatal());
    }

    @Test
    void aConfigurationThatTheSchemaRefusesIsNotHandedToTheDriver() {
        ActuationFailure failure = refused("config: {unknown: 1}");

        assertEquals(Kind.CONTENT, failure.failureCause().kind());
        assertEquals(List.of(), bench.driver.taskCalls());
    }

    @Test
    void aDriverThatDoesNotRunIsNoFaultOfTheTask() throws Exception {
        bench.host.endProcess();

        ActuationFailure failure = refused("");

        assertEquals(Kind.NO_CONNECTION, failure.failureCause().kind());
        assertFalse(failure.fatal());
    }

    @Test
    void aDriverThatGoesAwayWhileItIsAskedIsNoFaultOfTheTask() {
        bench.driver.failing("Capabilities", Status.UNAVAILABLE);

        ActuationFailure failure = refused("");

        assertEquals(Kind.CONNECTION_LOST, failure.failureCause().kind());
        assertFalse(failure.fatal());
    }

    @ParameterizedTest
    @CsvSource({"UNKNOWN, REFUSED, true", "INVALID_ARGUMENT, REFUSED, true", "INTERNAL, REFUSED, false"})
    void aStartThatTheDriverRefusesIsAnsweredAndNotedAsFailed(Status.Code code, Kind kind, boolean fatal)
            throws Exception {
        bench.driver.failing("StartTask", code.toStatus().withDescription("no such image"));

        ActuationFailure failure = failed("");

        assertEquals(kind, failure.failureCause().kind());
        assertEquals(fatal, failure.fatal());
        assertFalse(isStartUnanswered());
        assertEquals("task/web", Iterables.getOnlyElement(failedStarts()).task());
        assertFalse(bench.tasks.begun().contains(TaskBench.LAUNCH));
        assertEquals(bench.identity(""), noted());
    }

    @ParameterizedTest
    @CsvSource({"UNAVAILABLE, CONNECTION_LOST", "DEADLINE_EXCEEDED, TIMED_OUT"})
    void aStartWithoutAnAnswerMayStillHappen(Status.Code code, Kind kind) throws Exception {
        bench.driver.failing("StartTask", code.toStatus());

        ActuationFailure failure = failed("");

        assertEquals(kind, failure.failureCause().kind());
        assertFalse(failure.fatal());
        assertTrue(isStartUnanswered());
        assertEquals(1, failedStarts().size());
    }

    @Test
    void aStartWithoutAHandleHasFailedSinceNobodyCouldTakeItUpAgain() {
        bench.driver.answering("StartTask", StartTaskResponse.getDefaultInstance());

        assertEquals(Kind.CONTENT, failed("").failureCause().kind());

        assertFalse(isStartUnanswered());
    }

    /** It would be in memory as long as the task runs. */
    @Test
    void aHandleThatIsTooLargeIsNotKeptAndItsTaskDestroyed() {
        bench.driver.answering(
                "StartTask",
                StartTaskResponse.newBuilder()
                        .setHandle(TaskHandle.newBuilder().setDriverState(ByteString.copyFrom(new byte[200 << 10])))
                        .build());

        ActuationFailure failure = failed("");

        assertTrue(String.valueOf(failure.getMessage()).contains("a handle of 200 KiB"), failure.getMessage());
        assertTrue(
                bench.driver.calls.stream().anyMatch(call -> call.startsWith("DestroyTask")),
                bench.driver.calls::toString);
        assertFalse(isStartUnanswered());
    }

    @Test
    void aStartThatSucceedsClearsTheFailuresBefore() throws Exception {
        bench.driver.failing("StartTask", Status.UNKNOWN);
        ActuationFailure _ = failed("");
        bench.driver.recovering("StartTask");

        bench.create("");

        assertEquals(ImmutableList.of(), failedStarts());
    }

    @Test
    void secretsOfTheTaskAreNotNotedWithItsFailure() throws Exception {
        bench.driver.failing("StartTask", Status.UNKNOWN.withDescription("bad token s3cr3t-value-1"));

        ActuationFailure _ = failed("env: {API_TOKEN: s3cr3t-value-1}");

        assertFalse(failedStarts().getFirst().words().contains("s3cr3t-value-1"));
        assertTrue(failedStarts().getFirst().words().contains("bad token"));
    }

    @Test
    void aLaunchDirectoryThatCannotBeWrittenFailsTheLaunch() throws Exception {
        Path state = bench.host.layout.workloadState(TaskBench.WEB);
        Files.createDirectories(Objects.requireNonNull(state.getParent()));
        Files.writeString(state, "in the way");

        ActuationFailure failure = failed("");

        assertFalse(failure.fatal());
        assertEquals(List.of(), bench.driver.taskCalls());
        assertFalse(bench.tasks.begun().contains(TaskBench.LAUNCH));
    }

    @ParameterizedTest
    @CsvSource({"'{memory: 64Mi, required: true}'", "'{memoryMax: 64Mi, memory: 32Mi, required: true}'"})
    void requiredLimitsThatCannotBeEnforcedKeepTheTaskFromStarting(String limits) throws Exception {
        withoutController("memory");

        ActuationFailure failure = failed("limits: " + limits);

        assertEquals(Kind.LIMITS, failure.failureCause().kind());
        assertFalse(failure.fatal());
        assertEquals(List.of(), bench.driver.taskCalls());
    }

    private void withoutController(String controller) throws Exception {
        Path root = bench.host.groups.cgroups().root();
        for (String file : List.of("cgroup.controllers", "cgroup.subtree_control")) {
            Files.writeString(
                    root.resolve(file), Files.readString(root.resolve(file)).replace(controller + " ", ""));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "memory, '{memory: 64Mi}'",
        "io, '{memory: 64Mi, required: true}'",
        "memory, '{required: true, cpu: 10%}'"
    })
    void aControllerThatIsNotNeededOrNotRequiredIsNoReasonNotToStart(String controller, String limits)
            throws Exception {
        withoutController(controller);

        bench.create("limits: " + limits);

        assertEquals(List.of("StartTask"), startAndStop());
    }

    @Test
    void aProcessorLimitThatIsRequiredNeedsItsController() throws Exception {
        withoutController("cpu");

        assertEquals(
                Kind.LIMITS,
                failed("limits: {cpu: 10%, required: true}").failureCause().kind());
    }

    @Test
    void aMachineWithoutControlGroupsStartsNothingThatRequiresLimits() throws Exception {
        Files.delete(bench.host.groups.cgroups().root().resolve("cgroup.controllers"));

        assertEquals(
                Kind.LIMITS, failed("limits: {required: true}").failureCause().kind());
        bench.create("limits: {memory: 64Mi}");
        assertEquals(List.of("StartTask"), startAndStop());
    }

    @Test
    void processorsThatAreTakenAreAReasonToTryAgain() throws Exception {
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "one processor always stays shared");
        bench.host.groups.processors = "0";

        ActuationFailure failure = failed("limits: {cores: 1}");

        assertEquals(Kind.LIMITS, failure.failureCause().kind());
        assertFalse(failure.fatal());
    }

    @Test
    void theMostMemoryThatItMayHaveIsTheLimitOfItsGroup() throws Exception {
        bench.create("limits: {memory: 32Mi, memoryMax: 64Mi}");

        assertEquals(
                Integer.toString(64 << 20),
                Files.readString(bench.host.groups.group(bench.place.groups()).resolve("memory.max"))
                        .strip());
    }

    @Test
    void whatAnEarlierLaunchLeftIsDestroyedFirst() throws Exception {
        Instance earlier = DriverMachine.task(TaskBench.WEB, "fedcba9876543210", bench.identity(TaskBench.HANDLE));
        bench.launches.write(earlier);

        bench.create("");

        assertEquals(List.of("DestroyTask", "StartTask"), startAndStop());
        assertEquals(Optional.empty(), bench.tasks.noted(earlier));
    }

    @Test
    void whatAnEarlierLaunchLeftIsNoReasonNotToStart() throws Exception {
        Instance earlier = DriverMachine.task(TaskBench.WEB, "fedcba9876543210", bench.identity(TaskBench.HANDLE));
        bench.launches.write(earlier);
        bench.driver.failing("DestroyTask", Status.UNAVAILABLE);

        bench.create("");

        assertEquals(List.of("DestroyTask", "StartTask"), startAndStop());
        assertTrue(bench.tasks.noted(earlier).isPresent());
    }
}
