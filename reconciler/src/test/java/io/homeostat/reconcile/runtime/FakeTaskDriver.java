package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableSet;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.base.BasePluginGrpc.BasePluginImplBase;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.base.ConfigSchemaResponse;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.PluginInfoResponse;
import io.homeostat.proto.nomad.base.PluginType;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.base.SetConfigResponse;
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
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InitResponse;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.InspectTaskResponse;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec.NetworkIsolationMode;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.RecoverTaskResponse;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.SignalTaskResponse;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskResponse;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskResponse;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaResponse;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import io.homeostat.proto.nomad.driver.TaskStatus;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Spec;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * A task driver in this process, on a unix socket. It keeps tasks as a real one does, without running anything, and notes what it is asked.
 * A test can have any call fail, be answered otherwise, or do something before it is answered.
 */
public final class FakeTaskDriver implements AutoCloseable {
    /** The schema of the driver and of its tasks: one optional string. */
    public static final Spec SCHEMA = Spec.newBuilder()
            .setAttr(Attr.newBuilder().setName("path").setType("string"))
            .build();

    public static final ByteString HANDLE_STATE = ByteString.copyFromUtf8("state of the driver");

    /** Calls that are not about a task. */
    private static final ImmutableSet<String> QUESTIONS = ImmutableSet.of(
            "PluginInfo", "ConfigSchema", "Init", "Fingerprint", "TaskConfigSchema", "Capabilities", "TaskEvents");

    /** Does something before a call is answered. */
    @FunctionalInterface
    public interface Hook {
        void run() throws Exception;
    }

    /** The names of the calls, in order. */
    public final List<String> calls = new CopyOnWriteArrayList<>();

    public final List<Message> requests = new CopyOnWriteArrayList<>();

    /** The state of each task that the driver knows, by its id. */
    public final Map<String, TaskStatus> tasks = new ConcurrentHashMap<>();

    private final Map<String, StreamObserver<WaitTaskResponse>> waiting = new ConcurrentHashMap<>();
    private final List<StreamObserver<DriverTaskEvent>> listeners = new CopyOnWriteArrayList<>();
    private final Map<String, Status> failures = new ConcurrentHashMap<>();
    private final Map<String, Message> answers = new ConcurrentHashMap<>();
    private final Map<String, Hook> hooks = new ConcurrentHashMap<>();
    private final ExecutorService serving = Executors.newVirtualThreadPerTaskExecutor();
    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Server server;
    private volatile DriverCapabilities capabilities = DriverCapabilities.newBuilder()
            .setSendSignals(true)
            .setExec(true)
            .addNetworkIsolationModes(NetworkIsolationMode.HOST)
            .build();
    private volatile FingerprintResponse fingerprint = FingerprintResponse.newBuilder()
            .setHealth(HealthState.HEALTHY)
            .setHealthDescription("Healthy")
            .build();
    private volatile BiConsumer<ExecTaskStreamingRequest, StreamObserver<ExecTaskStreamingResponse>> executing =
            (request, to) -> {};

    public FakeTaskDriver(Path socket) throws Exception {
        server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .executor(serving)
                .addService(new Base())
                .addService(new Driver())
                .build()
                .start();
    }

    /** The first line that such a driver prints. */
    public static String handshake(Path socket) {
        return "1|2|unix|" + socket + "|grpc|\n";
    }

    public FakeTaskDriver capable(DriverCapabilities capable) {
        capabilities = capable;
        return this;
    }

    public FakeTaskDriver saying(FingerprintResponse first) {
        fingerprint = first;
        return this;
    }

    /** Fails a call from now on. */
    public FakeTaskDriver failing(String call, Status status) {
        failures.put(call, status);
        return this;
    }

    /** Answers a call as it should, from now on. */
    public void recovering(String call) {
        failures.remove(call);
        answers.remove(call);
        hooks.remove(call);
    }

    /** Answers a call with this from now on; what it should do is not done. */
    public FakeTaskDriver answering(String call, Message answer) {
        answers.put(call, answer);
        return this;
    }

    /** Does something each time before a call is answered. */
    public FakeTaskDriver before(String call, Hook hook) {
        hooks.put(call, hook);
        return this;
    }

    /** Sets who handles what is sent to commands in tasks. */
    public FakeTaskDriver executing(
            BiConsumer<ExecTaskStreamingRequest, StreamObserver<ExecTaskStreamingResponse>> command) {
        executing = command;
        return this;
    }

    /** The names of the calls that are about tasks, in order. */
    public List<String> taskCalls() {
        return calls.stream().filter(call -> !QUESTIONS.contains(call)).toList();
    }

