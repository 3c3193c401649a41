package io.homeostat.observe.goplugin;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.net.HostAndPort;
import com.google.protobuf.Empty;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientStreamTracer;
import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.ServerRule;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.proto.goplugin.GRPCControllerGrpc;
import io.homeostat.proto.goplugin.GRPCStdioGrpc;
import io.homeostat.proto.goplugin.StdioData;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection to a plugin that runs. Whatever it prints is read from the beginning to the end: a plugin whose output nobody reads
 * stops when its pipe is full.
 */
public final class PluginConnection implements AutoCloseable {
    /**
     * The longest message that is taken. Plugins allow 2 GiB, of which one alone would be our end; a task with all of its environment has
     * at most 6 MiB.
     */
    private static final int LONGEST_MESSAGE = 8 << 20;

    /** Messages that are read of streams at once; one of several KiB counts as one for each, and so do answers. A plugin may have printed 20 MiB. */
    static final int BURST = 20_000;

    private static final Duration PER_MESSAGE = Duration.ofMillis(1);
    private static final int COUNTED_AS_ONE = 1 << 10;

    /** So many there must be for anything to be read again, so that a thread is not woken for each. */
    private static final int AT_ONCE = 100;

    private static final Executor AFTER_A_PAUSE = CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS);

    private static final Logger LOG = LoggerFactory.getLogger(PluginConnection.class);

    private static final String AUTHORITY = "unused";

    private final ManagedChannel channel;
    private final BiConsumer<StdioData.Channel, byte[]> printed;
    private final Ticker ticker;
    private final TokenBucket budget;

    /**
     * Connects when it is first used.
     *
     * @param transport used, not closed
     * @param sockets the directory for the plugin's sockets, which belongs to the user that it runs as
     * @param printed takes what the plugin prints, as it comes; must not block
     * @throws Handshake.Refused when it listens where nobody may connect to
     */
    public PluginConnection(
            GrpcTransport transport, Handshake handshake, Path sockets, BiConsumer<StdioData.Channel, byte[]> printed)
            throws Handshake.Refused {
        this(transport, handshake, sockets, printed, Ticker.systemTicker());
    }

    PluginConnection(
            GrpcTransport transport,
            Handshake handshake,
            Path sockets,
            BiConsumer<StdioData.Channel, byte[]> printed,
            Ticker ticker)
            throws Handshake.Refused {
        this.printed = printed;
        this.ticker = ticker;
        this.budget = new TokenBucket(BURST, PER_MESSAGE.toNanos(), ticker.read());
        this.channel = to(transport, handshake, sockets)
                .overrideAuthority(AUTHORITY)
                .maxInboundMessageSize(LONGEST_MESSAGE)
                .intercept(new Counter())
                .build();
        read();
    }

    private static ManagedChannelBuilder<?> to(GrpcTransport transport, Handshake handshake, Path sockets)
            throws Handshake.Refused {
        String address = handshake.address();
        return switch (handshake.network()) {
            case UNIX -> {
                Path socket = Path.of(address);
                yield transport.unix(socket, ServerRule.ofProgram(socket, sockets));
            }
            case TCP -> transport.tcp(loopback(address));
        };
    }

    /** What is secret goes over this connection in plain text, so it must not leave the machine. */
    private static InetSocketAddress loopback(String address) throws Handshake.Refused {
        try {
            HostAndPort parsed = HostAndPort.fromString(address);
            InetAddress host = InetAddress.ofLiteral(parsed.getHost());
            if (host.isLoopbackAddress()) {
                return new InetSocketAddress(host, parsed.getPort());
            }
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new Handshake.Refused("it says that it listens at " + Handshake.shown(address)
                    + ", which is no address and port; install another release of it");
        }
        throw new Handshake.Refused("it listens at " + Handshake.shown(address)
                + ", where other machines could be, and only loopback addresses"
                + " are connected to; install a release of it that listens on a unix socket");
    }

    /** Has all messages of the plugin counted. */
    private final class Counter implements ClientInterceptor {
        private final ClientStreamTracer.Factory counting = new ClientStreamTracer.Factory() {
            @Override
            public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
                return new ClientStreamTracer() {
                    @Override
                    public void inboundMessageRead(int number, long wireBytes, long unpackedBytes) {
                        count(wireBytes);
                    }
                };
            }
        };

        @Override
        public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return next.newCall(method, options.withStreamTracerFactory(counting));
        }
    }

    /** For the services of the plugin; not to be shut down. */
    public Channel channel() {
        return channel;
    }

    boolean isConnected() {
        return channel.getState(false) == ConnectivityState.READY;
    }

    /** Counts a message of the plugin, by its length as it came: what is not known of it is left out, and takes time all the same. */
    synchronized void count(long bytes) {
        budget.take(Math.max(1, bytes / COUNTED_AS_ONE));
    }

    /** Returns how long the next message of one of the plugin's streams has to wait. */
    synchronized Duration pause() {
        long now = ticker.read();
        return budget.available(now) > 0 ? Duration.ZERO : Duration.ofNanos(budget.nanosUntil(AT_ONCE, now));
    }

    /**
     * Asks whether it serves, as go-plugin registers that with gRPC's health service.
     *
     * @throws StatusRuntimeException when it does not answer so
     */
    public void check(Duration timeout) {
        ServingStatus status;
        try {
            status = HealthGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS)
                    .check(HealthCheckRequest.newBuilder().setService("plugin").build())
                    .getStatus();
        } catch (StatusRuntimeException e) {
            if (e.getStatus().getCode() == Status.Code.UNIMPLEMENTED) {
                // Who refuses to tell is there.
                return;
            }
            throw e;
        }
        if (status != ServingStatus.SERVING) {
            throw Status.FAILED_PRECONDITION
                    .withDescription("the plugin says that it is " + status)
                    .asRuntimeException();
        }
    }

    /**
     * Tells it to end, and waits for its answer or for the end of the connection, which mostly comes first: it tells nothing.
     */
    public void shutdown(Duration timeout) {
        try {
            io.homeostat.proto.goplugin.Empty _ = GRPCControllerGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS)
                    .shutdown(io.homeostat.proto.goplugin.Empty.getDefaultInstance());
        } catch (StatusRuntimeException e) {
            LOG.debug("after it was told to end: {}", e.getMessage());
        }
    }

    /** Not as part of the call within which the connection happens to be made: this outlives it. */
    private void read() {
        Context.ROOT.run(() -> GRPCStdioGrpc.newStub(channel)
                .withWaitForReady()
                .streamStdio(Empty.getDefaultInstance(), new PluginStream<>(this) {
                    @Override
                    protected Duration received(StdioData data) {
                        printed.accept(data.getChannel(), data.getData().toByteArray());
                        return Duration.ZERO;
                    }

                    @Override
                    protected void ended(Status status) {
                        // What it does not know it will not know over another connection either.
                        if (status.getCode() != Status.Code.UNIMPLEMENTED) {
                            readAgain();
                        }
                    }
                }));
    }

    /** Once for each connection. That one is broken may be known only after all that went over it has failed. */
    private void readAgain() {
        switch (channel.getState(false)) {
            case SHUTDOWN -> {}
            case READY -> channel.notifyWhenStateChanged(ConnectivityState.READY, this::readAgain);
            // One that connects and is cut off at once is not connected to again without a pause.
            case IDLE, CONNECTING, TRANSIENT_FAILURE -> AFTER_A_PAUSE.execute(this::read);
        }
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }
}
