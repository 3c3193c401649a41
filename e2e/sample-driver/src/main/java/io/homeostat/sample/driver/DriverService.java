package io.homeostat.sample.driver;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.driver.CapabilitiesRequest;
import io.homeostat.proto.nomad.driver.CapabilitiesResponse;
import io.homeostat.proto.nomad.driver.CreateNetworkRequest;
import io.homeostat.proto.nomad.driver.CreateNetworkResponse;
import io.homeostat.proto.nomad.driver.DestroyNetworkRequest;
import io.homeostat.proto.nomad.driver.DestroyNetworkResponse;
import io.homeostat.proto.nomad.driver.DestroyTaskRequest;
import io.homeostat.proto.nomad.driver.DestroyTaskResponse;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.DriverGrpc.DriverImplBase;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InitResponse;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.InspectTaskResponse;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.RecoverTaskResponse;
import io.homeostat.proto.nomad.driver.ShutdownRequest;
import io.homeostat.proto.nomad.driver.ShutdownResponse;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.SignalTaskResponse;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskResponse;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskResponse;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaResponse;
import io.homeostat.proto.nomad.driver.TaskDriverStatus;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.proto.nomad.structs.RecoverableError;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/** Runs tasks as the host says, unless a fault is ordered. Says in the log which call it got. */
final class DriverService extends DriverImplBase {
    private static final int SLOW_MILLIS = 3000;

    private static final Duration STATS_INTERVAL = Duration.ofSeconds(1);

    private final Faults ordered;
    private final Fingerprints fingerprints;
    private final TaskEvents events;
    private final Tasks tasks;
    private final Clock clock;
    private final HostLog log;
    private volatile PluginConfig config = PluginConfig.NONE;

    DriverService(Faults ordered, Fingerprints fingerprints, TaskEvents events, Tasks tasks, Clock clock, HostLog log) {
        this.ordered = ordered;
        this.fingerprints = fingerprints;
        this.events = events;
        this.tasks = tasks;
        this.clock = clock;
        this.log = log;
    }

    void configure(PluginConfig newConfig) {
        config = newConfig;
        fingerprints.configure(newConfig.enabled(), faults());
    }

    private Faults faults() {
        return ordered.and(config.faults());
    }

    /** Those of that task, too. */
    private boolean isOrdered(String fault, String taskId) {
        Task task = tasks.find(taskId);
        return faults().has(fault)
                || (task != null && task.state().orderedFaults().has(fault));
    }

    @Override
    public void init(InitRequest request, StreamObserver<InitResponse> response) {
        log.debug("Init");
        answer(response, () -> {
            refuseNewCalls();
            return InitResponse.getDefaultInstance();
        });
    }

    @Override
    public void shutdown(ShutdownRequest request, StreamObserver<ShutdownResponse> response) {
        log.debug("Shutdown");
        answer(response, () -> {
            refuseNewCalls();
            return ShutdownResponse.getDefaultInstance();
        });
    }

    private void refuseNewCalls() {
        if (faults().has("no-init")) {
            throw Status.UNIMPLEMENTED
                    .withDescription("told to be older than this call")
                    .asRuntimeException();
        }
    }

    @Override
    public void taskConfigSchema(TaskConfigSchemaRequest request, StreamObserver<TaskConfigSchemaResponse> response) {
        log.debug("TaskConfigSchema");
        answer(
                response,
                () -> TaskConfigSchemaResponse.newBuilder()
                        .setSpec(Schemas.task())
                        .build());
    }

    @Override
    public void capabilities(CapabilitiesRequest request, StreamObserver<CapabilitiesResponse> response) {
        log.debug("Capabilities");
        answer(
                response,
                () -> CapabilitiesResponse.newBuilder()
                        .setCapabilities(DriverCapabilities.newBuilder()
                                .setSendSignals(!faults().has("no-signals"))
                                .setExec(!faults().has("no-exec"))
                                .setFsIsolation(DriverCapabilities.FSIsolation.NONE)
                                .setMountConfigs(DriverCapabilities.MountConfigs.NO_MOUNTS)
                                .addNetworkIsolationModes(NetworkIsolationSpec.NetworkIsolationMode.HOST)
                                .addNetworkIsolationModes(NetworkIsolationSpec.NetworkIsolationMode.GROUP)
                                .addNetworkIsolationModes(NetworkIsolationSpec.NetworkIsolationMode.NONE)
                                .setMustCreateNetwork(faults().has("create-network")))
                        .build());
    }

