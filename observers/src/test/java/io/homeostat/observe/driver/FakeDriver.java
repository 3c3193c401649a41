package io.homeostat.observe.driver;

import io.grpc.BindableService;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.observe.goplugin.FakePlugin;
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
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.DriverGrpc.DriverImplBase;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InitResponse;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.InspectTaskResponse;
import io.homeostat.proto.nomad.driver.ShutdownRequest;
import io.homeostat.proto.nomad.driver.ShutdownResponse;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaResponse;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import io.homeostat.proto.nomad.driver.TaskStatus;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A task driver in this process, on a real socket. Unless it is told otherwise it has one optional string {@code path} in both of its
 * schemas and says at once that it is healthy. What it is asked beside that is for {@link FakePlugin} to note, to refuse or not to answer.
 */
public final class FakeDriver implements AutoCloseable {
    public static final Spec SCHEMA = Spec.newBuilder()
            .setAttr(Attr.newBuilder().setName("path").setType("string"))
            .build();

    /** What go-plugin asks for by itself. */
    private static final List<String> CONNECTION = List.of("StreamStdio", "Check");

    public final FakePlugin plugin;
    public final List<SetConfigRequest> configurations = new CopyOnWriteArrayList<>();

    /** What its tasks use is told to these, which have asked for it, once {@link #counting} was said or by the test. */
    public final List<StreamObserver<TaskStatsResponse>> countReaders = new CopyOnWriteArrayList<>();

    public final List<TaskStatsRequest> countRequests = new CopyOnWriteArrayList<>();
    /** Who hears what it tells of its tasks. */
    public final List<StreamObserver<DriverTaskEvent>> listeners = new CopyOnWriteArrayList<>();

    /** Who waits for the end of a task; one that it is asked about runs. */
    public final List<StreamObserver<WaitTaskResponse>> waiting = new CopyOnWriteArrayList<>();

    private volatile List<TaskStatsResponse> counts = List.of();

    private final List<StreamObserver<FingerprintResponse>> readers = new CopyOnWriteArrayList<>();
    private volatile PluginInfoResponse info = PluginInfoResponse.newBuilder()
            .setType(PluginType.DRIVER)
            .addPluginApiVersions("v0.1.0")
            .setPluginVersion("1.2.3")
            .setName("fake")
            .build();
    private volatile List<FingerprintResponse> first = List.of(fingerprint(HealthState.HEALTHY, "Healthy"));

    private FakeDriver(Path socket, BindableService... services) throws Exception {
        BindableService[] all = new BindableService[services.length + 2];
        System.arraycopy(services, 0, all, 2, services.length);
        all[0] = new Base();
        all[1] = new Driver();
        this.plugin = FakePlugin.on(socket, all);
    }

    /** @param services beside those of a driver */
    public static FakeDriver on(Path socket, BindableService... services) throws Exception {
        return new FakeDriver(socket, services);
    }

    /** What such a driver prints first. */
    public static String handshake(Path socket) {
        return "1|2|unix|" + socket + "|grpc|\n";
    }

    public static FingerprintResponse fingerprint(HealthState health, String description) {
        return FingerprintResponse.newBuilder()
                .setHealth(health)
                .setHealthDescription(description)
                .build();
    }

    public FakeDriver info(PluginInfoResponse response) {
        info = response;
        return this;
    }

    /** What it says of itself at the beginning of each stream; nothing makes it silent. */
    public FakeDriver saying(FingerprintResponse... responses) {
        first = List.of(responses);
        return this;
    }

    /** What it says of each task as soon as it is asked. */
    public FakeDriver counting(TaskStatsResponse... responses) {
        counts = List.of(responses);
        return this;
    }

    /** Says something of itself now. */
    void say(FingerprintResponse response) {
        readers.forEach(reader -> reader.onNext(response));
    }

    /** Ends the streams over which it says how it is. */
    void endStreams() {
        former().forEach(StreamObserver::onCompleted);
    }

