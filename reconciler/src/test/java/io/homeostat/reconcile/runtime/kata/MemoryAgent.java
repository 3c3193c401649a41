package io.homeostat.reconcile.runtime.kata;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.kata.AddARPNeighborsRequest;
import io.homeostat.proto.kata.AgentDetails;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceImplBase;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.DestroySandboxRequest;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.GetMetricsRequest;
import io.homeostat.proto.kata.GetOOMEventRequest;
import io.homeostat.proto.kata.GuestDetailsRequest;
import io.homeostat.proto.kata.GuestDetailsResponse;
import io.homeostat.proto.kata.Interfaces;
import io.homeostat.proto.kata.ListInterfacesRequest;
import io.homeostat.proto.kata.ListRoutesRequest;
import io.homeostat.proto.kata.Metrics;
import io.homeostat.proto.kata.OOMEvent;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.ReadStreamResponse;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.ResumeContainerRequest;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.SetPolicyRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.proto.kata.StatsContainerRequest;
import io.homeostat.proto.kata.StatsContainerResponse;
import io.homeostat.proto.kata.TtyWinResizeRequest;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.UpdateInterfaceRequest;
import io.homeostat.proto.kata.UpdateRoutesRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.proto.kata.WaitProcessResponse;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.proto.kata.WriteStreamResponse;
import io.homeostat.proto.kata.types.Interface;
import io.homeostat.proto.kata.types.Route;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The agent of a {@link MemoryGuest}: it answers as version 4.1.0 does, and its processes are played by the test. */
final class MemoryAgent extends AgentServiceImplBase {
    private static final String CONTAINERS = "/run/kata-containers/";
    private static final String FIFO = "/exec.fifo";

    private final Map<String, MemoryContainer> containers = new ConcurrentHashMap<>();
    private final List<Interface> links = new CopyOnWriteArrayList<>();
    private final List<Route> routes = new CopyOnWriteArrayList<>();
    private final BlockingQueue<String> outOfMemory = new LinkedBlockingQueue<>();
    private final AtomicInteger scrapes = new AtomicInteger();
    private final AtomicReference<@Nullable String> metrics = new AtomicReference<>();
    private final AtomicReference<GuestDetailsResponse> details =
            new AtomicReference<>(GuestDetailsResponse.newBuilder()
                    .setAgentDetails(AgentDetails.newBuilder().setVersion("4.1.0"))
                    .build());
    private volatile boolean sandbox;
    private volatile Runnable whenDestroyed = () -> {};

    private interface Work<A> {
        A run() throws InterruptedException;
    }

    private static <A> void answer(StreamObserver<A> answers, Work<A> work) {
        try {
            answers.onNext(work.run());
            answers.onCompleted();
        } catch (StatusRuntimeException e) {
            answers.onError(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            answers.onError(refusal(Status.INTERNAL, "interrupted"));
        }
    }

    private static void agree(StreamObserver<Empty> answers, Runnable work) {
        answer(answers, () -> {
            work.run();
            return Empty.getDefaultInstance();
        });
    }

    private static StatusRuntimeException refusal(Status status, String words) {
        return status.withDescription(words).asRuntimeException();
    }

    /** Nothing is left of what ran, as after a boot. */
    void reboot() {
        sandbox = false;
        restart();
    }

    /** Another agent answers, which knows of no container. */
    void restart() {
        containers.clear();
        scrapes.set(0);
    }

    boolean hasSandbox() {
        return sandbox;
    }

    void haveSandbox(boolean there) {
        sandbox = there;
    }

    void onDestroyed(Runnable action) {
        whenDestroyed = action;
    }

    Map<String, MemoryContainer> containers() {
        return containers;
    }

    MemoryContainer container(String id) {
        return Objects.requireNonNull(containers.get(id), id);
    }

    List<Interface> links() {
        return links;
    }

    void setScrapes(int count) {
        scrapes.set(count);
    }

    /** Has it tell other metrics than it counts; null: what it counts. */
    void tellMetrics(@Nullable String text) {
        metrics.set(text);
    }

    void tellDetails(GuestDetailsResponse told) {
        details.set(told);
    }

    /** Tells of a container that has run out of memory. */
    void tellOutOfMemory(String container) {
        outOfMemory.add(container);
    }

    private MemoryContainer known(String id, Status status, String words) {
        MemoryContainer container = containers.get(id);
        if (container == null) {
            throw refusal(status, words);
        }
        return container;
    }

    private MemoryContainer known(String id) {
        return known(id, Status.INVALID_ARGUMENT, "\"invalid container id\"");
    }

    private MemoryContainer created(String id) {
        return known(id, Status.INTERNAL, "Invalid container id");
    }

    private MemoryProcess process(String id, String exec) {
        MemoryProcess process =
                known(id, Status.INVALID_ARGUMENT, "InvalidContainerId").process(exec);
        if (process == null) {
            throw refusal(Status.NOT_FOUND, "InvalidExecId");
        }
        return process;
    }

    @Override
    public void createSandbox(CreateSandboxRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> sandbox = true);
    }

