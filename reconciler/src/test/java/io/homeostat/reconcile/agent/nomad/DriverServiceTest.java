package io.homeostat.reconcile.agent.nomad;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.nomad.driver.CapabilitiesRequest;
import io.homeostat.proto.nomad.driver.DestroyTaskRequest;
import io.homeostat.proto.nomad.driver.DestroyTaskResponse;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InitResponse;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.InspectTaskResponse;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec.NetworkIsolationMode;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.RecoverTaskResponse;
import io.homeostat.proto.nomad.driver.ShutdownRequest;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.SignalTaskResponse;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskResponse;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskResponse;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the answer to each call of a Nomad client. */
class DriverServiceTest {
    private static final java.time.Duration LONG = java.time.Duration.ofSeconds(30);

    @TempDir
    Path root;

    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicLong nanos = new AtomicLong();
    private NomadBench bench;
    private DriverService service;

    @BeforeEach
    void open() throws Exception {
        bench = new NomadBench(root);
        service = service(() -> {
            opened.incrementAndGet();
            return bench.tasks;
        });
    }

    private DriverService service(Supplier<NomadTasks> tasks) {
        return new DriverService(
                tasks, () -> Path.of("/state"), bench.events, () -> bench.now, nanos::incrementAndGet, bench.log);
    }

    private static <Q, A> FakeCall<A> call(BiConsumer<Q, StreamObserver<A>> method, Q request) {
        FakeCall<A> call = new FakeCall<>();
        method.accept(request, call);
        return call;
    }

    private FakeCall<WaitTaskResponse> waitFor(String id) {
        return call(
                service::waitTask, WaitTaskRequest.newBuilder().setTaskId(id).build());
    }

    private FakeCall<InspectTaskResponse> inspect() {
        return call(
                service::inspectTask,
                InspectTaskRequest.newBuilder().setTaskId(NomadBench.ID).build());
    }

    private static FakeCall<InitResponse> init(DriverService of) {
        return call(of::init, InitRequest.getDefaultInstance());
    }

    /** The process of these tests, as that of a task. */
    private static ProcessIdentity ourselves() throws Exception {
        ProcFs procFs = new ProcFs();
        long pid = ProcessHandle.current().pid();
        return new ProcessIdentity(pid, procFs.stat(pid).orElseThrow().startTicks(), procFs.bootId());
    }

    private DrivenTask startWith(ProcessIdentity process) throws Exception {
        WorkloadLook look = bench.look(false, process, null, false, "");
        bench.agent.on("declare", () -> bench.agent.change(look));
        return bench.tasks.start(NomadBench.config());
    }

    @Test
    void nothingIsTouchedBeforeInit() {
        call(service::capabilities, CapabilitiesRequest.getDefaultInstance()).answer();
        call(service::taskConfigSchema, TaskConfigSchemaRequest.getDefaultInstance())
                .answer();
        call(service::fingerprint, FingerprintRequest.getDefaultInstance());
        call(service::shutdown, ShutdownRequest.getDefaultInstance()).answer();
        assertEquals(0, opened.get());

        init(service).answer();
        assertEquals(1, opened.get());
    }

    @Test
    void itSaysWhatItCanDo() {
        var can = call(service::capabilities, CapabilitiesRequest.getDefaultInstance())
                .answer()
                .getCapabilities();

        assertTrue(can.getSendSignals());
        assertTrue(can.getExec());
        assertEquals(List.of(NetworkIsolationMode.HOST), can.getNetworkIsolationModesList());
        assertFalse(can.getMustCreateNetwork());
        assertEquals(
                TaskSettings.SPEC,
                call(service::taskConfigSchema, TaskConfigSchemaRequest.getDefaultInstance())
                        .answer()
                        .getSpec());
    }

    @Test
    void itIsHealthyAndTheStreamOfThatStaysOpen() {
        FakeCall<FingerprintResponse> call = call(service::fingerprint, FingerprintRequest.getDefaultInstance());

        assertFalse(call.isOver());
        FingerprintResponse response = call.answers.getFirst();
        assertEquals(HealthState.HEALTHY, response.getHealth());
        assertEquals("1", response.getAttributesOrThrow("driver.homeostat").getStringVal());
        assertEquals(
                "/state",
                response.getAttributesOrThrow("driver.homeostat.state_dir").getStringVal());
        assertEquals(
                PluginService.version(),
                response.getAttributesOrThrow("driver.homeostat.version").getStringVal());
    }

    @Test
    void aTaskIsStartedAndInspected() {
        bench.agent.on("declare", () -> bench.agent.change(bench.running()));

        TaskHandle handle = call(
                        service::startTask,
                        StartTaskRequest.newBuilder()
                                .setTask(NomadBench.config())
                                .build())
                .answer()
                .getHandle();

        assertEquals(NomadBench.config(), handle.getConfig());
        assertEquals(1, handle.getVersion());
        assertEquals(TaskState.RUNNING, handle.getState());
        InspectTaskResponse seen = inspect().answer();
        assertEquals(TaskState.RUNNING, seen.getTask().getState());
        assertEquals(NomadBench.ID, seen.getTask().getId());
        assertEquals("web", seen.getTask().getName());
        assertEquals(NomadBench.workload().toString(), seen.getDriver().getAttributesOrThrow("workload"));
        assertEquals("/state", seen.getDriver().getAttributesOrThrow("state_dir"));
    }