    void breakStreams(Status status) {
        former().forEach(reader -> reader.onError(status.asException()));
    }

    /** Removes and returns the current readers. They are removed first, because a reader begins again as soon as its stream ends. */
    private List<StreamObserver<FingerprintResponse>> former() {
        List<StreamObserver<FingerprintResponse>> all = List.copyOf(readers);
        readers.removeAll(all);
        return all;
    }

    /** How many read what it says of itself. */
    int readers() {
        return readers.size();
    }

    /** What it was asked, in order, without what every plugin is asked. */
    public List<String> calls() {
        return plugin.calls.stream().filter(call -> !CONNECTION.contains(call)).toList();
    }

    @Override
    public void close() throws InterruptedException {
        plugin.close();
    }

    private static <T> void answer(StreamObserver<T> to, T response) {
        to.onNext(response);
        to.onCompleted();
    }

    private final class Base extends BasePluginImplBase {
        @Override
        public void pluginInfo(PluginInfoRequest request, StreamObserver<PluginInfoResponse> to) {
            answer(to, info);
        }

        @Override
        public void configSchema(ConfigSchemaRequest request, StreamObserver<ConfigSchemaResponse> to) {
            answer(to, ConfigSchemaResponse.newBuilder().setSpec(SCHEMA).build());
        }

        @Override
        public void setConfig(SetConfigRequest request, StreamObserver<SetConfigResponse> to) {
            configurations.add(request);
            answer(to, SetConfigResponse.getDefaultInstance());
        }
    }

    private final class Driver extends DriverImplBase {
        @Override
        public void init(InitRequest request, StreamObserver<InitResponse> to) {
            answer(to, InitResponse.getDefaultInstance());
        }

        @Override
        public void shutdown(ShutdownRequest request, StreamObserver<ShutdownResponse> to) {
            answer(to, ShutdownResponse.getDefaultInstance());
        }

        @Override
        public void taskConfigSchema(TaskConfigSchemaRequest request, StreamObserver<TaskConfigSchemaResponse> to) {
            answer(to, TaskConfigSchemaResponse.newBuilder().setSpec(SCHEMA).build());
        }

        @Override
        public void capabilities(CapabilitiesRequest request, StreamObserver<CapabilitiesResponse> to) {
            answer(
                    to,
                    CapabilitiesResponse.newBuilder()
                            .setCapabilities(DriverCapabilities.newBuilder().setSendSignals(true))
                            .build());
        }

        @Override
        public void inspectTask(InspectTaskRequest request, StreamObserver<InspectTaskResponse> to) {
            answer(
                    to,
                    InspectTaskResponse.newBuilder()
                            .setTask(TaskStatus.newBuilder().setState(TaskState.RUNNING))
                            .build());
        }

        @Override
        public void waitTask(WaitTaskRequest request, StreamObserver<WaitTaskResponse> to) {
            waiting.add(to);
        }

        @Override
        public void taskEvents(TaskEventsRequest request, StreamObserver<DriverTaskEvent> to) {
            ((ServerCallStreamObserver<DriverTaskEvent>) to).setOnCancelHandler(() -> listeners.remove(to));
            listeners.add(to);
        }

        @Override
        public void taskStats(TaskStatsRequest request, StreamObserver<TaskStatsResponse> to) {
            ((ServerCallStreamObserver<TaskStatsResponse>) to).setOnCancelHandler(() -> countReaders.remove(to));
            countRequests.add(request);
            // Before anything is said: who has heard that may look for it here.
            countReaders.add(to);
            counts.forEach(to::onNext);
        }

        @Override
        public void fingerprint(FingerprintRequest request, StreamObserver<FingerprintResponse> to) {
            ((ServerCallStreamObserver<FingerprintResponse>) to).setOnCancelHandler(() -> readers.remove(to));
            readers.add(to);
            first.forEach(to::onNext);
        }
    }
}
