package io.homeostat.desired.platform;

import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.Future;

/**
 * Channels to unix sockets, whatever their paths are. gRPC makes a URI of the address it is given and refuses those with characters
 * that are not ASCII; so it is given another one, and the connection is turned to the socket where it is opened.
 */
public final class UnixChannels {
    /** Never connected to. */
    private static final UnixDomainSocketAddress ANY = UnixDomainSocketAddress.of("socket");

    private UnixChannels() {}

    /** Of Netty's NIO, without TLS; whoever builds it gives it an event loop. */
    public static NettyChannelBuilder to(Path socket) {
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(socket);
        return NettyChannelBuilder.forAddress(ANY)
                .channelFactory(
                        () -> {
                            NioDomainSocketChannel channel = new NioDomainSocketChannel();
                            channel.pipeline().addLast(new Redirection(address));
                            return channel;
                        },
                        UnixDomainSocketAddress.class)
                // Set by gRPC for every channel; one that does not know it warns at each connection. Null
                // removes it.
                .withOption(ChannelOption.SO_KEEPALIVE, null)
                // What a socket's path would become is no authority that servers accept.
                .overrideAuthority("localhost")
                .usePlaintext();
    }

    private static final class Redirection extends ChannelOutboundHandlerAdapter {
        private final UnixDomainSocketAddress address;

        Redirection(UnixDomainSocketAddress address) {
            this.address = address;
        }

        @Override
        public void connect(
                ChannelHandlerContext context, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            Future<Void> _ = context.connect(address, local, promise);
        }
    }
}
