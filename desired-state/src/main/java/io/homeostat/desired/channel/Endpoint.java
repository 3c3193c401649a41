package io.homeostat.desired.channel;

import com.google.common.net.HostAndPort;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.ClientTls;
import io.homeostat.desired.platform.GrpcTransport;
import io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The address of a control plane, and how the connection with it is secured. */
final class Endpoint implements AutoCloseable {
    private static final String UNIX = "unix:";
    private static final int KEEPALIVE_SECONDS = 60;
    private static final int KEEPALIVE_TIMEOUT_SECONDS = 10;
    /** The largest message in either direction: gRPC's default. A larger one ends the stream. */
    static final int MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

    private final String endpoint;
    private final @Nullable Tls tls;
    private final GrpcTransport transport = new GrpcTransport();

    /** @param endpoint unix:PATH (no TLS) or HOST:PORT (TLS) */
    Endpoint(String endpoint, @Nullable Tls tls) {
        this.endpoint = endpoint;
        this.tls = tls;
    }

    /**
     * Opens a channel, which the caller shuts down. Certificates are read each time, since they are replaced while agents run.
     *
     * @throws IOException if a file can't be used or the endpoint is malformed
     */
    ManagedChannel open() throws IOException {
        try {
            return builder().maxInboundMessageSize(MAX_MESSAGE_BYTES).build();
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new IOException("the endpoint " + endpoint + " is neither unix:/PATH nor HOST:PORT", e);
        }
    }

    private ManagedChannelBuilder<?> builder() throws IOException {
        if (endpoint.startsWith(UNIX)) {
            return transport.unix(Path.of(endpoint.substring(UNIX.length())));
        }
        HostAndPort address = HostAndPort.fromString(endpoint);
        return transport
                .tls(address.getHost(), address.getPort(), context())
                .keepAliveTime(KEEPALIVE_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(KEEPALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    private SslContext context() throws IOException {
        return ClientTls.grpc(tls, "sources.controlPlane.tls");
    }

    @Override
    public void close() {
        transport.close();
    }

    @Override
    public String toString() {
        return endpoint;
    }
}
