package io.homeostat.actuate.stop;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.plugin.GuestAgentPluginGrpc.GuestAgentPluginImplBase;
import io.homeostat.proto.plugin.StopRequest;
import io.homeostat.proto.plugin.StopResponse;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** Listens in this process in the place of a plugin that was launched, and does at Stop what the test says. */
final class StoppablePlugin extends GuestAgentPluginImplBase implements AutoCloseable {
    final List<StopRequest> requests = new CopyOnWriteArrayList<>();

    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final AtStop atStop;
    private final Server server;

    /** What happens at Stop. */
    interface AtStop {
        void stop(StreamObserver<StopResponse> answer) throws Exception;
    }

    StoppablePlugin(Path socket, AtStop atStop) throws Exception {
        this.atStop = atStop;
        this.server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .directExecutor()
                .addService(this)
                .build()
                .start();
    }

    static void agree(StreamObserver<StopResponse> answer) {
        answer.onNext(StopResponse.getDefaultInstance());
        answer.onCompleted();
    }

    @Override
    public void stop(StopRequest request, StreamObserver<StopResponse> answer) {
        requests.add(request);
        try {
            atStop.stop(answer);
        } catch (Exception e) {
            answer.onError(e);
        }
    }

    @Override
    public void close() throws InterruptedException {
        server.shutdownNow().awaitTermination();
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await();
    }
}