    @Override
    public void fingerprint(FingerprintRequest request, StreamObserver<FingerprintResponse> response) {
        log.debug("Fingerprint");
        fingerprints.listen(response);
    }

    @Override
    public void taskEvents(TaskEventsRequest request, StreamObserver<DriverTaskEvent> response) {
        events.listeners().add(response);
        // Only now: who reads it may start a task at once.
        log.debug("TaskEvents");
    }

    @Override
    public void recoverTask(RecoverTaskRequest request, StreamObserver<RecoverTaskResponse> response) {
        String id = request.getHandle().getConfig().getId();
        log.debug("RecoverTask", "task_id", id);
        answer(response, () -> {
            Faults ofTask =
                    DriverState.read(request.getHandle().getDriverState()).orderedFaults();
            if (faults().and(ofTask).has("recover-error")) {
                throw new TaskException("told to refuse RecoverTask");
            }
            tasks.recover(request.getHandle());
            return RecoverTaskResponse.getDefaultInstance();
        });
    }

    @Override
    public void startTask(StartTaskRequest request, StreamObserver<StartTaskResponse> response) {
        TaskConfig task = request.getTask();
        log.debug(
                "StartTask",
                "task_id",
                task.getId(),
                "network",
                task.getNetworkIsolationSpec().getMode() + " "
                        + task.getNetworkIsolationSpec().getLabelsMap());
        TaskOptions options;
        try {
            options = TaskOptions.read(task.getMsgpackDriverConfig());
        } catch (IllegalArgumentException e) {
            response.onError(unknown(e));
            return;
        }
        Faults all = faults().and(options.faults());
        if (all.has("hang-start")) {
            return;
        }
        if (all.has("crash-on-start")) {
            Runtime.getRuntime().halt(Runner.CRASH);
        }
        answer(response, () -> {
            if (all.has("start-error")) {
                throw new TaskException("told to refuse StartTask");
            }
            if (all.has("start-error-recoverable")) {
                throw recoverable();
            }
            if (all.has("slow-start")) {
                pause(all.number("slow-start", SLOW_MILLIS));
            }
            TaskConfig started = all.has("own-output")
                    ? task.toBuilder().clearStdoutPath().clearStderrPath().build()
                    : task;
            TaskHandle handle = tasks.start(started, options, all.has("start-orphan"));
            if (all.has("start-orphan")) {
                throw new TaskException("told to refuse StartTask, with the process running");
            }
            return StartTaskResponse.newBuilder().setHandle(handle).build();
        });
    }

    /** Also when nobody waits for the answer any more. */
    private static void pause(int millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
    }

