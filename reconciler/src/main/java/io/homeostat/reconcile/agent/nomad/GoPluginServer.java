package io.homeostat.reconcile.agent.nomad;

import com.google.protobuf.Empty;
import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.platform.FloodGuard;
import io.homeostat.desired.platform.QuietEventLoop;
import io.homeostat.desired.platform.VirtualThreads;
import io.homeostat.proto.goplugin.ConnInfo;
import io.homeostat.proto.goplugin.GRPCBrokerGrpc.GRPCBrokerImplBase;
import io.homeostat.proto.goplugin.GRPCControllerGrpc.GRPCControllerImplBase;
import io.homeostat.proto.goplugin.GRPCStdioGrpc.GRPCStdioImplBase;
import io.homeostat.proto.goplugin.StdioData;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** What every go-plugin program over gRPC serves, beside the services that it is for (github.com/hashicorp/go-plugin, docs/internals.md). */
final class GoPluginServer implements AutoCloseable {
    /** What hosts ask the health service for. */
    private static final String HEALTH = "plugin";

    private final EventLoopGroup loop = new QuietEventLoop("go-plugin");
    private final ExecutorService calls = Executors.newThreadPerTaskExecutor(VirtualThreads.factory("call-"));
    private final Path socket;
    private final Server server;

    /**
     * Listens, for this user alone.
     *
     * @param shutdown called when the host tells this process to end; the breaking connection is the answer
     */
    GoPluginServer(Path socket, Runnable shutdown, BindableService... services) throws IOException {
        this.socket = socket;
        HealthStatusManager health = new HealthStatusManager();
        health.setStatus(HEALTH, ServingStatus.SERVING);
        NettyServerBuilder builder = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelFactory(() -> {
                    NioServerDomainSocketChannel channel = new NioServerDomainSocketChannel();
                    // Before gRPC's own, which takes what is left over.
                    channel.pipeline().addLast(FloodGuard.accepted());
                    return channel;
                })
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .withChildOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                // gRPC asks for it, unix sockets don't have it, and Netty warns of that on every connection.
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                // Some calls wait for as long as a task runs.
                .executor(calls)
                // As go-plugin has it: a task may have much environment.
                .maxInboundMessageSize(Integer.MAX_VALUE)
                .addService(health.getHealthService())
                .addService(new Controller(shutdown))
                .addService(new Stdio())
                .addService(new Broker());
        for (BindableService service : services) {
            builder.addService(service);
        }
        server = builder.build().start();
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
    }

    /** The line by which a host finds it: core protocol, protocol of the application, network, address, protocol. */
    String handshake(int application) {
        return "1|" + application + "|unix|" + socket + "|grpc|";
    }

    void awaitTermination() throws InterruptedException {
        server.awaitTermination();
    }

    @Override
    public void close() {
        server.shutdownNow();
        calls.shutdownNow();
        Future<?> _ = loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
    }

    private static final class Controller extends GRPCControllerImplBase {
        private final Runnable shutdown;

        Controller(Runnable shutdown) {
            this.shutdown = shutdown;
        }

        @Override
        public void shutdown(
                io.homeostat.proto.goplugin.Empty request, StreamObserver<io.homeostat.proto.goplugin.Empty> response) {
            shutdown.run();
        }
    }

    /** This program prints nothing while it serves; the stream stays open, as hosts expect. */
    private static final class Stdio extends GRPCStdioImplBase {
        @Override
        public void streamStdio(Empty request, StreamObserver<StdioData> response) {
            // Nothing will come.
        }
    }

    /** Takes what the host says of further connections and asks for none. */
    private static final class Broker extends GRPCBrokerImplBase {
        @Override
        public StreamObserver<ConnInfo> startStream(StreamObserver<ConnInfo> response) {
            return new StreamObserver<>() {
                @Override
                public void onNext(ConnInfo info) {
                    // There is none that this program would take.
                }

                @Override
                public void onError(Throwable error) {
                    // The host has gone away, which other calls tell.
                }

                @Override
                public void onCompleted() {
                    response.onCompleted();
                }
            };
        }
    }
}
