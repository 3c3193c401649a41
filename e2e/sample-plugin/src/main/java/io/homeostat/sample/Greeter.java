package io.homeostat.sample;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;

/** The plugin's process. */
public final class Greeter {
    private Greeter() {}

    /** Serves until Stop; see README.md for the arguments. */
    public static void main(String[] arguments) throws InterruptedException {
        Options options;
        try {
            options = Options.parse(arguments);
        } catch (IllegalArgumentException e) {
            System.err.println("greeter: " + e.getMessage());
            System.exit(Ending.USAGE);
            return;
        }
        Ending ending = new Ending(options.errorLogFile());
        if (options.has("exit-at-once")) {
            ending.now("told to exit", Ending.TOLD_TO_EXIT);
        }
        if (options.has("never-listen")) {
            System.out.println("told not to listen");
            Thread.sleep(Long.MAX_VALUE);
        }
        try {
            Server server = server(options, ending);
            System.out.println("listening on " + options.protocol() + " " + options.address());
            server.awaitTermination();
        } catch (IOException e) {
            ending.now("cannot listen on " + options.address() + ": " + e, Ending.CANNOT_LISTEN);
        }
    }

    private static Server server(Options options, Ending ending) throws IOException {
        // One thread is plenty, and unpooled buffers keep the process small.
        MultiThreadIoEventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        NettyServerBuilder builder;
        if (options.protocol().equals("unix")) {
            builder = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(options.address()))
                    .channelType(NioServerDomainSocketChannel.class);
        } else {
            int colon = options.address().lastIndexOf(':');
            builder = NettyServerBuilder.forAddress(new InetSocketAddress(
                            options.address().substring(0, colon),
                            Integer.parseInt(options.address().substring(colon + 1))))
                    .channelType(NioServerSocketChannel.class);
        }
        return builder.bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .withChildOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                // gRPC asks for it, unix sockets don't have it, and Netty warns of that on every connection.
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                .directExecutor()
                .addService(new GreeterService(options, ending))
                .build()
                .start();
    }
}
