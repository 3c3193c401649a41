package io.homeostat.e2e;

import com.google.protobuf.Duration;
import com.google.protobuf.Empty;
import io.grpc.ManagedChannel;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.homeostat.proto.goplugin.GRPCControllerGrpc;
import io.homeostat.proto.goplugin.GRPCStdioGrpc;
import io.homeostat.proto.goplugin.StdioData;
import io.homeostat.proto.nomad.base.BasePluginGrpc;
import io.homeostat.proto.nomad.driver.DriverGrpc;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A task driver as its host sees it: launched, shaken hands with, and called. Each call has a generous deadline. */
final class DriverProcess implements AutoCloseable {
    static final Map<String, String> HOST = Map.of(
            "NOMAD_PLUGIN_MAGIC_COOKIE", "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
            "PLUGIN_PROTOCOL_VERSIONS", "2",
            "PLUGIN_MIN_PORT", "10000",
            "PLUGIN_MAX_PORT", "25000");
    private static final int ADDRESS = 3;

    private final Process process;
    private final Path errors;
    private final BufferedReader output;
    private final @Nullable String handshake;
    private @Nullable MultiThreadIoEventLoopGroup loop;
    private @Nullable ManagedChannel channel;

    private DriverProcess(Process process, Path errors) throws IOException {
        this.process = process;
        this.errors = errors;
        this.output = process.inputReader(StandardCharsets.UTF_8);
        this.handshake = output.readLine();
    }

    /**
     * Returns after the first line of its standard output, or when that has ended.
     *
     * @param directory for its socket and its log; with a short path
     */
    static DriverProcess launch(Path directory, String... command) {
        try {
            Path errors = Files.createTempFile(directory, "errors", "");
            ProcessBuilder builder = builder(directory, HOST, command).redirectError(errors.toFile());
            return new DriverProcess(builder.start(), errors);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot launch " + String.join(" ", command), e);
        }
    }

    static ProcessBuilder builder(Path directory, Map<String, String> environment, String... command) {
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectInput(Path.of("/dev/null").toFile());
        builder.environment().putAll(environment);
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().put("PLUGIN_UNIX_SOCKET_DIR", directory.toString());
        builder.environment().put("TMPDIR", directory.toString());
        return builder;
    }

    Process process() {
        return process;
    }

    /** Its first line; empty when there was none. */
    String handshake() {
        return Objects.requireNonNullElse(handshake, "");
    }

    Path socket() {
        return Path.of(handshake().split("\\|", -1)[ADDRESS]);
    }

    /** What it has written to standard error so far. */
    List<String> log() {
        try {
            return Files.readAllLines(errors);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    BasePluginGrpc.BasePluginBlockingStub base() {
        return BasePluginGrpc.newBlockingStub(channel()).withDeadlineAfter(Patience.LONGEST);
    }

    DriverGrpc.DriverBlockingStub driver() {
        return DriverGrpc.newBlockingStub(channel()).withDeadlineAfter(Patience.LONGEST);
    }

    DriverGrpc.DriverStub streams() {
        return DriverGrpc.newStub(channel());
    }

    DriverGrpc.DriverFutureStub futures() {
        return DriverGrpc.newFutureStub(channel());
    }

    HealthGrpc.HealthBlockingStub health() {
        return HealthGrpc.newBlockingStub(channel()).withDeadlineAfter(Patience.LONGEST);
    }

    GRPCControllerGrpc.GRPCControllerBlockingStub controller() {
        return GRPCControllerGrpc.newBlockingStub(channel()).withDeadlineAfter(Patience.LONGEST);
    }

    Iterator<StdioData> prints() {
        return GRPCStdioGrpc.newBlockingStub(channel())
                .withDeadlineAfter(Patience.LONGEST)
                .streamStdio(Empty.getDefaultInstance());
    }

    private ManagedChannel channel() {
        if (channel == null) {
            loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
            channel = NettyChannelBuilder.forAddress(UnixDomainSocketAddress.of(socket()))
                    .channelType(NioDomainSocketChannel.class)
                    .eventLoopGroup(loop)
                    .withOption(ChannelOption.SO_KEEPALIVE, null)
                    .overrideAuthority("unused")
                    .usePlaintext()
                    .maxInboundMessageSize(Integer.MAX_VALUE)
                    .build();
        }
        return channel;
    }

    /** kill -9; returns when it has ended. */
    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** Returns its exit status, once it has ended by itself. */
    int awaitEnd() {
        try {
            if (!process.waitFor(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException("the driver goes on, process " + process.pid());
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    @Override
    public void close() {
        if (channel != null) {
            channel.shutdownNow();
        }
        if (loop != null) {
            var _ = loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
        kill();
    }

    static Duration seconds(int seconds) {
        return Duration.newBuilder().setSeconds(seconds).build();
    }
}
