package io.homeostat.sample.driver;

import io.grpc.Server;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.logging.LogManager;

/** The driver's process. */
public final class Runner {
    private static final String COOKIE_NAME = "NOMAD_PLUGIN_MAGIC_COOKIE";
    private static final String COOKIE = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255";
    private static final int NO_HOST = 1;
    private static final int TOLD_TO_EXIT = 3;
    static final int CRASH = 42;
    private static final int CANNOT_LISTEN = 71;

    private Runner() {}

    /** Serves until its host says Shutdown; see README.md for the arguments. */
    public static void main(String[] arguments) throws InterruptedException {
        Map<String, String> environment = System.getenv();
        if (!COOKIE.equals(environment.get(COOKIE_NAME))) {
            System.err.println("runner: this is a task driver of Nomad's, which its host starts, with " + COOKIE_NAME
                    + " in its environment; it does nothing by itself");
            System.exit(NO_HOST);
        }
        Faults faults = Faults.ofArguments(arguments);
        if (faults.has("exit-before-handshake")) {
            System.err.println("told to exit");
            System.exit(TOLD_TO_EXIT);
        }
        if (faults.has("no-handshake")) {
            Thread.sleep(Long.MAX_VALUE);
        }
        Path socket = Path.of(
                environment.getOrDefault("PLUGIN_UNIX_SOCKET_DIR", environment.getOrDefault("TMPDIR", "/tmp")),
                "plugin" + UUID.randomUUID().toString().substring(0, 8));
        if (faults.has("never-listen")) {
            System.out.println(handshake(faults, socket));
            Thread.sleep(Long.MAX_VALUE);
        }
        HostLog log = new HostLog(System.err, Clock.systemUTC());
        // Nothing but the host's kind of lines from here on.
        LogManager.getLogManager().reset();
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, error) -> log.warn("uncaught", "thread", thread.getName(), "error", error.toString()));
        try {
            Server server = server(faults, socket, log);
            System.out.println(handshake(faults, socket));
            log.info("serving", "address", socket.toString());
            if (faults.has("crash-after")) {
                Background.run("crash", () -> crash(faults));
            }
            server.awaitTermination();
        } catch (IOException e) {
            System.err.println("runner: cannot listen on " + socket + ": " + e);
            System.exit(CANNOT_LISTEN);
        }
    }

    /** core|app|network|address|protocol|certificate (https://github.com/hashicorp/go-plugin/blob/main/docs/internals.md). */
    private static String handshake(Faults faults, Path socket) {
        if (faults.has("garbage-handshake")) {
            return "told to say something else";
        }
        if (faults.has("netrpc")) {
            return "1|2|unix|" + socket + "|netrpc";
        }
        return (faults.has("core-2") ? "2|" : "1|") + (faults.has("wrong-protocol") ? "9|" : "2|") + "unix|" + socket
                + "|grpc|";
    }

    private static Server server(Faults faults, Path socket, HostLog log) throws IOException {
        Clock clock = Clock.systemUTC();
        Fingerprints fingerprints = new Fingerprints(faults);
        TaskEvents events = new TaskEvents(clock);
        DriverService driver = new DriverService(
                faults, fingerprints, events, new Tasks(new Executor(clock), events, clock), clock, log);
        HealthStatusManager health = new HealthStatusManager();
        health.setStatus("plugin", ServingStatus.SERVING);
        // One thread reads all, and unpooled buffers keep the process small.
        MultiThreadIoEventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        return NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .withOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .withChildOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                // gRPC asks for it, unix sockets don't have it, and Netty warns of that on every connection.
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                // As many as there are calls: some wait for hours.
                .executor(Executors.newCachedThreadPool())
                .maxInboundMessageSize(Integer.MAX_VALUE)
                .addService(new BaseService(faults, driver::configure, log))
                .addService(driver)
                .addService(new ControllerService(() -> end(socket, log)))
                .addService(new StdioService(faults.number("print", 0)))
                .addService(new BrokerService())
                .addService(health.getHealthService())
                .build()
                .start();
    }

    private static void end(Path socket, HostLog log) {
        log.info("told to end");
        try {
            Files.deleteIfExists(socket);
        } catch (IOException e) {
            log.warn("cannot remove the socket", "error", e.toString());
        }
        Runtime.getRuntime().halt(0);
    }

    private static void crash(Faults faults) {
        try {
            TimeUnit.SECONDS.sleep(faults.number("crash-after", 0));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(faults.number("exit-code", CRASH));
    }
}
