package io.homeostat.observe.health;

import io.grpc.Attributes;
import io.grpc.Server;
import io.grpc.ServerTransportFilter;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
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
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A plugin in this process, on a real unix socket, that answers as it is told to and notes what it was asked. */
public final class PluginServer extends GuestAgentPluginImplBase implements AutoCloseable {
    public final List<Object> requests = new CopyOnWriteArrayList<>();
    /** How many connections there have been. */
    public final AtomicInteger connections = new AtomicInteger();

    volatile Status status = Status.getDefaultInstance();
    volatile io.grpc.@Nullable Status error;
    volatile boolean silent;

    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Server server;

    private PluginServer(Path socket) throws Exception {
        Files.createDirectories(socket.getParent());
        Files.deleteIfExists(socket);
        server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .directExecutor()
                .addService(this)
                .addTransportFilter(new ServerTransportFilter() {
                    @Override
                    public Attributes transportReady(Attributes attributes) {
                        connections.incrementAndGet();
                        return attributes;
                    }
                })
                .build()
                .start();
    }

    public static PluginServer on(Path socket) throws Exception {
        return new PluginServer(socket);
    }

    PluginServer failing(Code code, String description) {
        error = code.toStatus().withDescription(description);
        return this;
    }

    public PluginServer silent() {
        silent = true;
        return this;
    }

    @Override
    public void start(StartRequest request, StreamObserver<StartResponse> answer) {
        answer(request, StartResponse.getDefaultInstance(), answer);
    }

    @Override
    public void stop(StopRequest request, StreamObserver<StopResponse> answer) {
        answer(request, StopResponse.getDefaultInstance(), answer);
    }

    @Override
    public void getStatus(GetStatusRequest request, StreamObserver<Status> answer) {
        answer(request, status, answer);
    }

    @Override
    public void apply(ApplyRequest request, StreamObserver<ApplyResponse> answer) {
        answer(request, ApplyResponse.getDefaultInstance(), answer);
    }

    private <T> void answer(Object request, T response, StreamObserver<T> answer) {
        requests.add(request);
        io.grpc.Status failure = error;
        if (silent) {
            return;
        }
        if (failure != null) {
            answer.onError(new StatusRuntimeException(failure));
            return;
        }
        answer.onNext(response);
        answer.onCompleted();
    }

    @Override
    public void close() throws InterruptedException {
        server.shutdownNow().awaitTermination();
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await();
    }
}
