package io.homeostat.actuate.launch;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.goplugin.Empty;
import io.homeostat.proto.goplugin.GRPCControllerGrpc.GRPCControllerImplBase;
import io.homeostat.proto.nomad.driver.DriverGrpc.DriverImplBase;
import io.homeostat.proto.nomad.driver.ShutdownRequest;
import io.homeostat.proto.nomad.driver.ShutdownResponse;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** Listens in this process in the place of a driver that was launched, and does what the test says when it is told to end. */
final class StoppableDriver implements AutoCloseable {
    final List<String> calls = new CopyOnWriteArrayList<>();

    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final boolean answers;
    private final AtEnd atEnd;
    private final Server server;

    /** What happens when it is told to end. */
    interface AtEnd {
        void end() throws Exception;
    }

    /** @param answers whether it does */
    StoppableDriver(Path socket, boolean answers, AtEnd atEnd) throws Exception {
        this.answers = answers;
        this.atEnd = atEnd;
        this.server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .directExecutor()
                .addService(new Driver())
                .addService(new Controller())
                .build()
                .start();
    }

    private <T> void answer(String call, StreamObserver<T> to, T response) {
        calls.add(call);
        if (answers) {
            to.onNext(response);
            to.onCompleted();
        }
    }

    @Override
    public void close() throws InterruptedException {
        server.shutdownNow().awaitTermination();
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await();
    }

    private final class Driver extends DriverImplBase {
        @Override
        public void shutdown(ShutdownRequest request, StreamObserver<ShutdownResponse> to) {
            answer("Driver.Shutdown", to, ShutdownResponse.getDefaultInstance());
        }
    }

    private final class Controller extends GRPCControllerImplBase {
        @Override
        public void shutdown(Empty request, StreamObserver<Empty> to) {
            try {
                atEnd.end();
            } catch (Exception e) {
                to.onError(e);
                return;
            }
            answer("GRPCController.Shutdown", to, Empty.getDefaultInstance());
        }
    }
}