    @Test
    void aTaskOfAFormerInstanceIsTakenUp() throws Exception {
        TaskHandle handle = bench.start().handle();
        open();
        bench.agent.change(bench.running());

        call(
                        service::recoverTask,
                        RecoverTaskRequest.newBuilder().setHandle(handle).build())
                .answer();

        assertEquals(TaskState.RUNNING, inspect().answer().getTask().getState());
    }

    @Test
    void whoWaitsIsToldOfTheEndOnceThatIsWrittenDown() throws Exception {
        bench.start();
        FakeCall<WaitTaskResponse> waits = waitFor(NomadBench.ID);
        assertFalse(waits.isOver());

        bench.agent.change(bench.ended(NomadBench.exit(3)));

        await().atMost(LONG).until(waits::isOver);
        assertEquals(3, waits.answer().getResult().getExitCode());
        assertEquals("", waits.answer().getErr());
        assertTrue(Files.exists(bench.mark()));
        assertEquals(TaskState.EXITED, inspect().answer().getTask().getState());
    }

    @Test
    void whoGivesUpWaitingLeavesTheTaskAloneAndIsNotTold() throws Exception {
        DrivenTask task = bench.start();
        FakeCall<WaitTaskResponse> waits = waitFor(NomadBench.ID);
        waits.cancel();

        bench.agent.change(bench.ended(NomadBench.exit(3)));
        await().atMost(LONG).until(task::hasEnded);

        assertEquals(List.of(), waits.answers);
        assertFalse(Files.exists(bench.mark()));
    }

    @Test
    void aTaskThatIsNotThereCannotBeWaitedForNorInspected() {
        assertEquals(Status.Code.UNKNOWN, waitFor("alloc/other/1").code());
        assertEquals(Status.Code.UNKNOWN, inspect().code());
    }

    @Test
    void aTaskIsStoppedWithTheTimeAndTheSignalOfTheClient() throws Exception {
        bench.start();
        bench.process = (process, signal) -> {
            bench.agent.change(bench.ended(NomadBench.exit(0)));
            return true;
        };

        StopTaskResponse _ = call(
                        service::stopTask,
                        StopTaskRequest.newBuilder()
                                .setTaskId(NomadBench.ID)
                                .setTimeout(Duration.newBuilder().setSeconds(30))
                                .setSignal("SIGINT")
                                .build())
                .answer();

        assertEquals(List.of(2), bench.signals);
    }

    @Test
    void aTaskIsDestroyedByForceOnlyWhenTheClientSaysSo() throws Exception {
        bench.start();
        FakeCall<DestroyTaskResponse> without = call(
                service::destroyTask,
                DestroyTaskRequest.newBuilder().setTaskId(NomadBench.ID).build());
        assertEquals(Status.Code.UNKNOWN, without.code());

        bench.process = (process, signal) -> {
            bench.agent.change(bench.ended(NomadBench.exit(0)));
            return true;
        };
        call(
                        service::destroyTask,
                        DestroyTaskRequest.newBuilder()
                                .setTaskId(NomadBench.ID)
                                .setForce(true)
                                .build())
                .answer();
        assertEquals(Status.Code.UNKNOWN, inspect().code());
    }

