package io.homeostat.e2e;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.StatusException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.EventsRequest;
import io.homeostat.proto.agent.Format;
import io.homeostat.proto.agent.Output;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.proto.agent.StatusRequest;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks a running agent on its socket for what {@code homeostat -o json} would print: the same answer without the start of a JVM,
 * which costs a quarter of a second of processor time and more.
 */
final class AgentSocket {
    private static final Presentation JSON =
            Presentation.newBuilder().setFormat(Format.FORMAT_JSON).build();
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Path socket;

    AgentSocket(Path socket) {
        this.socket = socket;
    }

    /** {@code status}, of all workloads when none is named; empty when no agent answers. */
    Optional<Result> status(String... workloads) {
        return call("status", request().setStatus(StatusRequest.newBuilder().addAllWorkloads(List.of(workloads))));
    }

    /** {@code events}; empty when no agent answers. */
    Optional<Result> events() {
        return call("events", request().setEvents(EventsRequest.getDefaultInstance()));
    }

    private static CommandRequest.Builder request() {
        return CommandRequest.newBuilder().setPresentation(JSON);
    }

    private Optional<Result> call(String words, CommandRequest.Builder request) {
        // One that was killed leaves it behind, and then nobody answers.
        if (!Files.exists(socket)) {
            return Optional.empty();
        }
        // A channel a call: one that is kept waits before it tries a socket again that a new agent has made anew.
        EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        ManagedChannel channel = NettyChannelBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioDomainSocketChannel.class, UnixDomainSocketAddress.class)
                .withOption(ChannelOption.SO_KEEPALIVE, null)
                .overrideAuthority("localhost")
                .eventLoopGroup(loop)
                .usePlaintext()
                .build();
        try {
            return read(
                    words,
                    ClientCalls.blockingV2ServerStreamingCall(
                            channel, AgentGrpc.getRunMethod(), CallOptions.DEFAULT, request.build()));
        } finally {
            channel.shutdownNow();
            Future<?> _ = loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
        }
    }

    /** Empty when the agent ended before it had said everything: whoever asks again is told by the next one. */
    private static Optional<Result> read(String words, BlockingClientCall<?, Output> call) {
        long before = System.nanoTime();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        try {
            Output piece = call.read(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            while (piece != null) {
                piece.getStandardOutput().writeTo(out);
                piece.getStandardError().writeTo(err);
                if (piece.getPieceCase() == Output.PieceCase.EXIT_STATUS) {
                    return Optional.of(new Result(
                            words + " (asked on the socket)",
                            piece.getExitStatus(),
                            out.toString(StandardCharsets.UTF_8),
                            err.toString(StandardCharsets.UTF_8),
                            Duration.ofNanos(System.nanoTime() - before)));
                }
                piece = call.read(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            }
            return Optional.empty();
        } catch (StatusException | TimeoutException | IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }
}
