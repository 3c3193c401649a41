package io.homeostat.reconcile.agent.nomad;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.proto.goplugin.Empty;
import io.homeostat.proto.goplugin.GRPCControllerGrpc;
import io.homeostat.proto.nomad.base.BasePluginGrpc;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.PluginInfoResponse;
import io.homeostat.proto.nomad.base.PluginType;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.DriverGrpc;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.GlobalOptions;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the program that a Nomad client starts: its handshake, its identity and its configuration. */
class NomadDriverTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    Path root;

    private final GrpcTransport transport = new GrpcTransport();
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private Path sockets;

    @BeforeEach
    void open() throws Exception {
        sockets = Files.createDirectories(root.resolve("sockets"));
    }

    @AfterEach
    void close() {
        transport.close();
    }

    private NomadDriver driver(Map<String, String> variables) {
        PrintStream said = new PrintStream(err, true, StandardCharsets.UTF_8);
        PrintStream printed = new PrintStream(out, true, StandardCharsets.UTF_8);
        Environment environment = new Environment(
                ImmutableMap.copyOf(variables),
                root,
                1000,
                InputStream.nullInputStream(),
                printed,
                said,
                false,
                false,
                Clock.systemUTC(),
                Ticker.systemTicker(),
                DocumentFormat.STANDARD,
                Interrupts.none());
        GlobalOptions options = new GlobalOptions(
                OutputFormat.TEXT,
                Optional.of(root.resolve("usual").toString()),
                Optional.empty(),
                Optional.empty(),
                false);
        return new NomadDriver(environment, new Console(printed, said, OutputFormat.TEXT, new Ansi(false)), options);
    }

    private Map<String, String> cookie(Path directory) {
        return Map.of(
                DriverSession.HOST.cookieName(),
                DriverSession.HOST.cookieValue(),
                "PLUGIN_UNIX_SOCKET_DIR",
                directory.toString());
    }

    @FunctionalInterface
    private interface Client {
        void ask(ManagedChannel channel) throws Exception;
    }

    /** Runs the driver while a client talks with it. */
    private void serving(Client client) throws Exception {
        NomadDriver driver = driver(cookie(sockets));
        Thread serving = Thread.ofVirtual().start(() -> {
            try {
                int _ = driver.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        await().atMost(LONG).until(() -> out.toString(StandardCharsets.UTF_8).endsWith("\n"));
        String[] handshake = out.toString(StandardCharsets.UTF_8).strip().split("\\|", -1);
        assertEquals("1|2|unix", String.join("|", handshake[0], handshake[1], handshake[2]));
        assertEquals("grpc", handshake[4]);
        Path socket = Path.of(handshake[3]);
        assertEquals(sockets, socket.getParent());
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)));
        ManagedChannel channel = transport.unix(socket).build();
        try {
            client.ask(channel);
        } finally {
            channel.shutdownNow();
            serving.interrupt();
            serving.join();
        }
    }

    private static ByteString config(String key, String value) {
        return NomadBench.msgpack(Map.of(key, NomadBench.text(value)));
    }

    private static void configure(ManagedChannel channel, ByteString config) {
        var _ = BasePluginGrpc.newBlockingStub(channel)
                .setConfig(
                        SetConfigRequest.newBuilder().setMsgpackConfig(config).build());
    }

    private static String stateDir(ManagedChannel channel) {
        return DriverGrpc.newBlockingStub(channel)
                .fingerprint(FingerprintRequest.getDefaultInstance())
                .next()
                .getAttributesOrThrow("driver.homeostat.state_dir")
                .getStringVal();
    }

    private static Status.Code code(Runnable call) {
        return assertThrows(StatusRuntimeException.class, call::run).getStatus().getCode();
    }

    @Test
    void itSaysThatItIsADriverOfNomad() throws Exception {
        serving(channel -> {
            PluginInfoResponse info =
                    BasePluginGrpc.newBlockingStub(channel).pluginInfo(PluginInfoRequest.getDefaultInstance());
            assertEquals(PluginType.DRIVER, info.getType());
            assertEquals("homeostat", info.getName());
            assertEquals("v0.1.0", info.getPluginApiVersions(0));
            assertTrue(Character.isDigit(info.getPluginVersion().charAt(0)));
            assertEquals(
                    PluginSettings.SPEC,
                    BasePluginGrpc.newBlockingStub(channel)
                            .configSchema(ConfigSchemaRequest.getDefaultInstance())
                            .getSpec());
            assertEquals(
                    ServingStatus.SERVING,
                    HealthGrpc.newBlockingStub(channel)
                            .check(HealthCheckRequest.newBuilder()
                                    .setService("plugin")
                                    .build())
                            .getStatus());
        });
    }

    @Test
    void itKeepsItsStateWhereTheClientSays() throws Exception {
        serving(channel -> {
            assertEquals(root.resolve("usual").toString(), stateDir(channel));

            configure(channel, config("state_dir", "/elsewhere"));
            assertEquals("/elsewhere", stateDir(channel));

            configure(channel, config("run_dir", "/run/elsewhere"));
            assertEquals(root.resolve("usual").toString(), stateDir(channel));
        });
    }

    @Test
    void itIsNotHealthyWithTheStateDirectoryOfSomebodyElse() throws Exception {
        assumeTrue(TrustedPath.isRoot(), "only root can give files away");
        Path theirs = Files.createDirectory(root.resolve("theirs"));
        Files.setAttribute(theirs, "unix:uid", 65534);
        serving(channel -> {
            configure(channel, config("state_dir", theirs.toString()));

            FingerprintResponse found = DriverGrpc.newBlockingStub(channel)
                    .fingerprint(FingerprintRequest.getDefaultInstance())
                    .next();
            assertEquals(FingerprintResponse.HealthState.UNHEALTHY, found.getHealth());
            assertTrue(found.getHealthDescription().contains(theirs.toString()), found::getHealthDescription);
            assertEquals(
                    Status.Code.UNKNOWN,
                    code(() -> DriverGrpc.newBlockingStub(channel).init(InitRequest.getDefaultInstance())));
        });
        try (Stream<Path> files = Files.list(theirs)) {
            assertEquals(0, files.count());
        }
    }

    @Test
    void aConfigurationThatIsWrongIsRefused() throws Exception {
        serving(channel -> {
            assertEquals(Status.Code.INVALID_ARGUMENT, code(() -> configure(channel, config("state_dir", "relative"))));
            assertEquals(root.resolve("usual").toString(), stateDir(channel));
        });
    }

    @Test
    void withoutTheCookieOfAHostItDoesNothing() {
        NomadDriver driver = driver(Map.of("PLUGIN_UNIX_SOCKET_DIR", sockets.toString()));

        assertThrows(CommandFailure.class, driver::run);
        assertEquals("", out.toString(StandardCharsets.UTF_8));
    }

    @Test
    void aDirectoryThatIsTooLongForASocketIsNamed() {
        NomadDriver driver = driver(cookie(root.resolve("x".repeat(100))));

        assertTrue(
                String.valueOf(assertThrows(CommandFailure.class, driver::run).getMessage())
                        .contains("x".repeat(100)));
    }

    @Test
    void aDirectoryThatIsNotThereIsAFailure() {
        NomadDriver driver = driver(cookie(root.resolve("none")));

        assertThrows(CommandFailure.class, driver::run);
    }

    @Test
    void aRehearsalLeavesNothing() throws Exception {
        Path socket = sockets.resolve("rehearsal");

        driver(Map.of()).rehearse(socket);

        assertEquals("", out.toString(StandardCharsets.UTF_8));
        assertTrue(err.toString(StandardCharsets.UTF_8).contains("\"@level\":\"debug\""));
        assertThrows(CommandFailure.class, () -> driver(Map.of()).rehearse(root.resolve("none/socket")));
    }

    @Test
    void theHostTellsItToEnd() throws Exception {
        AtomicInteger told = new AtomicInteger();
        Path socket = sockets.resolve("plugin");
        try (GoPluginServer server = new GoPluginServer(socket, told::incrementAndGet)) {
            assertEquals("1|2|unix|" + socket + "|grpc|", server.handshake(2));
            ManagedChannel channel = transport.unix(socket).build();
            assertFalse(GRPCControllerGrpc.newFutureStub(channel)
                    .shutdown(Empty.getDefaultInstance())
                    .isCancelled());
            await().atMost(LONG).until(() -> told.get() == 1);
            channel.shutdownNow();
        }
    }

    @Test
    void whoeverWaitsForItsEndIsReleasedWhenItIsClosed() throws Exception {
        GoPluginServer server = new GoPluginServer(sockets.resolve("plugin"), () -> {});
        Thread waiting = Thread.ofVirtual().start(() -> {
            try {
                server.awaitTermination();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });

        server.close();

        await().atMost(LONG).until(() -> !waiting.isAlive());
    }
}