    @Test
    void aSignalIsSentToATask() throws Exception {
        bench.start();
        SignalTaskRequest.Builder request = SignalTaskRequest.newBuilder().setTaskId(NomadBench.ID);

        SignalTaskResponse _ =
                call(service::signalTask, request.setSignal("SIGHUP").build()).answer();

        assertEquals(List.of(1), bench.signals);
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                call(service::signalTask, request.setSignal("none").build()).code());
    }

    @Test
    void whoListensHearsOfTasks() throws Exception {
        DrivenTask task = bench.start();
        FakeCall<DriverTaskEvent> listens = call(service::taskEvents, TaskEventsRequest.getDefaultInstance());

        bench.events.tell(task.config(), "something");

        assertEquals("something", listens.answers.getFirst().getMessage());
        assertEquals(
                NomadBench.NOW.getEpochSecond(),
                listens.answers.getFirst().getTimestamp().getSeconds());
    }

    private FakeCall<TaskStatsResponse> statsUntil(FakeCall<TaskStatsResponse> call, long millis) throws Exception {
        service.taskStats(
                TaskStatsRequest.newBuilder()
                        .setTaskId(NomadBench.ID)
                        .setCollectionInterval(Duration.newBuilder().setNanos((int) (millis * 1_000_000)))
                        .build(),
                call);
        return call;
    }

    @Test
    void whatATaskUsesIsToldUntilItEnds() throws Exception {
        DrivenTask task = startWith(ourselves());
        FakeCall<TaskStatsResponse> call = new FakeCall<>();
        Thread ending = Thread.ofVirtual().start(() -> {
            await().atMost(LONG).until(() -> !call.answers.isEmpty());
            task.ended(Ending.of(NomadBench.exit(0)));
        });

        statsUntil(call, 100);

        ending.join();
        assertTrue(call.completed);
        String pid = Long.toString(ProcessHandle.current().pid());
        TaskStatsResponse first = call.answers.getFirst();
        assertTrue(first.getStats().getResourceUsageByPidMap().containsKey(pid));
        assertEquals(NomadBench.ID, first.getStats().getId());
    }

    @Test
    void whoGoesAwayIsToldNoMoreOfWhatATaskUses() throws Exception {
        startWith(ourselves());
        FakeCall<TaskStatsResponse> call = new FakeCall<>();
        call.cancel();

        statsUntil(call, 100);

        assertEquals(List.of(), call.answers);
        assertFalse(call.isOver());
    }

    @Test
    void ofATaskWithoutAProcessNothingIsTold() throws Exception {
        DrivenTask task = bench.start();
        // Seen by the thread that follows the tasks, which may yet have to see that it runs.
        bench.agent.change(bench.pending());
        await().atMost(LONG).until(() -> task.last().process() == null);
        FakeCall<TaskStatsResponse> call = new FakeCall<>();
        Thread ending = Thread.ofVirtual().start(() -> task.ended(Ending.of(NomadBench.exit(0))));

        statsUntil(call, 100);

        ending.join();
        assertTrue(call.completed);
        assertEquals(List.of(), call.answers);
    }

    @Test
    void ofATaskThatIsNotThereNothingIsTold() throws Exception {
        assertEquals(Status.Code.UNKNOWN, statsUntil(new FakeCall<>(), 100).code());
    }

    private FakeCall<ExecTaskResponse> exec(String... command) {
        return call(
                service::execTask,
                ExecTaskRequest.newBuilder()
                        .setTaskId(NomadBench.ID)
                        .addAllCommand(List.of(command))
                        .build());
    }

    @Test
    void aCommandNeedsATaskWithAProcessAndAProgram() throws Exception {
        assertEquals(Status.Code.UNKNOWN, exec("ls").code());

        startWith(ourselves());
        assertEquals(Status.Code.INVALID_ARGUMENT, exec().code());
        assertEquals(Status.Code.INVALID_ARGUMENT, exec("").code());
        assertEquals(Status.Code.UNKNOWN, exec("/no/such/program").code());

        bench.agent.change(bench.pending());
        assertEquals(Status.Code.UNKNOWN, exec("ls").code());
    }

    @Test
    void whatIsToBeReadByACommandIsAskedForOneByOne() {
        FakeCall<ExecTaskStreamingResponse> call = new FakeCall<>();
        StreamObserver<ExecTaskStreamingRequest> input = service.execTaskStreaming(call);

        assertFalse(call.requestsByItself);
        assertEquals(1, call.requested.get());
        input.onNext(ExecTaskStreamingRequest.getDefaultInstance());
        assertEquals(Status.Code.INVALID_ARGUMENT, call.code());
    }

    private Status.Code codeOf(@Nullable RuntimeException failure) {
        return init(service(() -> {
                    throw failure == null ? new IllegalStateException("no failure") : failure;
                }))
                .code();
    }

    @Test
    void failuresAreAnswersAndDefectsAreLogged() {
        assertEquals(Status.Code.UNKNOWN, codeOf(new CommandFailure("cannot start")));
        assertEquals(Status.Code.NOT_FOUND, codeOf(Status.NOT_FOUND.asRuntimeException()));
        assertEquals("", bench.said());

        assertEquals(Status.Code.UNKNOWN, codeOf(null));
        assertTrue(bench.said().contains("no failure"));
    }

    @Test
    void aCallThatIsInterruptedSaysThatTheDriverIsEnding() throws Exception {
        bench.agent.on("declare", () -> bench.agent.change(bench.pending()));
        FakeCall<StartTaskResponse> call = new FakeCall<>();
        AtomicInteger interrupted = new AtomicInteger();
        Thread starting = Thread.ofVirtual().start(() -> {
            service.startTask(
                    StartTaskRequest.newBuilder().setTask(NomadBench.config()).build(), call);
            interrupted.set(Thread.currentThread().isInterrupted() ? 1 : 2);
        });
        await().atMost(LONG).until(() -> !bench.agent.calls().isEmpty());

        starting.interrupt();
        starting.join();

        assertEquals(Status.Code.UNAVAILABLE, call.code());
        assertEquals(1, interrupted.get());
    }

    @Test
    void aHandleThatIsNotOursIsInvalid() {
        FakeCall<RecoverTaskResponse> recover = call(
                service::recoverTask,
                RecoverTaskRequest.newBuilder()
                        .setHandle(TaskHandle.getDefaultInstance())
                        .build());

        assertEquals(Status.Code.INVALID_ARGUMENT, recover.code());
    }
}