    private static StatusRuntimeException recoverable() {
        return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                .setCode(Code.FAILED_PRECONDITION_VALUE)
                .setMessage("told to refuse StartTask for now")
                .addDetails(Any.pack(
                        RecoverableError.newBuilder().setRecoverable(true).build()))
                .build());
    }

    @Override
    public void waitTask(WaitTaskRequest request, StreamObserver<WaitTaskResponse> response) {
        String id = request.getTaskId();
        log.debug("WaitTask", "task_id", id);
        Task task = tasks.find(id);
        if (task == null) {
            response.onError(unknown(TaskException.notFound()));
            return;
        }
        if (isOrdered("wait-error", id)) {
            response.onError(unknown(new TaskException("told to refuse WaitTask")));
            return;
        }
        if (isOrdered("wait-shut-down", id)) {
            answer(
                    response,
                    () -> WaitTaskResponse.newBuilder()
                            .setErr("plugin is shut down")
                            .build());
            return;
        }
        CompletableFuture<Void> told = task.end().thenAccept(ending -> {
            response.onNext(WaitTaskResponse.newBuilder()
                    .setResult(ending.result())
                    .setErr(ending.error())
                    .build());
            response.onCompleted();
        });
        ((ServerCallStreamObserver<WaitTaskResponse>) response).setOnCancelHandler(() -> told.cancel(false));
    }

    @Override
    public void stopTask(StopTaskRequest request, StreamObserver<StopTaskResponse> response) {
        String id = request.getTaskId();
        log.debug("StopTask", "task_id", id, "signal", request.getSignal());
        if (isOrdered("hang-stop", id)) {
            return;
        }
        answer(response, () -> {
            Task task = tasks.find(id);
            if (task != null) {
                refuseSignal(id, request.getSignal());
                task.stop(
                        Duration.ofSeconds(
                                request.getTimeout().getSeconds(),
                                request.getTimeout().getNanos()),
                        request.getSignal());
            }
            return StopTaskResponse.getDefaultInstance();
        });
    }

    @Override
    public void signalTask(SignalTaskRequest request, StreamObserver<SignalTaskResponse> response) {
        String id = request.getTaskId();
        log.debug("SignalTask", "task_id", id, "signal", request.getSignal());
        answer(response, () -> {
            refuseSignal(id, request.getSignal());
            tasks.get(id).signal(request.getSignal());
            return SignalTaskResponse.getDefaultInstance();
        });
    }

    private void refuseSignal(String id, String signal) {
        if (isOrdered("unknown-signal", id)) {
            throw new TaskException("unknown signal: " + signal);
        }
    }

    @Override
    public void destroyTask(DestroyTaskRequest request, StreamObserver<DestroyTaskResponse> response) {
        log.debug("DestroyTask", "task_id", request.getTaskId(), "force", Boolean.toString(request.getForce()));
        answer(response, () -> {
            tasks.destroy(request.getTaskId(), request.getForce());
            return DestroyTaskResponse.getDefaultInstance();
        });
    }

    @Override
    public void inspectTask(InspectTaskRequest request, StreamObserver<InspectTaskResponse> response) {
        String id = request.getTaskId();
        log.debug("InspectTask", "task_id", id);
        if (isOrdered("hang-inspect", id)) {
            return;
        }
        answer(response, () -> {
            Task task = tasks.get(id);
            return InspectTaskResponse.newBuilder()
                    .setTask(task.status())
                    .setDriver(TaskDriverStatus.newBuilder()
                            .putAllAttributes(Map.of(
                                    "pid", Long.toString(task.state().pid()),
                                    "executor", Long.toString(task.state().executor()),
                                    "command", task.state().command(),
                                    "greeting", config.greeting()))
                            .putAllAttributes(task.state().hints()))
                    .build();
        });
    }

    @Override
    public void taskStats(TaskStatsRequest request, StreamObserver<TaskStatsResponse> response) {
        String id = request.getTaskId();
        log.debug("TaskStats", "task_id", id);
        if (isOrdered("crash-on-stats", id)) {
            Runtime.getRuntime().halt(Runner.CRASH);
        }
        if (isOrdered("no-stats", id)) {
            response.onError(unknown(new TaskException("stats not implemented for driver")));
            return;
        }
        Task task = tasks.find(id);
        if (task == null) {
            response.onError(unknown(TaskException.notFound()));
            return;
        }
        Duration asked = Duration.ofSeconds(
                request.getCollectionInterval().getSeconds(),
                request.getCollectionInterval().getNanos());
        Outlet<TaskStatsResponse> out = new Outlet<>(response);
        Background.run("stats", () -> stats(task, asked.isZero() ? STATS_INTERVAL : asked, out));
    }

    private void stats(Task task, Duration interval, Outlet<TaskStatsResponse> out) {
        Usage usage = new Usage(task, clock);
        try {
            while (out.send(TaskStatsResponse.newBuilder()
                            .setStats(usage.look())
                            .build())
                    && !isOver(task, interval)) {}
            out.complete();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether it ends within that time. */
    private static boolean isOver(Task task, Duration within) throws InterruptedException {
        try {
            task.end().orTimeout(within.toMillis(), TimeUnit.MILLISECONDS).join();
            return true;
        } catch (CompletionException e) {
            if (e.getCause() instanceof TimeoutException) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public void execTask(ExecTaskRequest request, StreamObserver<ExecTaskResponse> response) {
        log.debug("ExecTask", "task_id", request.getTaskId());
        if (isOrdered("hang-exec", request.getTaskId())) {
            return;
        }
        answer(
                response,
                () -> Exec.run(
                        tasks.get(request.getTaskId()),
                        request.getCommandList(),
                        Duration.ofSeconds(
                                request.getTimeout().getSeconds(),
                                request.getTimeout().getNanos())));
    }

    @Override
    public StreamObserver<ExecTaskStreamingRequest> execTaskStreaming(
            StreamObserver<ExecTaskStreamingResponse> response) {
        log.debug("ExecTaskStreaming");
        Faults ordered = faults();
        if (ordered.has("no-exec-streaming")) {
            response.onError(Status.UNIMPLEMENTED
                    .withDescription("told to be a driver that can't talk with commands")
                    .asRuntimeException());
        }
        if (ordered.has("crash-on-exec")) {
            Runtime.getRuntime().halt(Runner.CRASH);
        }
        return new ExecSession(tasks, new Outlet<>(response), ordered);
    }

    @Override
    public void createNetwork(CreateNetworkRequest request, StreamObserver<CreateNetworkResponse> response) {
        log.debug("CreateNetwork", "alloc_id", request.getAllocId());
        answer(response, () -> {
            refuseNetworks("create-network-error");
            return CreateNetworkResponse.newBuilder()
                    .setIsolationSpec(NetworkIsolationSpec.newBuilder()
                            .setMode(NetworkIsolationSpec.NetworkIsolationMode.GROUP)
                            .setPath("/proc/" + ProcessHandle.current().pid() + "/ns/net")
                            .putLabels("alloc_id", request.getAllocId()))
                    .setCreated(true)
                    .build();
        });
    }

    @Override
    public void destroyNetwork(DestroyNetworkRequest request, StreamObserver<DestroyNetworkResponse> response) {
        log.debug("DestroyNetwork", "alloc_id", request.getAllocId());
        answer(response, () -> {
            refuseNetworks("destroy-network-error");
            return DestroyNetworkResponse.getDefaultInstance();
        });
    }

    private void refuseNetworks(String fault) {
        if (faults().has(fault)) {
            throw Status.UNKNOWN.withDescription("told to fail: " + fault).asRuntimeException();
        }
        if (!faults().has("create-network")) {
            throw Status.UNIMPLEMENTED
                    .withDescription("this driver makes no networks")
                    .asRuntimeException();
        }
    }

    private interface Call<T> {
        T value() throws IOException, InterruptedException;
    }

    /** Whatever goes wrong is UNKNOWN with its words, as the servers of Go say it, unless it is a status already. */
    private <T> void answer(StreamObserver<T> response, Call<T> call) {
        // Otherwise an answer to a call that was given up would be an error here.
        ((ServerCallStreamObserver<T>) response).setOnCancelHandler(() -> {});
        T value;
        try {
            value = call.value();
        } catch (StatusRuntimeException e) {
            response.onError(e);
            return;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            response.onError(unknown(e));
            return;
        } catch (IOException | RuntimeException e) {
            log.warn("failed", "error", e.toString());
            response.onError(unknown(e));
            return;
        }
        response.onNext(value);
        response.onCompleted();
    }

    private static StatusRuntimeException unknown(Exception error) {
        String words = error instanceof TaskException ? error.getMessage() : error.toString();
        return Status.UNKNOWN.withDescription(words).withCause(error).asRuntimeException();
    }
}
