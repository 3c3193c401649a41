package io.homeostat.reconcile.agent.nomad;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.protobuf.Duration;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.nomad.driver.CapabilitiesRequest;
import io.homeostat.proto.nomad.driver.CapabilitiesResponse;
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
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec.NetworkIsolationMode;
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
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaResponse;
import io.homeostat.proto.nomad.driver.TaskDriverStatus;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.proto.nomad.structs.Attribute;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The calls of a Nomad client. Failures are told as it expects them, see {@link TaskFailures}. */
final class DriverService extends DriverImplBase {
    /** Of looks at what a task uses, in milliseconds; each reads all processes. */
    private static final long USUAL_INTERVAL = 1000;

    private static final long SHORTEST_INTERVAL = 100;

    /** Nothing is done before a task is asked for or Init: an older instance may still serve. */
    private final Supplier<NomadTasks> tasks;

    private final Supplier<Path> stateDir;
    private final TaskEvents events;
    private final InstantSource clock;
    private final Ticker ticker;
    private final HostLog log;
    private final ProcFs procFs = new ProcFs();

    DriverService(
            Supplier<NomadTasks> tasks,
            Supplier<Path> stateDir,
            TaskEvents events,
            InstantSource clock,
            Ticker ticker,
            HostLog log) {
        this.tasks = tasks;
        this.stateDir = stateDir;
        this.events = events;
        this.clock = clock;
        this.ticker = ticker;
        this.log = log;
    }

    @Override
    public void init(InitRequest request, StreamObserver<InitResponse> response) {
        answer(response, () -> {
            NomadTasks _ = tasks.get();
            return InitResponse.getDefaultInstance();
        });
    }

    /** Tasks go on; GRPCController.Shutdown ends this process. */
    @Override
    public void shutdown(ShutdownRequest request, StreamObserver<ShutdownResponse> response) {
        answer(response, ShutdownResponse::getDefaultInstance);
    }

    @Override
    public void taskConfigSchema(TaskConfigSchemaRequest request, StreamObserver<TaskConfigSchemaResponse> response) {
        answer(
                response,
                () -> TaskConfigSchemaResponse.newBuilder()
                        .setSpec(TaskSettings.SPEC)
                        .build());
    }

    @Override
    public void capabilities(CapabilitiesRequest request, StreamObserver<CapabilitiesResponse> response) {
        answer(
                response,
                () -> CapabilitiesResponse.newBuilder()
                        .setCapabilities(DriverCapabilities.newBuilder()
                                .setSendSignals(true)
                                .setExec(true)
                                .setFsIsolation(DriverCapabilities.FSIsolation.NONE)
                                .addNetworkIsolationModes(NetworkIsolationMode.HOST)
                                .setMountConfigs(DriverCapabilities.MountConfigs.NO_MOUNTS))
                        .build());
    }

    @Override
    public void fingerprint(FingerprintRequest request, StreamObserver<FingerprintResponse> response) {
        ((ServerCallStreamObserver<FingerprintResponse>) response).setOnCancelHandler(() -> {});
        FingerprintResponse.Builder driver = FingerprintResponse.newBuilder()
                .putAttributes("driver.homeostat", attribute("1"))
                .putAttributes("driver.homeostat.version", attribute(PluginService.version()))
                .putAttributes(
                        "driver.homeostat.java", attribute(Runtime.version().toString()))
                .putAttributes("driver.homeostat.kernel", attribute(System.getProperty("os.version", "")));
        try {
            driver.putAttributes(
                            "driver.homeostat.state_dir",
                            attribute(stateDir.get().toString()))
                    .setHealth(FingerprintResponse.HealthState.HEALTHY)
                    .setHealthDescription("Healthy");
        } catch (CommandFailure e) {
            driver.setHealth(FingerprintResponse.HealthState.UNHEALTHY)
                    .setHealthDescription(String.valueOf(e.getMessage()));
        }
        response.onNext(driver.build());
        // Stays open, as clients expect: it changes with another configuration only, which takes another launch.
    }

    private static Attribute attribute(String text) {
        return Attribute.newBuilder().setStringVal(text).build();
    }

    @Override
    public void startTask(StartTaskRequest request, StreamObserver<StartTaskResponse> response) {
        answer(
                response,
                () -> StartTaskResponse.newBuilder()
                        .setHandle(tasks.get().start(request.getTask()).handle())
                        .build());
    }

    @Override
    public void recoverTask(RecoverTaskRequest request, StreamObserver<RecoverTaskResponse> response) {
        answer(response, () -> {
            tasks.get().recover(request.getHandle());
            return RecoverTaskResponse.getDefaultInstance();
        });
    }

