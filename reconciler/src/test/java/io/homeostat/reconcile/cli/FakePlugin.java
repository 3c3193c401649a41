package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;

import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.proto.plugin.ApplyRequest;
import io.homeostat.proto.plugin.ApplyResponse;
import io.homeostat.proto.plugin.GetStatusRequest;
import io.homeostat.proto.plugin.GuestAgentPluginGrpc.GuestAgentPluginImplBase;
import io.homeostat.proto.plugin.StartRequest;
import io.homeostat.proto.plugin.StartResponse;
import io.homeostat.proto.plugin.Status;
import io.homeostat.proto.plugin.StopRequest;
import io.homeostat.proto.plugin.StopResponse;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A plugin whose process is a shell that sleeps, and whose words are said from within this process: a JVM for each would be dear. */
final class FakePlugin extends GuestAgentPluginImplBase implements AutoCloseable {
    private static final String REVISION = "1";

    final List<ApplyRequest> applied = new CopyOnWriteArrayList<>();
    final List<GetStatusRequest> asked = new CopyOnWriteArrayList<>();
    final List<StopRequest> stopped = new CopyOnWriteArrayList<>();
    volatile io.grpc.@Nullable Status refusal;
    volatile Function<StartRequest, io.grpc.Status> starting = request -> io.grpc.Status.OK;
    volatile Function<GetStatusRequest, Status> status = request -> Status.getDefaultInstance();

    private final Path socket;
    private final Path born;
    private final String name;
    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Thread midwife;
    private volatile boolean closed;
    private volatile long pid;
    private @Nullable Server server;

    FakePlugin(Shell shell, String name) {
        this.name = name;
        this.socket = shell.layout().socket(WorkloadId.plugin(name), REVISION);
        this.born = shell.state().resolveSibling(name + ".born");
        this.midwife = Thread.ofPlatform().name("fake-" + name).start(this::attend);
    }

    /** Its document. */
    String document() {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: %s}
                spec:
                  revision: "%s"
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "echo $$ > %s.part; mv %s.part %s; exec sleep 600"]
                  config: {string: "its own"}
                  stop: {timeout: 5s}
                """.formatted(name, REVISION, born, born, born);
    }

    /** Listens for each process that comes to life, as that would do itself. */
    private void attend() {
        try {
            while (!closed) {
                await().forever().pollInterval(Duration.ofMillis(20)).until(() -> closed || Files.exists(born));
                if (!closed) {
                    pid = Long.parseLong(Files.readString(born).strip());
                    Files.delete(born);
                    listen();
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private synchronized void listen() throws IOException {
        if (server != null) {
            server.shutdownNow();
        }
        server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .directExecutor()
                .addService(this)
                .build()
                .start();
    }

    @Override
    public void start(StartRequest request, StreamObserver<StartResponse> answer) {
        io.grpc.Status refused = starting.apply(request);
        if (!refused.isOk()) {
            answer.onError(new StatusRuntimeException(refused));
            return;
        }
        answer(StartResponse.getDefaultInstance(), answer);
    }

    @Override
    public void stop(StopRequest request, StreamObserver<StopResponse> answer) {
        stopped.add(request);
        answer(StopResponse.getDefaultInstance(), answer);
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroy);
    }

    @Override
    public void getStatus(GetStatusRequest request, StreamObserver<Status> answer) {
        asked.add(request);
        answer(status.apply(request), answer);
    }

    @Override
    public void apply(ApplyRequest request, StreamObserver<ApplyResponse> answer) {
        applied.add(request);
        if (refusal != null) {
            answer.onError(new StatusRuntimeException(refusal));
            return;
        }
        answer(ApplyResponse.getDefaultInstance(), answer);
    }

    private static <T> void answer(T response, StreamObserver<T> answer) {
        answer.onNext(response);
        answer.onCompleted();
    }

    @Override
    public void close() throws InterruptedException {
        closed = true;
        midwife.join();
        synchronized (this) {
            if (server != null) {
                server.shutdownNow().awaitTermination();
            }
        }
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await();
    }
}
