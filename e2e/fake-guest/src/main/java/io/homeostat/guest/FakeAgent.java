package io.homeostat.guest;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.guest.FakeContainer.Phase;
import io.homeostat.proto.kata.AddARPNeighborsRequest;
import io.homeostat.proto.kata.AddSwapPathRequest;
import io.homeostat.proto.kata.AddSwapRequest;
import io.homeostat.proto.kata.AgentDetails;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceImplBase;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.CpuStats;
import io.homeostat.proto.kata.CpuUsage;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.DestroySandboxRequest;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.GetDiagnosticDataRequest;
import io.homeostat.proto.kata.GetDiagnosticDataResponse;
import io.homeostat.proto.kata.GetIPTablesRequest;
import io.homeostat.proto.kata.GetIPTablesResponse;
import io.homeostat.proto.kata.GetMetricsRequest;
import io.homeostat.proto.kata.GetOOMEventRequest;
import io.homeostat.proto.kata.GuestDetailsRequest;
import io.homeostat.proto.kata.GuestDetailsResponse;
import io.homeostat.proto.kata.Interfaces;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.ListInterfacesRequest;
import io.homeostat.proto.kata.ListRoutesRequest;
import io.homeostat.proto.kata.MemAgentCompactConfig;
import io.homeostat.proto.kata.MemAgentMemcgConfig;
import io.homeostat.proto.kata.MemHotplugByProbeRequest;
import io.homeostat.proto.kata.MemoryData;
import io.homeostat.proto.kata.MemoryStats;
import io.homeostat.proto.kata.Metrics;
import io.homeostat.proto.kata.OOMEvent;
import io.homeostat.proto.kata.OnlineCPUMemRequest;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.PidsStats;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.ReadStreamResponse;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.RemoveStaleVirtiofsShareMountsRequest;
import io.homeostat.proto.kata.ReseedRandomDevRequest;
import io.homeostat.proto.kata.ResizeVolumeRequest;
import io.homeostat.proto.kata.ResumeContainerRequest;
import io.homeostat.proto.kata.Routes;
import io.homeostat.proto.kata.SetGuestDateTimeRequest;
import io.homeostat.proto.kata.SetIPTablesRequest;
import io.homeostat.proto.kata.SetIPTablesResponse;
import io.homeostat.proto.kata.SetPolicyRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.proto.kata.StatsContainerRequest;
import io.homeostat.proto.kata.StatsContainerResponse;
import io.homeostat.proto.kata.TtyWinResizeRequest;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.UpdateEphemeralMountsRequest;
import io.homeostat.proto.kata.UpdateInterfaceRequest;
import io.homeostat.proto.kata.UpdateRoutesRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.proto.kata.WaitProcessResponse;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.proto.kata.WriteStreamResponse;
import io.homeostat.proto.kata.types.Interface;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The agent. Most calls hold one lock, and some never let go of it: a second StartContainer until somebody looks at the container's pipe,
 * and ExecProcess in a paused container until the machine ends.
 */
public final class FakeAgent extends AgentServiceImplBase {
    private static final String CONTAINERS = "/run/kata-containers/";
    private static final String SHARED = "/run/kata-containers/shared/containers/";

    /** As st_mode has them. */
    private static final int TYPE = 0170000;

    private static final int DIRECTORY = 0040000;
    private static final int LINK = 0120000;

    private static final String NO_FILE = "Os { code: 2, kind: NotFound, message: \"No such file or directory\" }";

    private final Path files;
    private final ReentrantLock lock = new ReentrantLock();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final FakeNetwork network = new FakeNetwork();
    private final Map<String, FakeContainer> containers = new ConcurrentHashMap<>();
    private final List<FakeContainer> orphans = new CopyOnWriteArrayList<>();
    /** The one whose namespace of processes others share. */
    private final AtomicReference<@Nullable FakeContainer> initial = new AtomicReference<>();

