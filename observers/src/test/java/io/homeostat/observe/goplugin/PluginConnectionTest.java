package io.homeostat.observe.goplugin;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.observe.goplugin.Handshake.Network;
import io.homeostat.proto.goplugin.StdioData;
import io.homeostat.proto.nomad.base.BasePluginGrpc;
import io.homeostat.proto.nomad.base.BasePluginGrpc.BasePluginImplBase;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.PluginInfoResponse;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes over a connection to a plugin, and what becomes of it when the plugin is not as it should be. */
class PluginConnectionTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofSeconds(1);
    private static final String STDIO = "StreamStdio";

    @TempDir
    Path root;

    private final GrpcTransport transport = new GrpcTransport();
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @AfterEach
    void tearDown() {
        transport.close();
    }

    private Path socket() {
        return root.resolve("plugin1");
    }

    private PluginConnection connection() throws Handshake.Refused {
        return connection(Ticker.systemTicker());
    }

    private PluginConnection connection(Ticker ticker) throws Handshake.Refused {
        return connection(Network.UNIX, socket().toString(), ticker);
    }

    private PluginConnection connection(Network network, String address) throws Handshake.Refused {
        return connection(network, address, Ticker.systemTicker());
    }

    private PluginConnection connection(Network network, String address, Ticker ticker) throws Handshake.Refused {
        return new PluginConnection(
                transport,
                new Handshake(2, network, address),
                root,
                (channel, bytes) -> {
                    ByteArrayOutputStream to = channel == StdioData.Channel.STDERR ? err : out;
                    to.writeBytes(bytes);
                },
                ticker);
    }

    private static ConditionFactory soon() {
        return Awaitility.await().atMost(LONG).pollInterval(Duration.ofMillis(10));
    }

    @Test
    void whatAPluginPrintsIsReadFromTheBeginning() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket())) {
            plugin.print(StdioData.Channel.STDOUT, "before\n".getBytes(StandardCharsets.UTF_8));
            try (PluginConnection connection = connection()) {
                soon().until(() -> plugin.count(STDIO) == 1);
                plugin.print(StdioData.Channel.STDOUT, "after\n".getBytes(StandardCharsets.UTF_8));
                plugin.print(StdioData.Channel.STDERR, "error\n".getBytes(StandardCharsets.UTF_8));

                soon().until(() -> out.toString(StandardCharsets.UTF_8).equals("before\nafter\n"));
                soon().until(() -> err.toString(StandardCharsets.UTF_8).equals("error\n"));
                connection.check(LONG);
                assertEquals(1, plugin.connections.get());
            }
        }
    }

    @Test
    void soIsMuchOfIt() throws Exception {
        byte[] much = new byte[20_000_001];
        new Random(1).nextBytes(much);
        try (FakePlugin plugin = FakePlugin.on(socket());
                PluginConnection connection = connection()) {
            soon().until(() -> plugin.count(STDIO) == 1);
            plugin.print(StdioData.Channel.STDOUT, much);

            soon().until(() -> out.size() == much.length);
            assertArrayEquals(much, out.toByteArray());
            connection.check(LONG);
        }
    }

    @Test
    void ofAFloodOnlySoMuchIsReadInATime() throws Exception {
        AtomicLong now = new AtomicLong();
        try (FakePlugin plugin = FakePlugin.on(socket());
                PluginConnection connection = connection(now::get)) {
            soon().until(() -> plugin.count(STDIO) == 1);
            for (int i = 0; i < 2 * PluginConnection.BURST; i++) {
                plugin.print(StdioData.Channel.STDOUT, new byte[1]);
            }
            soon().until(() -> out.size() >= PluginConnection.BURST);

            // Time stands still: of what is left something may be asked for after each pause, which are longer and
            // longer.
            connection.check(LONG);
            assertTrue(out.size() < PluginConnection.BURST * 3 / 2, out.size() + " messages were read");
            now.addAndGet(Duration.ofMinutes(1).toNanos());
            soon().until(() -> out.size() == 2 * PluginConnection.BURST);
        }
    }

    @Test
    void whatHasArrivedWhenTheConnectionBreaksIsReadAtOnce() throws Exception {
        try (PluginConnection connection = connection(() -> 0)) {
            try (FakePlugin plugin = FakePlugin.on(socket())) {
                soon().until(() -> plugin.count(STDIO) == 1);
                for (int i = 0; i < 2 * PluginConnection.BURST; i++) {
                    plugin.print(StdioData.Channel.STDOUT, new byte[1]);
                }
                soon().until(() -> out.size() >= PluginConnection.BURST);
            }
            try (FakePlugin after = FakePlugin.on(socket())) {
                soon().until(() -> after.count(STDIO) == 1);
            }
        }
    }

    @Test
    void whoGoesAwayAndGoesOnIsNotReadAnyMore() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket());
                PluginConnection _ = connection(() -> 0)) {
            soon().until(() -> plugin.readers() == 1);
            for (int i = 0; i < 2 * PluginConnection.BURST; i++) {
                plugin.print(StdioData.Channel.STDOUT, new byte[1]);
            }
            soon().until(() -> out.size() >= PluginConnection.BURST);

            plugin.retire();

            soon().until(() -> plugin.readers() == 0);
        }
    }

    @Test
    void allStreamsOfAPluginHaveOnePace() throws Exception {
        AtomicLong now = new AtomicLong();
        try (PluginConnection connection = connection(now::get)) {
            assertEquals(Duration.ZERO, pace(connection, 5 << 20));
            for (int i = (5 << 10) + 1; i < PluginConnection.BURST; i++) {
                assertEquals(Duration.ZERO, pace(connection, 30));
            }
            assertEquals(Duration.ofMillis(100), pace(connection, 30));
            assertEquals(Duration.ofMillis(1100), pace(connection, 1000 << 10));
            now.addAndGet(Duration.ofSeconds(2).toNanos());
            assertEquals(Duration.ZERO, pace(connection, 30));
        }
    }

    @Test
    void whatIsNotKnownOfAMessageCountsAsWell() throws Exception {
        AtomicLong now = new AtomicLong();
        UnknownFieldSet unknown = UnknownFieldSet.newBuilder()
                .addField(
                        1000,
                        UnknownFieldSet.Field.newBuilder()
                                .addLengthDelimited(ByteString.copyFrom(new byte[7 << 20]))
                                .build())
                .build();
        try (FakePlugin plugin = FakePlugin.on(socket());
                PluginConnection connection = connection(now::get)) {
            assertEquals(Duration.ZERO, connection.pause());
            for (int i = 0; i < 3; i++) {
                plugin.print(StdioData.newBuilder().setUnknownFields(unknown).build());
            }

            soon().until(() -> !connection.pause().isZero());
        }
    }

    @Test
    void itIsReadAlsoWhenTheCallThatMadeTheConnectionIsOver() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket())) {
            Context.CancellableContext call = Context.current().withCancellation();
            try (PluginConnection connection = call.call(this::connection)) {
                soon().until(() -> plugin.count(STDIO) == 1);
                call.cancel(null);
                connection.check(LONG);

                plugin.print(StdioData.Channel.STDOUT, "after\n".getBytes(StandardCharsets.UTF_8));
                soon().until(() -> out.toString(StandardCharsets.UTF_8).equals("after\n"));
                assertEquals(1, plugin.count(STDIO));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Code.class,
            names = {"UNIMPLEMENTED", "UNAVAILABLE", "INTERNAL"})
    void aPluginThatDoesNotSayWhatItPrintsIsAskedOnce(Code code) throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket()).failing(STDIO, code.toStatus());
                PluginConnection connection = connection()) {
            soon().until(() -> plugin.count(STDIO) == 1);
            for (int i = 0; i < 200; i++) {
                connection.check(LONG);
            }

            assertEquals(1, plugin.count(STDIO));
            assertEquals(1, plugin.connections.get());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void overANewConnectionItIsAskedAgain(boolean refusedBefore) throws Exception {
        try (PluginConnection connection = connection()) {
            try (FakePlugin before = FakePlugin.on(socket())) {
                if (refusedBefore) {
                    before.failing(STDIO, Status.UNAVAILABLE);
                }
                soon().until(() -> before.count(STDIO) == 1);
                connection.check(LONG);
            }
            try (FakePlugin after = FakePlugin.on(socket())) {
                soon().until(() -> after.count(STDIO) == 1);
                after.print(StdioData.Channel.STDOUT, "here again\n".getBytes(StandardCharsets.UTF_8));
                soon().until(() -> out.toString(StandardCharsets.UTF_8).equals("here again\n"));
            }
        }
    }

    @Test
    void whenItIsClosedNothingIsReadAnyMore() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket())) {
            PluginConnection connection = connection();
            soon().until(() -> plugin.count(STDIO) == 1);
            connection.close();

            StatusRuntimeException gone = assertThrows(StatusRuntimeException.class, () -> connection.check(LONG));
            assertEquals(Code.UNAVAILABLE, gone.getStatus().getCode());
            assertEquals(1, plugin.count(STDIO));
        }
    }

    @Test
    void aPluginThatIsToldToEndMayBreakTheConnection() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket()).endingAtShutdown();
                PluginConnection connection = connection()) {
            assertDoesNotThrow(() -> connection.shutdown(LONG));
            assertEquals(1, plugin.count(FakePlugin.END));
        }
    }

    @Test
    void oneThatAnswersHasHeardItToo() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket());
                PluginConnection connection = connection()) {
            assertDoesNotThrow(() -> connection.shutdown(LONG));
            assertEquals(1, plugin.count(FakePlugin.END));
        }
    }

    @Test
    void oneThatHangsIsNotWaitedForLongerThanIsSaid() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket()).hanging(FakePlugin.END);
                PluginConnection connection = connection()) {
            connection.check(LONG);
            assertDoesNotThrow(() -> connection.shutdown(SHORT));
            soon().until(() -> plugin.count(FakePlugin.END) == 1);
        }
    }

    @Test
    void aPluginThatServesIsWell() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket());
                PluginConnection connection = connection()) {
            assertDoesNotThrow(() -> connection.check(LONG));
            assertEquals(1, plugin.count("Check"));
        }
    }

    @Test
    void aPluginThatDoesNotServeSaysSo() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket()).serving(ServingStatus.NOT_SERVING);
                PluginConnection connection = connection()) {
            StatusRuntimeException problem = assertThrows(StatusRuntimeException.class, () -> connection.check(LONG));
            assertEquals(
                    "FAILED_PRECONDITION: the plugin says that it is NOT_SERVING",
                    problem.getMessage(),
                    plugin.calls::toString);
        }
    }

    @Test
    void aPluginThatDoesNotTellIsThere() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket()).failing("Check", Status.UNIMPLEMENTED);
                PluginConnection connection = connection()) {
            assertDoesNotThrow(() -> connection.check(LONG));
            assertEquals(1, plugin.count("Check"));
        }
    }

    @Test
    void oneThatDoesNotAnswerIsWaitedForUntilTheDeadline() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket()).hanging("Check");
                PluginConnection connection = connection()) {
            soon().until(() -> plugin.count(STDIO) == 1);
            StatusRuntimeException problem = assertThrows(StatusRuntimeException.class, () -> connection.check(SHORT));
            assertEquals(Code.DEADLINE_EXCEEDED, problem.getStatus().getCode());
            soon().until(() -> plugin.count("Check") == 1);
        }
    }

    @Test
    void nobodyThereIsAnErrorAtOnce() throws Exception {
        try (PluginConnection connection = connection()) {
            StatusRuntimeException problem = assertThrows(StatusRuntimeException.class, () -> connection.check(LONG));
            assertEquals(Code.UNAVAILABLE, problem.getStatus().getCode());
        }
    }

    @Test
    void aPortOfThisMachineAloneIsConnectedTo() throws Exception {
        try (FakePlugin plugin = FakePlugin.onLoopback();
                PluginConnection connection = connection(Network.TCP, "127.0.0.1:" + plugin.port())) {
            connection.check(LONG);
            assertEquals(Set.of("unused"), plugin.authorities);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "192.0.2.1:10000",
                "0.0.0.0:10000",
                "[::]:10000",
                "[2001:db8::1]:10000",
                "[::ffff:192.0.2.1]:10000",
                "169.254.169.254:80"
            })
    void anAddressThatOthersCanHaveIsRefused(String address) {
        assertEquals(
                "it listens at \"" + address + "\", where other machines could be, and only loopback addresses are"
                        + " connected to; install a release of it that listens on a unix socket",
                assertThrows(Handshake.Refused.class, () -> connection(Network.TCP, address))
                        .words());
    }

    @ParameterizedTest
    @CsvSource({
        "localhost:10000, localhost:10000",
        "127.0.0.1, 127.0.0.1",
        "127.0.0.1:, 127.0.0.1:",
        "127.0.0.1:65536, 127.0.0.1:65536",
        "127.0.0.1:-1, 127.0.0.1:-1",
        ":10000, :10000",
        "[::1, [::1",
        "a\0b:1, a?b:1"
    })
    void whatIsNoAddressIsRefusedWithoutAskingAnybodyForIt(String address, String shown) {
        assertEquals(
                "it says that it listens at \"" + shown
                        + "\", which is no address and port; install another release of it",
                assertThrows(Handshake.Refused.class, () -> connection(Network.TCP, address))
                        .words());
    }

    @Test
    void nobodyIsNamedAsTheOneThatIsCalled() throws Exception {
        try (FakePlugin plugin = FakePlugin.on(socket());
                PluginConnection connection = connection()) {
            connection.check(LONG);
            assertEquals(Set.of("unused"), plugin.authorities);
        }
    }

    @Test
    void aLongMessagePasses() throws Exception {
        assertEquals(5 << 20, named(5 << 20).getName().length());
    }

    @Test
    void whatWouldTakeOurMemoryIsRefused() {
        StatusRuntimeException problem = assertThrows(StatusRuntimeException.class, () -> named(33 << 20));
        assertEquals(Code.RESOURCE_EXHAUSTED, problem.getStatus().getCode());
    }

    private PluginInfoResponse named(int length) throws Exception {
        String name = "x".repeat(length);
        BasePluginImplBase service = new BasePluginImplBase() {
            @Override
            public void pluginInfo(PluginInfoRequest request, StreamObserver<PluginInfoResponse> answer) {
                answer.onNext(PluginInfoResponse.newBuilder().setName(name).build());
                answer.onCompleted();
            }
        };
        try (FakePlugin plugin = FakePlugin.on(socket(), service);
                PluginConnection connection = connection()) {
            assertTrue(plugin.calls.isEmpty() || plugin.calls.contains(STDIO));
            return ClientCalls.blockingUnaryCall(
                    connection.channel(),
                    BasePluginGrpc.getPluginInfoMethod(),
                    CallOptions.DEFAULT,
                    PluginInfoRequest.getDefaultInstance());
        }
    }

    private static Duration pace(PluginConnection connection, int bytes) {
        connection.count(bytes);
        return connection.pause();
    }
}
