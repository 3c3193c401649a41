package io.homeostat.reconcile.agent;

import io.grpc.Server;
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
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * What plugins that are no more than a shell script answer: this server, to which their sockets are hard links. So a plugin costs no
 * program that speaks gRPC, and is a process of its own all the same.
 */
final class ServedPlugin extends GuestAgentPluginImplBase implements AutoCloseable {
    private final Path socket;
    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Server server;

    ServedPlugin(Path socket) throws IOException {
        this.socket = socket;
        this.server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .directExecutor()
                .addService(this)
                .build()
                .start();
    }

    /** A program that is a plugin. */
    String program() {
        return """
                #!/bin/sh
                for argument; do
                  case "$argument" in --address=*) ln %s "${argument#--address=}" ;; esac
                done
                exec sleep 1000
                """.formatted(socket);
    }

    @Override
    public void start(StartRequest request, StreamObserver<StartResponse> answer) {
        answer(StartResponse.getDefaultInstance(), answer);
    }

    @Override
    public void stop(StopRequest request, StreamObserver<StopResponse> answer) {
        answer(StopResponse.getDefaultInstance(), answer);
    }

    @Override
    public void getStatus(GetStatusRequest request, StreamObserver<Status> answer) {
        answer(Status.getDefaultInstance(), answer);
    }

    @Override
    public void apply(ApplyRequest request, StreamObserver<ApplyResponse> answer) {
        answer(ApplyResponse.getDefaultInstance(), answer);
    }

    private static <T> void answer(T response, StreamObserver<T> answer) {
        answer.onNext(response);
        answer.onCompleted();
    }

    @Override
    public void close() throws InterruptedException {
        server.shutdownNow().awaitTermination();
        loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await();
    }
}
