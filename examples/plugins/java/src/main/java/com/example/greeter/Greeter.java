package com.example.greeter;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** The plugin's process: serves on the socket that it is told until it is stopped. */
public final class Greeter {
    private Greeter() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        // What else there is, --protocol=unix and --errorlogfile=PATH, is not needed.
        String address = Arrays.stream(arguments)
                .filter(argument -> argument.startsWith("--address="))
                .map(argument -> argument.substring("--address=".length()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("--address=SOCKET is missing"));

        MultiThreadIoEventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        GreeterService service = new GreeterService();
        Server server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(address))
                .channelType(NioServerDomainSocketChannel.class)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                // gRPC asks for it, unix sockets don't have it, and Netty warns of that on every connection.
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                .addService(service)
                .build()
                .start();
        // Runs after Stop as well as on SIGTERM: calls that came before are answered.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(server)));
        service.awaitStop();
        System.exit(0);
    }

    private static void end(Server server) {
        try {
            server.shutdown().awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        System.out.println("goodbye");
    }
}
