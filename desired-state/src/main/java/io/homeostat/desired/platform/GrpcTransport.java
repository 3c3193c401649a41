package io.homeostat.desired.platform;

import io.grpc.ManagedChannelBuilder;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslContext;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The one class that knows what carries gRPC. Netty's NIO, which needs no native code, is loaded and its one thread started when the
 * first channel is asked for.
 *
 * <p>A channel is for one question or one stream, and shut down by whom it was built for. Keeping it would save a millisecond and
 * cost the truth: a channel whose peer has gone refuses calls while it backs off, although the next process may listen already.
 */
public final class GrpcTransport implements AutoCloseable {
    private @Nullable EventLoopGroup loop;

    /** To a unix socket, without TLS. */
    public ManagedChannelBuilder<?> unix(Path socket) {
        return configured(UnixChannels.to(socket));
    }

    /** To an address, without TLS. */
    public ManagedChannelBuilder<?> tcp(InetSocketAddress address) {
        return configured(NettyChannelBuilder.forAddress(address)
                .channelType(NioSocketChannel.class, InetSocketAddress.class)
                .proxyDetector(target -> null)
                .usePlaintext());
    }

    /**
     * To a host that has to prove by its certificate that it is that host.
     *
     * @param tls whose certificates are believed, and our own; made for gRPC
     */
    public ManagedChannelBuilder<?> tls(String host, int port, SslContext tls) {
        return configured(NettyChannelBuilder.forAddress(host, port)
                .channelType(NioSocketChannel.class, InetSocketAddress.class)
                .proxyDetector(target -> null)
                .sslContext(tls));
    }

    private NettyChannelBuilder configured(NettyChannelBuilder builder) {
        return builder.eventLoopGroup(loop())
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .directExecutor()
                .disableRetry();
    }

    private synchronized EventLoopGroup loop() {
        EventLoopGroup running = loop;
        if (running == null) {
            running = new MultiThreadIoEventLoopGroup(
                    1, new DefaultThreadFactory("grpc", true), NioIoHandler.newFactory());
            loop = running;
        }
        return running;
    }

    /** At once: waiting for a quiet period, as Netty does by default, would show at the end of every command. */
    @Override
    public synchronized void close() {
        if (loop != null) {
            Future<?> _ = loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
            loop = null;
        }
    }
}