    private final BlockingQueue<String> outOfMemory = new LinkedBlockingQueue<>();
    private final AtomicInteger scrapes = new AtomicInteger();
    private final List<CreateContainerRequest> askedForContainers = new CopyOnWriteArrayList<>();
    private volatile boolean sandbox;
    private volatile CreateSandboxRequest asked = CreateSandboxRequest.getDefaultInstance();
    private volatile boolean clockMayBeSet;
    private volatile boolean endsBeforeItsStart;
    private volatile Instant clock = Instant.EPOCH;
    private volatile Runnable whenDestroyed = () -> {};

    FakeAgent(Path files) {
        this.files = files;
    }

    void onDestroyed(Runnable action) {
        whenDestroyed = action;
    }

    /** The machine gets a network interface. */
    public void plugIn(String name, String hwAddr) {
        network.plugIn(name, hwAddr);
    }

    /** It may set the clock of its machine, as where it is no mere process of another one. */
    public void letSetClock() {
        clockMayBeSet = true;
    }

    /** What time it was told last. */
    public Instant clock() {
        return clock;
    }

    /** As what it was asked for a sandbox. */
    public CreateSandboxRequest askedFor() {
        return asked;
    }

    /** As what it was asked for containers, the last one last. */
    public List<CreateContainerRequest> containersAskedFor() {
        return List.copyOf(askedForContainers);
    }

    /** The ids of the containers that there are. */
    public Set<String> containers() {
        return Set.copyOf(containers.keySet());
    }

    /** What a container may use now. */
    public LinuxResources resources(String container) {
        return known(container).resources();
    }

    /** Somebody else gives a container other limits. */
    public void limit(String container, LinuxResources resources) {
        known(container).update(resources);
    }

    /** Whether a container is paused. */
    public boolean isPaused(String container) {
        return known(container).phase() == Phase.PAUSED;
    }

    /** Whether there is a sandbox. */
    public boolean hasSandbox() {
        return sandbox;
    }

    /** How its interfaces and routes are, and were not made by anybody else. */
    public FakeNetwork network() {
        return network;
    }

    /** The kernel kills a container's processes for want of memory. */
    public void runOutOfMemory(String container) {
        known(container).kill();
        outOfMemory.add(container);
    }

    /** The same, which the agent does not notice, as for the first one with control groups of version 1. */
    public void runOutOfMemoryUnnoticed(String container) {
        known(container).exhaust();
        known(container).kill();
    }

    /** It uses all the memory that it may, as it may, and goes on. */
    public void useAllMemory(String container) {
        known(container).exhaust();
    }

    /** What waits to be started from now on is killed before that, as for want of memory. */
    public void endBeforeStart(boolean ends) {
        endsBeforeItsStart = ends;
    }

    /** Whether what was in a container's root file system was deleted under it. */
    public boolean isEmptied(String container) {
        return known(container).isEmptied();
    }

    /** Another agent: what runs goes on, and nobody can reach it. */
    void forget() {
        orphans.addAll(containers.values());
        containers.clear();
        scrapes.set(0);
    }

    /** The machine ends, and all that is in it. */
    void end() {
        ended.countDown();
        containers.values().forEach(FakeContainer::kill);
        orphans.forEach(FakeContainer::kill);
    }

    private interface Work<A> {
        A run() throws IOException, InterruptedException, ExecutionException;
    }

    private static <A> void answer(StreamObserver<A> answers, Work<A> work) {
        try {
            answers.onNext(work.run());
            answers.onCompleted();
        } catch (StatusRuntimeException e) {
            answers.onError(e);
        } catch (IOException | ExecutionException e) {
            answers.onError(refusal(Status.INTERNAL, String.valueOf(e.getMessage())));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            answers.onError(refusal(Status.INTERNAL, "interrupted"));
        }
    }

    /** The same under the lock. */
    private <A> void locked(StreamObserver<A> answers, Work<A> work) {
        answer(answers, () -> {
            lock.lock();
            try {
                return work.run();
            } finally {
                lock.unlock();
            }
        });
    }

    private static StatusRuntimeException refusal(Status status, String words) {
        return status.withDescription(words).asRuntimeException();
    }

