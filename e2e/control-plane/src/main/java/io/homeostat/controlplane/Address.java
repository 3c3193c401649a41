package io.homeostat.controlplane;

import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Where the control plane listens, each time it comes back. */
sealed interface Address {
    /** A server that will listen there. */
    NettyServerBuilder builder() throws IOException;

    /** The address with the port that was given to the server. */
    Address with(int port);

    /** As agent.yaml says it. */
    String endpoint();

    record Unix(Path socket) implements Address {
        @Override
        public NettyServerBuilder builder() throws IOException {
            Files.deleteIfExists(socket);
            return NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                    .channelType(NioServerDomainSocketChannel.class)
                    // gRPC asks for it, unix sockets don't have it, and Netty warns of that on every connection.
                    .withChildOption(ChannelOption.SO_KEEPALIVE, null);
        }

        @Override
        public Address with(int port) {
            return this;
        }

        @Override
        public String endpoint() {
            return "unix:" + socket;
        }
    }

    record Tls(TestAuthority.Issued certificate, @Nullable TestAuthority clients, int port) implements Address {
        @Override
        public NettyServerBuilder builder() throws IOException {
            SslContextBuilder context = GrpcSslContexts.configure(
                    SslContextBuilder.forServer(certificate.key(), certificate.certificate()));
            if (clients != null) {
                context.trustManager(clients.certificate()).clientAuth(ClientAuth.REQUIRE);
            }
            return NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                    .channelType(NioServerSocketChannel.class)
                    .sslContext(context.build());
        }

        @Override
        public Address with(int port) {
            return new Tls(certificate, clients, port);
        }

        @Override
        public String endpoint() {
            return "localhost:" + port;
        }
    }
}