    public long count(String call) {
        return calls.stream().filter(call::equals).count();
    }

    /** The last request of a type. */
    public <T extends Message> T last(Class<T> type) {
        return requests.reversed().stream()
                .filter(type::isInstance)
                .map(type::cast)
                .findFirst()
                .orElseThrow();
    }

    /** A task that runs. */
    public void run(String taskId) {
        tasks.put(
                taskId,
                TaskStatus.newBuilder()
                        .setId(taskId)
                        .setState(TaskState.RUNNING)
                        .build());
    }

    /** Ends a task, and tells whoever waits for that. */
    public void end(String taskId, ExitResult result) {
        exited(taskId, result);
        StreamObserver<WaitTaskResponse> waits = waiting.remove(taskId);
        if (waits != null) {
            answer(waits, WaitTaskResponse.newBuilder().setResult(result).build());
        }
    }

    /** A task that has ended, of which nobody is told who does not ask. */
    public void exited(String taskId, ExitResult result) {
        tasks.put(
                taskId,
                TaskStatus.newBuilder()
                        .setId(taskId)
                        .setState(TaskState.EXITED)
                        .setResult(result)
                        .build());
    }

    /** Tells all listeners of something. */
    public void tell(DriverTaskEvent event) {
        listeners.forEach(listener -> listener.onNext(event));
    }

    public int listeners() {
        return listeners.size();
    }

    @Override
    public void close() throws InterruptedException {
        server.shutdownNow().awaitTermination();
        serving.shutdownNow();
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await();
    }

    private static <T> void answer(StreamObserver<T> to, T response) {
        to.onNext(response);
        to.onCompleted();
    }

    /** Returns whether the call has yet to be answered. */
    @SuppressWarnings("unchecked")
    private <T> boolean goesOn(String call, Message request, StreamObserver<T> to) {
        calls.add(call);
        requests.add(request);
        Hook hook = hooks.get(call);
        if (hook != null) {
            try {
                hook.run();
            } catch (Exception e) {
                to.onError(Status.INTERNAL.withDescription(String.valueOf(e)).asException());
                return false;
            }
        }
        Status failure = failures.get(call);
        if (failure != null) {
            to.onError(failure.asException());
            return false;
        }
        Message answer = answers.get(call);
        if (answer != null) {
            answer(to, (T) answer);
        }
        return answer == null;
    }

    private <T> void serve(String call, Message request, StreamObserver<T> to, Supplier<T> response) {
        if (goesOn(call, request, to)) {
            answer(to, response.get());
        }
    }

    private final class Base extends BasePluginImplBase {
        @Override
        public void pluginInfo(PluginInfoRequest request, StreamObserver<PluginInfoResponse> to) {
            serve(
                    "PluginInfo",
                    request,
                    to,
                    () -> PluginInfoResponse.newBuilder()
                            .setType(PluginType.DRIVER)
                            .addPluginApiVersions("v0.1.0")
                            .setPluginVersion("1.2.3")
                            .setName("fake")
                            .build());
        }

        @Override
        public void configSchema(ConfigSchemaRequest request, StreamObserver<ConfigSchemaResponse> to) {
            serve(
                    "ConfigSchema",
                    request,
                    to,
                    () -> ConfigSchemaResponse.newBuilder().setSpec(SCHEMA).build());
        }

        @Override
        public void setConfig(SetConfigRequest request, StreamObserver<SetConfigResponse> to) {
            serve("SetConfig", request, to, SetConfigResponse::getDefaultInstance);
        }
    }

    private final class Driver extends DriverImplBase {
        @Override
        public void init(InitRequest request, StreamObserver<InitResponse> to) {
            serve("Init", request, to, InitResponse::getDefaultInstance);
        }

        @Override
        public void taskConfigSchema(TaskConfigSchemaRequest request, StreamObserver<TaskConfigSchemaResponse> to) {
            serve(
                    "TaskConfigSchema",
                    request,
                    to,
                    () -> TaskConfigSchemaResponse.newBuilder().setSpec(SCHEMA).build());
        }

        @Override
        public void capabilities(CapabilitiesRequest request, StreamObserver<CapabilitiesResponse> to) {
            serve(
                    "Capabilities",
                    request,
                    to,
                    () -> CapabilitiesResponse.newBuilder()
                            .setCapabilities(capabilities)
                            .build());
        }

        /** Reports the health once; the stream stays open. */
        @Override
        public void fingerprint(FingerprintRequest request, StreamObserver<FingerprintResponse> to) {
            if (goesOn("Fingerprint", request, to)) {
                to.onNext(fingerprint);
            }
        }