    private static StatusRuntimeException internal(String words) {
        return refusal(Status.INTERNAL, words);
    }

    private FakeContainer known(String id, Status status, String words) {
        FakeContainer container = containers.get(id);
        if (container == null) {
            throw refusal(status, words);
        }
        return container;
    }

    /** As the calls say it that change a container as a whole. */
    private FakeContainer known(String id) {
        return known(id, Status.INVALID_ARGUMENT, "\"invalid container id\"");
    }

    private FakeContainer created(String id) {
        return known(id, Status.INTERNAL, "Invalid container id");
    }

    /** Who asks for it waits for the lock, and not for what is done with it then. */
    private FakeProcess lookUp(String id, String exec) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            return process(id, exec);
        } finally {
            lock.unlock();
        }
    }

    private FakeProcess process(String id, String exec) {
        FakeContainer container = known(id, Status.INVALID_ARGUMENT, "InvalidContainerId");
        FakeProcess process = container.process(exec);
        if (process == null) {
            throw refusal(
                    Status.NOT_FOUND, exec.isEmpty() || exec.equals(id) ? "InitProcessNotFound" : "InvalidExecId");
        }
        return process;
    }

    /** Another host has made it a sandbox. */
    public void takeForSomebodyElse() {
        lock.lock();
        try {
            sandbox = true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void createSandbox(CreateSandboxRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            if (sandbox) {
                // It begins with deleting, and finds out after that.
                containers.values().forEach(FakeContainer::empty);
                throw internal("setup persistent IPC namespace");
            }
            sandbox = true;
            asked = request;
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void destroySandbox(DestroySandboxRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            sandbox = false;
            end();
            return Empty.getDefaultInstance();
        });
        // Not before: what ends the connection would be faster than its answer.
        Thread.startVirtualThread(whenDestroyed);
    }

    @Override
    public void createContainer(CreateContainerRequest request, StreamObserver<Empty> answers) {
        String id = request.getContainerId();
        locked(answers, () -> {
            if (!id.matches("[\\p{L}\\p{N}][\\p{L}\\p{N}._-]+")) {
                throw internal("invalid container ID " + id);
            }
            io.homeostat.proto.kata.Process spec = request.getOCI().getProcess();
            if (!spec.hasCapabilities()) {
                throw internal("no capabilities");
            }
            neverAnsweredIfUnknown(spec.getCapabilities());
            askedForContainers.add(request);
            FakeContainer former = containers.remove(id);
            if (former != null) {
                former.kill();
                throw internal("exec fifo exists");
            }
            FakeContainer made = new FakeContainer(
                    id, new FakeProcess(spec, true), request.getOCI().getLinux().getResources());
            if (request.getSandboxPidns() && !initial.compareAndSet(null, made)) {
                CompletableFuture<Integer> end =
                        Objects.requireNonNull(initial.get()).first().status();
                if (end.isDone()) {
                    throw internal("ENOENT: No such file or directory");
                }
                // The kernel kills all that is in a namespace with its first process.
                CompletableFuture<Integer> _ = end.whenComplete((_, _) -> made.kill());
            }
            containers.put(id, made);
            if (endsBeforeItsStart) {
                made.kill();
            }
            return Empty.getDefaultInstance();
        });
    }

    /** A handler that panics has let go of the lock, and has no answer. */
    private void neverAnsweredIfUnknown(LinuxCapabilities capabilities) {
        for (String name : capabilities.getBoundingList()) {
            if (!name.matches("(CAP_)?[A-Z_]+")) {
                lock.unlock();
                Uninterruptibles.awaitUninterruptibly(ended);
                lock.lock();
            }
        }
    }

    @Override
    public void startContainer(StartContainerRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            FakeContainer container = created(request.getContainerId());
            if (container.phase() != Phase.CREATED || container.first().hasEnded()) {
                // Nobody reads the pipe that it writes to any more.
                awaitEither(container.fifo());
                return Empty.getDefaultInstance();
            }
            container.first().start();
            container.become(Phase.RUNNING);
            return Empty.getDefaultInstance();
        });
    }

    private void awaitEither(CountDownLatch latch) throws InterruptedException {
        while (latch.getCount() > 0 && ended.getCount() > 0) {
            Thread.sleep(1);
        }
    }

    @Override
    public void removeContainer(RemoveContainerRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            FakeContainer container = created(request.getContainerId());
            container.kill();
            containers.remove(request.getContainerId());
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void execProcess(ExecProcessRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            FakeContainer container = created(request.getContainerId());
            if (container.phase() == Phase.PAUSED) {
                Uninterruptibles.awaitUninterruptibly(ended);
            }
            FakeProcess process = new FakeProcess(request.getProcess(), false);
            if (container.processes().putIfAbsent(request.getExecId(), process) != null) {
                throw internal("exec_id '" + request.getExecId() + "' already exists");
            }
            process.start();
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void signalProcess(SignalProcessRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            int signal = request.getSignal();
            if (request.getExecId().isEmpty() && signal == 9) {
                FakeContainer container = known(
                        request.getContainerId(), Status.INTERNAL, "Invalid container id " + request.getContainerId());
                for (FakeProcess process : container.processes().values()) {
                    process.signal(signal);
                }
                return Empty.getDefaultInstance();
            }
            FakeProcess process = process(request.getContainerId(), request.getExecId());
            if (signal < 0 || signal > 64) {
                throw internal("EINVAL: Invalid argument");
            }
            process.signal(signal);
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void waitProcess(WaitProcessRequest request, StreamObserver<WaitProcessResponse> answers) {
        answer(answers, () -> {
            FakeProcess process = lookUp(request.getContainerId(), request.getExecId());
            int status = process.status().get();
            FakeContainer container = created(request.getContainerId());
            container.forget(process);
            return WaitProcessResponse.newBuilder().setStatus(status).build();
        });
    }

    @Override
    public void updateContainer(UpdateContainerRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            FakeContainer container = known(request.getContainerId());
            if (request.hasResources()) {
                container.update(request.getResources());
            }
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void statsContainer(StatsContainerRequest request, StreamObserver<StatsContainerResponse> answers) {
        locked(answers, () -> {
            FakeContainer container = known(request.getContainerId());
            long running = container.processes().values().stream()
                    .filter(FakeProcess::isRunning)
                    .count();
            return StatsContainerResponse.newBuilder()
                    .setCgroupStats(CgroupStats.newBuilder()
                            .setPidsStats(PidsStats.newBuilder().setCurrent(running))
                            .setCpuStats(CpuStats.newBuilder()
                                    .setCpuUsage(CpuUsage.newBuilder()
                                            .setTotalUsage(container.first().processorNanos())))
                            .setMemoryStats(MemoryStats.newBuilder()
                                    .setUsage(MemoryData.newBuilder()
                                            .setUsage(running << 20)
                                            .setMaxUsage(
                                                    container.isExhausted()
                                                            ? container
                                                                    .resources()
                                                                    .getMemory()
                                                                    .getLimit()
                                                            : 0)
                                            .setLimit(container
                                                    .resources()
                                                    .getMemory()
                                                    .getLimit()))))
                    .build();
        });
    }

    @Override
    public void pauseContainer(PauseContainerRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            FakeContainer container = known(request.getContainerId());
            if (container.phase() == Phase.PAUSED) {
                throw internal("failed to pause container: current status is: Paused");
            }
            container.first().signal(19);
            container.become(Phase.PAUSED);
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void resumeContainer(ResumeContainerRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            FakeContainer container = known(request.getContainerId());
            if (container.phase() != Phase.PAUSED) {
                throw internal("container status is: Running, not paused");
            }
            container.first().signal(18);
            container.become(Phase.RUNNING);
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void writeStdin(WriteStreamRequest request, StreamObserver<WriteStreamResponse> answers) {
        answer(answers, () -> {
            FakeContainer container = created(request.getContainerId());
            FakeProcess process = container.process(request.getExecId());
            if (process == null) {
                throw internal("Process not found: init process missing");
            }
            OutputStream input = process.input();
            request.getData().writeTo(input);
            input.flush();
            return WriteStreamResponse.newBuilder()
                    .setLen(request.getData().size())
                    .build();
        });
    }

    @Override
    public void closeStdin(CloseStdinRequest request, StreamObserver<Empty> answers) {
        answer(answers, () -> {
            lookUp(request.getContainerId(), request.getExecId()).endInput();
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void readStdout(ReadStreamRequest request, StreamObserver<ReadStreamResponse> answers) {
        answer(answers, () -> read(request, false, (ServerCallStreamObserver<?>) answers));
    }

    @Override
    public void readStderr(ReadStreamRequest request, StreamObserver<ReadStreamResponse> answers) {
        answer(answers, () -> read(request, true, (ServerCallStreamObserver<?>) answers));
    }

    /** Of a call that is given up nothing is read any more. */
    private ReadStreamResponse read(ReadStreamRequest request, boolean standardError, ServerCallStreamObserver<?> call)
            throws IOException, InterruptedException {
        FakeProcess process = lookUp(request.getContainerId(), request.getExecId());
        InputStream output = process.output(standardError);
        byte[] bytes = new byte[request.getLen()];
        int length;
        try {
            length = read(process, output, bytes, call);
        } catch (IOException e) {
            // Java closes the pipe of a process that has ended, and offers what was left in it a moment later.
            Thread.sleep(10);
            length = output.read(bytes);
        }
        if (length < 0 && process.hasTerminal()) {
            throw internal("Input/output error (os error 5)");
        }
        return ReadStreamResponse.newBuilder()
                .setData(ByteString.copyFrom(bytes, 0, Math.max(0, length)))
                .build();
    }

    private static int read(FakeProcess process, InputStream output, byte[] bytes, ServerCallStreamObserver<?> call)
            throws IOException, InterruptedException {
        while (process.isRunning() && output.available() == 0) {
            if (call.isCancelled()) {
                throw refusal(Status.CANCELLED, "given up");
            }
            Thread.sleep(1);
        }
        return output.read(bytes);
    }

    @Override
    public void ttyWinResize(TtyWinResizeRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            FakeProcess process = process(request.getContainerId(), request.getExecId());
            if (!process.hasTerminal()) {
                throw refusal(Status.UNAVAILABLE, "\"no tty\"");
            }
            process.resize(request.getRow(), request.getColumn());
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void listInterfaces(ListInterfacesRequest request, StreamObserver<Interfaces> answers) {
        locked(
                answers,
                () -> Interfaces.newBuilder().addAllInterfaces(network.links()).build());
    }

    @Override
    public void listRoutes(ListRoutesRequest request, StreamObserver<Routes> answers) {
        locked(answers, () -> Routes.newBuilder().addAllRoutes(network.routes()).build());
    }

    @Override
    public void updateInterface(UpdateInterfaceRequest request, StreamObserver<Interface> answers) {
        locked(answers, () -> {
            if (!request.hasInterface()) {
                throw refusal(Status.INVALID_ARGUMENT, "\"empty update interface request\"");
            }
            network.update(request.getInterface());
            return request.getInterface();
        });
    }

    @Override
    public void updateRoutes(UpdateRoutesRequest request, StreamObserver<Routes> answers) {
        locked(answers, () -> {
            if (!request.hasRoutes()) {
                throw refusal(Status.INVALID_ARGUMENT, "\"empty update routes request\"");
            }
            network.add(request.getRoutes().getRoutesList());
            return Routes.newBuilder().addAllRoutes(network.routes()).build();
        });
    }

    @Override
    public void addARPNeighbors(AddARPNeighborsRequest request, StreamObserver<Empty> answers) {
        locked(answers, Empty::getDefaultInstance);
    }

    @Override
    public void getMetrics(GetMetricsRequest request, StreamObserver<Metrics> answers) {
        answer(
                answers,
                () -> Metrics.newBuilder()
                        .setMetrics(metrics(scrapes.incrementAndGet()))
                        .build());
    }

    /** As if it worked a tenth of a second from one time to the next, with a GiB of two in use. */
    private static String metrics(int scrape) {
        return """
                # TYPE kata_agent_scrape_count counter
                kata_agent_scrape_count %d
                # TYPE kata_guest_cpu_time gauge
                kata_guest_cpu_time{cpu="total",item="idle"} 5000
                kata_guest_cpu_time{cpu="total",item="user"} %d
                # TYPE kata_guest_meminfo gauge
                kata_guest_meminfo{item="mem_available"} 1073741824
                kata_guest_meminfo{item="mem_total"} 2147483648
                """.formatted(scrape, 10 * scrape);
    }

    @Override
    public void getGuestDetails(GuestDetailsRequest request, StreamObserver<GuestDetailsResponse> answers) {
        answer(
                answers,
                () -> GuestDetailsResponse.newBuilder()
                        .setMemBlockSizeBytes(request.getMemBlockSize() ? 128 << 20 : 0)
                        .setAgentDetails(AgentDetails.newBuilder().setVersion("4.1.0"))
                        .build());
    }

    @Override
    public void getOOMEvent(GetOOMEventRequest request, StreamObserver<OOMEvent> answers) {
        answer(answers, () -> {
            while (ended.getCount() > 0) {
                String container = outOfMemory.poll(10, TimeUnit.MILLISECONDS);
                if (container != null) {
                    return OOMEvent.newBuilder().setContainerId(container).build();
                }
            }
            throw internal("\"\"");
        });
    }

    @Override
    public void copyFile(CopyFileRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            Path target = copied(request.getPath());
            int type = request.getFileMode() & TYPE;
            if (type == DIRECTORY) {
                Files.createDirectories(target);
                return Empty.getDefaultInstance();
            }
            Files.createDirectories(target.getParent());
            if (type == LINK) {
                Files.deleteIfExists(target);
                Files.createSymbolicLink(target, Path.of(request.getData().toStringUtf8()));
                return Empty.getDefaultInstance();
            }
            Path part =
                    target.resolveSibling(target.getFileName().toString().replaceFirst("(?<=.)\\.[^.]*$", "") + ".tmp");
            try (FileChannel file = FileChannel.open(part, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                ByteBuffer data = request.getData().asReadOnlyByteBuffer();
                long at = request.getOffset();
                while (data.hasRemaining()) {
                    at += file.write(data, at);
                }
            }
            if (request.getOffset() + request.getData().size() == request.getFileSize()) {
                Files.setPosixFilePermissions(part, permissions(request.getFileMode()));
                Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
            }
            return Empty.getDefaultInstance();
        });
    }

    private static Set<PosixFilePermission> permissions(int mode) {
        EnumSet<PosixFilePermission> result = EnumSet.noneOf(PosixFilePermission.class);
        int bit = 0400;
        // In the order of the bits, the highest first.
        for (PosixFilePermission one : PosixFilePermission.values()) {
            if ((mode & bit) != 0) {
                result.add(one);
            }
            bit >>= 1;
        }
        return result;
    }

    private Path copied(String path) {
        Path result = files.resolve(path.startsWith(SHARED) ? path.substring(SHARED.length()) : "")
                .normalize();
        if (!path.startsWith(SHARED) || !result.startsWith(files)) {
            throw internal("removing \"" + SHARED + "\" prefix from " + path);
        }
        return result;
    }

    /** Without the lock: looking at the pipe of a start that hangs is what ends it. */
    @Override
    public void getVolumeStats(VolumeStatsRequest request, StreamObserver<VolumeStatsResponse> answers) {
        answer(answers, () -> {
            if (!exists(request.getVolumeGuestPath())) {
                throw internal(NO_FILE);
            }
            return VolumeStatsResponse.getDefaultInstance();
        });
    }

    private boolean exists(String path) {
        if (path.startsWith(SHARED)) {
            return Files.exists(copied(path));
        }
        if (path.startsWith(CONTAINERS)) {
            int end = path.indexOf('/', CONTAINERS.length());
            FakeContainer container = end < 0 ? null : containers.get(path.substring(CONTAINERS.length(), end));
            if (container != null && path.endsWith("/exec.fifo")) {
                container.fifo().countDown();
            }
            return container != null;
        }
        return path.equals("/run/sandbox-ns/ipc") && sandbox;
    }

    @Override
    public void resizeVolume(ResizeVolumeRequest request, StreamObserver<Empty> answers) {
        answers.onError(refusal(Status.UNIMPLEMENTED, "\"resize_volume is not implemented in kata-agent\""));
    }

    @Override
    public void setPolicy(SetPolicyRequest request, StreamObserver<Empty> answers) {
        answers.onError(refusal(Status.NOT_FOUND, "/grpc.AgentService/SetPolicy is not supported"));
    }

    @Override
    public void setGuestDateTime(SetGuestDateTimeRequest request, StreamObserver<Empty> answers) {
        if (!clockMayBeSet) {
            answers.onError(internal("EPERM: Operation not permitted"));
            return;
        }
        clock = Instant.ofEpochSecond(request.getSec(), request.getUsec() * 1000);
        answers.onNext(Empty.getDefaultInstance());
        answers.onCompleted();
    }

    @Override
    public void getIPTables(GetIPTablesRequest request, StreamObserver<GetIPTablesResponse> answers) {
        answers.onError(internal(NO_FILE));
    }

    @Override
    public void setIPTables(SetIPTablesRequest request, StreamObserver<SetIPTablesResponse> answers) {
        answers.onError(internal(NO_FILE));
    }

    @Override
    public void memAgentMemcgSet(MemAgentMemcgConfig request, StreamObserver<Empty> answers) {
        answers.onError(internal("mem-agent is disabled"));
    }

    @Override
    public void memAgentCompactSet(MemAgentCompactConfig request, StreamObserver<Empty> answers) {
        answers.onError(internal("mem-agent is disabled"));
    }

    @Override
    public void getDiagnosticData(GetDiagnosticDataRequest request, StreamObserver<GetDiagnosticDataResponse> answers) {
        locked(answers, () -> {
            if (!request.getLogType().equals("termination_log")) {
                throw refusal(
                        Status.INVALID_ARGUMENT, "\"unsupported diagnostic log_type: " + request.getLogType() + "\"");
            }
            known(request.getContainerId(), Status.INTERNAL, "Invalid container id: " + request.getContainerId());
            return GetDiagnosticDataResponse.getDefaultInstance();
        });
    }

    @Override
    public void onlineCPUMem(OnlineCPUMemRequest request, StreamObserver<Empty> answers) {
        locked(answers, Empty::getDefaultInstance);
    }

    @Override
    public void memHotplugByProbe(MemHotplugByProbeRequest request, StreamObserver<Empty> answers) {
        locked(answers, Empty::getDefaultInstance);
    }

    @Override
    public void reseedRandomDev(ReseedRandomDevRequest request, StreamObserver<Empty> answers) {
        locked(answers, () -> {
            if (request.getData().isEmpty()) {
                throw internal("missing entropy data");
            }
            return Empty.getDefaultInstance();
        });
    }

    @Override
    public void updateEphemeralMounts(UpdateEphemeralMountsRequest request, StreamObserver<Empty> answers) {
        locked(answers, Empty::getDefaultInstance);
    }

    @Override
    public void removeStaleVirtiofsShareMounts(
            RemoveStaleVirtiofsShareMountsRequest request, StreamObserver<Empty> answers) {
        locked(answers, Empty::getDefaultInstance);
    }

    @Override
    public void addSwapPath(AddSwapPathRequest request, StreamObserver<Empty> answers) {
        answers.onError(internal("libc::swapon get error No such file or directory (os error 2)"));
    }

    @Override
    public void addSwap(AddSwapRequest request, StreamObserver<Empty> answers) {
        answers.onError(internal("libc::swapon get error No such file or directory (os error 2)"));
    }
}