    @Override
    public void waitTask(WaitTaskRequest request, StreamObserver<WaitTaskResponse> response) {
        ServerCallStreamObserver<WaitTaskResponse> call = (ServerCallStreamObserver<WaitTaskResponse>) response;
        try {
            NomadTasks all = tasks.get();
            DrivenTask task = all.get(request.getTaskId());
            CompletableFuture<Ending> end = task.end();
            // Whoever gives up waiting leaves the task as it is.
            call.setOnCancelHandler(() -> end.cancel(false));
            CompletableFuture<Void> _ = end.thenAccept(ending -> {
                // First: one that is recovered again would be told twice, and Nomad would start it twice.
                if (!call.isCancelled()) {
                    all.tells(task);
                }
                call.onNext(WaitTaskResponse.newBuilder()
                        .setResult(ending.result())
                        .setErr(ending.error())
                        .build());
                call.onCompleted();
            });
        } catch (StatusRuntimeException e) {
            call.onError(e);
        }
    }

    @Override
    public void stopTask(StopTaskRequest request, StreamObserver<StopTaskResponse> response) {
        answer(response, () -> {
            tasks.get().stop(request.getTaskId(), duration(request.getTimeout()), request.getSignal());
            return StopTaskResponse.getDefaultInstance();
        });
    }

    @Override
    public void destroyTask(DestroyTaskRequest request, StreamObserver<DestroyTaskResponse> response) {
        answer(response, () -> {
            tasks.get().destroy(request.getTaskId(), request.getForce());
            return DestroyTaskResponse.getDefaultInstance();
        });
    }

    @Override
    public void inspectTask(InspectTaskRequest request, StreamObserver<InspectTaskResponse> response) {
        answer(response, () -> {
            DrivenTask task = tasks.get().get(request.getTaskId());
            return InspectTaskResponse.newBuilder()
                    .setTask(task.status())
                    .setDriver(TaskDriverStatus.newBuilder()
                            .putAttributes("workload", task.workload().toString())
                            .putAttributes("state_dir", stateDir.get().toString()))
                    .build();
        });
    }

    @Override
    public void signalTask(SignalTaskRequest request, StreamObserver<SignalTaskResponse> response) {
        answer(response, () -> {
            NomadTasks all = tasks.get();
            all.signal(all.get(request.getTaskId()), request.getSignal());
            return SignalTaskResponse.getDefaultInstance();
        });
    }

    @Override
    public void taskEvents(TaskEventsRequest request, StreamObserver<DriverTaskEvent> response) {
        events.listen(response);
    }

    @Override
    public void taskStats(TaskStatsRequest request, StreamObserver<TaskStatsResponse> response) {
        Outlet<TaskStatsResponse> out = new Outlet<>(response);
        long asked = duration(request.getCollectionInterval()).toMillis();
        long millis = asked == 0 ? USUAL_INTERVAL : Math.max(SHORTEST_INTERVAL, asked);
        try {
            DrivenTask task = tasks.get().get(request.getTaskId());
            TaskUsage usage = new TaskUsage(procFs, clock, ticker);
            while (!task.hasEnded() && !out.isCancelled()) {
                Optional<ProcessIdentity> process =
                        Optional.ofNullable(task.last().process());
                if (process.isPresent()
                        && !out.send(TaskStatsResponse.newBuilder()
                                .setStats(usage.look(request.getTaskId(), process.get()))
                                .build())) {
                    return;
                }
                out.sleep(millis);
            }
            out.complete();
        } catch (IOException e) {
            out.fail(TaskFailures.failed("what the task uses can't be read: " + e.getMessage()));
        } catch (StatusRuntimeException e) {
            out.fail(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void execTask(ExecTaskRequest request, StreamObserver<ExecTaskResponse> response) {
        answer(response, () -> {
            NomadTasks all = tasks.get();
            DrivenTask task = all.get(request.getTaskId());
            ProcessIdentity beside =
                    all.process(task).orElseThrow(() -> TaskFailures.failed("the task has no process now"));
            return TaskExec.run(
                    TaskExec.command(task, beside, request.getCommandList(), false),
                    duration(request.getTimeout()),
                    ticker,
                    ((ServerCallStreamObserver<ExecTaskResponse>) response)::isCancelled);
        });
    }

    @Override
    public StreamObserver<ExecTaskStreamingRequest> execTaskStreaming(
            StreamObserver<ExecTaskStreamingResponse> response) {
        // A command that does not read its input is not to fill our memory.
        ServerCallStreamObserver<ExecTaskStreamingResponse> stream =
                (ServerCallStreamObserver<ExecTaskStreamingResponse>) response;
        stream.disableAutoRequest();
        stream.request(1);
        return new ExecSession(tasks.get(), new Outlet<>(response), () -> stream.request(1));
    }

    // CreateNetwork and DestroyNetwork are not implemented: tasks are in the host's network, as the capabilities say.

    private static java.time.Duration duration(Duration duration) {
        return java.time.Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
    }

    private interface Call<T> {
        T value() throws IOException, InterruptedException;
    }

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
            response.onError(Status.UNAVAILABLE
                    .withDescription("the driver is ending")
                    .withCause(e)
                    .asRuntimeException());
            return;
        } catch (IOException | CommandFailure e) {
            response.onError(TaskFailures.failed(e.getMessage()));
            return;
        } catch (RuntimeException e) {
            log.warn("a defect of homeostat: " + e);
            response.onError(TaskFailures.failed("a defect of homeostat: " + e));
            return;
        }
        response.onNext(value);
        response.onCompleted();
    }
}