    @Override
    public void destroySandbox(DestroySandboxRequest request, StreamObserver<Empty> answers) {
        agree(answers, this::reboot);
        whenDestroyed.run();
    }

    @Override
    public void createContainer(CreateContainerRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {
            if (containers.putIfAbsent(request.getContainerId(), new MemoryContainer(request)) != null) {
                throw refusal(Status.INTERNAL, "exec fifo exists");
            }
        });
    }

    @Override
    public void startContainer(StartContainerRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> created(request.getContainerId()).start());
    }

    @Override
    public void removeContainer(RemoveContainerRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {
            created(request.getContainerId()).kill();
            MemoryContainer _ = containers.remove(request.getContainerId());
        });
    }

    @Override
    public void execProcess(ExecProcessRequest request, StreamObserver<Empty> answers) {
        agree(
                answers,
                () -> created(request.getContainerId())
                        .processes()
                        .put(request.getExecId(), new MemoryProcess(request.getProcess())));
    }

    @Override
    public void signalProcess(SignalProcessRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {
            if (request.getExecId().isEmpty() && request.getSignal() == 9) {
                created(request.getContainerId()).kill();
            } else {
                process(request.getContainerId(), request.getExecId()).signal(request.getSignal());
            }
        });
    }

    @Override
    public void waitProcess(WaitProcessRequest request, StreamObserver<WaitProcessResponse> answers) {
        answer(answers, () -> {
            MemoryProcess process = process(request.getContainerId(), request.getExecId());
            while (process.isRunning()) {
                requireCaller(answers);
                Thread.sleep(1);
            }
            MemoryContainer container = containers.get(request.getContainerId());
            if (container != null) {
                boolean _ = container.processes().values().remove(process);
            }
            return WaitProcessResponse.newBuilder()
                    .setStatus(process.status().getNow(0))
                    .build();
        });
    }

    /** What is not waited for any more is given up. */
    private static void requireCaller(StreamObserver<?> answers) {
        if (((ServerCallStreamObserver<?>) answers).isCancelled()) {
            throw refusal(Status.CANCELLED, "given up");
        }
    }

    @Override
    public void updateContainer(UpdateContainerRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {
            MemoryContainer container = known(request.getContainerId());
            if (request.hasResources()) {
                container.update(request.getResources());
            }
        });
    }

    @Override
    public void statsContainer(StatsContainerRequest request, StreamObserver<StatsContainerResponse> answers) {
        answer(
                answers,
                () -> StatsContainerResponse.newBuilder()
                        .setCgroupStats(known(request.getContainerId()).statistics())
                        .build());
    }

    @Override
    public void pauseContainer(PauseContainerRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {
            MemoryContainer container = known(request.getContainerId());
            if (container.isPaused()) {
                throw refusal(Status.INTERNAL, "failed to pause container: current status is: Paused");
            }
            container.pause(true);
        });
    }

    @Override
    public void resumeContainer(ResumeContainerRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {
            MemoryContainer container = known(request.getContainerId());
            if (!container.isPaused()) {
                throw refusal(Status.INTERNAL, "container status is: Running, not paused");
            }
            container.pause(false);
        });
    }

    @Override
    public void writeStdin(WriteStreamRequest request, StreamObserver<WriteStreamResponse> answers) {
        answer(
                answers,
                () -> WriteStreamResponse.newBuilder()
                        .setLen(process(request.getContainerId(), request.getExecId())
                                .take(request.getData()))
                        .build());
    }

    @Override
    public void closeStdin(CloseStdinRequest request, StreamObserver<Empty> answers) {
        agree(
                answers,
                () -> process(request.getContainerId(), request.getExecId()).endInput());
    }

    @Override
    public void ttyWinResize(TtyWinResizeRequest request, StreamObserver<Empty> answers) {
        agree(
                answers,
                () -> process(request.getContainerId(), request.getExecId())
                        .resize(request.getRow(), request.getColumn()));
    }

    @Override
    public void readStdout(ReadStreamRequest request, StreamObserver<ReadStreamResponse> answers) {
        answer(answers, () -> read(request, false, answers));
    }

    @Override
    public void readStderr(ReadStreamRequest request, StreamObserver<ReadStreamResponse> answers) {
        answer(answers, () -> read(request, true, answers));
    }

    private ReadStreamResponse read(ReadStreamRequest request, boolean isError, StreamObserver<?> answers)
            throws InterruptedException {
        MemoryProcess process = process(request.getContainerId(), request.getExecId());
        Optional<ByteString> next = Optional.empty();
        while (next.isEmpty()) {
            requireCaller(answers);
            next = process.read(isError, ((ServerCallStreamObserver<?>) answers)::isCancelled);
        }
        if (next.get().isEmpty() && process.spec().getTerminal()) {
            throw refusal(Status.INTERNAL, "Input/output error (os error 5)");
        }
        return ReadStreamResponse.newBuilder().setData(next.get()).build();
    }

    @Override
    public void listInterfaces(ListInterfacesRequest request, StreamObserver<Interfaces> answers) {
        answer(answers, () -> Interfaces.newBuilder().addAllInterfaces(links).build());
    }

    @Override
    public void listRoutes(ListRoutesRequest request, StreamObserver<Routes> answers) {
        answer(answers, () -> Routes.newBuilder().addAllRoutes(routes).build());
    }

    @Override
    public void updateInterface(UpdateInterfaceRequest request, StreamObserver<Interface> answers) {
        answer(answers, () -> {
            Interface wanted = request.getInterface();
            links.replaceAll(link -> link.getHwAddr().equals(wanted.getHwAddr()) ? wanted : link);
            return wanted;
        });
    }

    @Override
    public void updateRoutes(UpdateRoutesRequest request, StreamObserver<Routes> answers) {
        answer(answers, () -> {
            routes.addAll(request.getRoutes().getRoutesList());
            return Routes.getDefaultInstance();
        });
    }

    @Override
    public void addARPNeighbors(AddARPNeighborsRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {});
    }

    @Override
    public void getMetrics(GetMetricsRequest request, StreamObserver<Metrics> answers) {
        answer(answers, () -> {
            int count = scrapes.incrementAndGet();
            String told = metrics.get();
            return Metrics.newBuilder()
                    .setMetrics(told == null ? "kata_agent_scrape_count " + count + "\n" : told)
                    .build();
        });
    }

    @Override
    public void getGuestDetails(GuestDetailsRequest request, StreamObserver<GuestDetailsResponse> answers) {
        answer(answers, details::get);
    }

    @Override
    public void getOOMEvent(GetOOMEventRequest request, StreamObserver<OOMEvent> answers) {
        answer(answers, () -> {
            while (true) {
                requireCaller(answers);
                String container = outOfMemory.poll(1, TimeUnit.MILLISECONDS);
                if (container != null) {
                    return OOMEvent.newBuilder().setContainerId(container).build();
                }
            }
        });
    }

    @Override
    public void copyFile(CopyFileRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {});
    }

    @Override
    public void getVolumeStats(VolumeStatsRequest request, StreamObserver<VolumeStatsResponse> answers) {
        answer(answers, () -> {
            if (!exists(request.getVolumeGuestPath())) {
                throw refusal(
                        Status.INTERNAL, "Os { code: 2, kind: NotFound, message: \"No such file or directory\" }");
            }
            return VolumeStatsResponse.getDefaultInstance();
        });
    }

    private boolean exists(String path) {
        if (path.startsWith(CONTAINERS) && path.endsWith(FIFO)) {
            MemoryContainer container =
                    containers.get(path.substring(CONTAINERS.length(), path.length() - FIFO.length()));
            if (container != null) {
                container.free();
            }
            return container != null;
        }
        return path.equals("/run/sandbox-ns/ipc") && sandbox;
    }

    @Override
    public void setPolicy(SetPolicyRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {});
    }

    @Override
    public void setGuestDateTime(SetGuestDateTimeRequest request, StreamObserver<Empty> answers) {
        agree(answers, () -> {});
    }
}