        @Override
        public void startTask(StartTaskRequest request, StreamObserver<StartTaskResponse> to) {
            serve("StartTask", request, to, () -> {
                run(request.getTask().getId());
                return StartTaskResponse.newBuilder()
                        .setHandle(TaskHandle.newBuilder()
                                .setConfig(request.getTask())
                                .setDriverState(HANDLE_STATE))
                        .build();
            });
        }

        @Override
        public void recoverTask(RecoverTaskRequest request, StreamObserver<RecoverTaskResponse> to) {
            serve("RecoverTask", request, to, () -> {
                run(request.getTaskId());
                return RecoverTaskResponse.getDefaultInstance();
            });
        }

        @Override
        public void waitTask(WaitTaskRequest request, StreamObserver<WaitTaskResponse> to) {
            // Before the call is noted: whoever sees it there may end the task at once.
            waiting.put(request.getTaskId(), to);
            if (!goesOn("WaitTask", request, to)) {
                waiting.remove(request.getTaskId(), to);
            }
        }

        @Override
        public void stopTask(StopTaskRequest request, StreamObserver<StopTaskResponse> to) {
            serve("StopTask", request, to, () -> {
                end(request.getTaskId(), ExitResult.newBuilder().setSignal(15).build());
                return StopTaskResponse.getDefaultInstance();
            });
        }

        @Override
        public void destroyTask(DestroyTaskRequest request, StreamObserver<DestroyTaskResponse> to) {
            serve("DestroyTask", request, to, () -> {
                tasks.remove(request.getTaskId());
                return DestroyTaskResponse.getDefaultInstance();
            });
        }

        @Override
        public void inspectTask(InspectTaskRequest request, StreamObserver<InspectTaskResponse> to) {
            if (!goesOn("InspectTask", request, to)) {
                return;
            }
            TaskStatus status = tasks.get(request.getTaskId());
            if (status == null) {
                to.onError(Status.UNKNOWN
                        .withDescription("task not found for given id")
                        .asException());
            } else {
                answer(to, InspectTaskResponse.newBuilder().setTask(status).build());
            }
        }

        @Override
        public void signalTask(SignalTaskRequest request, StreamObserver<SignalTaskResponse> to) {
            serve("SignalTask", request, to, SignalTaskResponse::getDefaultInstance);
        }

        @Override
        public void execTask(ExecTaskRequest request, StreamObserver<ExecTaskResponse> to) {
            serve(
                    "ExecTask",
                    request,
                    to,
                    () -> ExecTaskResponse.newBuilder()
                            .setResult(ExitResult.getDefaultInstance())
                            .build());
        }

        @Override
        public StreamObserver<ExecTaskStreamingRequest> execTaskStreaming(
                StreamObserver<ExecTaskStreamingResponse> to) {
            calls.add("ExecTaskStreaming");
            Status failure = failures.get("ExecTaskStreaming");
            if (failure != null) {
                to.onError(failure.asException());
            }
            return new StreamObserver<>() {
                @Override
                public void onNext(ExecTaskStreamingRequest request) {
                    requests.add(request);
                    if (failure == null) {
                        executing.accept(request, to);
                    }
                }

                @Override
                public void onError(Throwable problem) {
                    calls.add("ExecTaskStreaming was given up");
                }

                @Override
                public void onCompleted() {
                    // Clients cancel.
                }
            };
        }

        @Override
        public void createNetwork(CreateNetworkRequest request, StreamObserver<CreateNetworkResponse> to) {
            serve(
                    "CreateNetwork",
                    request,
                    to,
                    () -> CreateNetworkResponse.newBuilder()
                            .setIsolationSpec(NetworkIsolationSpec.newBuilder()
                                    .setMode(NetworkIsolationMode.GROUP)
                                    .setPath("/made/for/" + request.getAllocId()))
                            .setCreated(true)
                            .build());
        }

        @Override
        public void destroyNetwork(DestroyNetworkRequest request, StreamObserver<DestroyNetworkResponse> to) {
            serve("DestroyNetwork", request, to, DestroyNetworkResponse::getDefaultInstance);
        }

        @Override
        public void taskEvents(TaskEventsRequest request, StreamObserver<DriverTaskEvent> to) {
            if (goesOn("TaskEvents", request, to)) {
                listeners.add(to);
            }
        }

        /** Reports the usage once; the stream stays open. */
        @Override
        public void taskStats(TaskStatsRequest request, StreamObserver<TaskStatsResponse> to) {
            calls.add("TaskStats");
            requests.add(request);
            Message answer = answers.get("TaskStats");
            if (answer != null) {
                to.onNext((TaskStatsResponse) answer);
            }
        }
    }
}
