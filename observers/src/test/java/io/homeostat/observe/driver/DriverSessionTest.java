package io.homeostat.observe.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableMap;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.driver.Fingerprint.State;
import io.homeostat.observe.goplugin.FakePlugin;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.goplugin.PluginConnection;
import io.homeostat.proto.nomad.base.ClientTopologyCore;
import io.homeostat.proto.nomad.base.NomadDriverConfig;
import io.homeostat.proto.nomad.base.PluginInfoResponse;
import io.homeostat.proto.nomad.base.PluginType;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import io.homeostat.proto.nomad.hclspec.Spec;
import io.homeostat.proto.nomad.structs.Attribute;
import io.homeostat.proto.nomad.structs.RecoverableError;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a driver is asked, in which order, and what becomes of its answers. */
class DriverSessionTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final Backoff AT_ONCE = Backoff.doubling(Duration.ofMillis(10), Duration.ofMillis(20));
    private static final Backoff NEVER = Backoff.doubling(Duration.ofDays(1), Duration.ofDays(1));
    private static final DriverSession.Configuration NOTHING = schema -> new byte[] {(byte) 0x80};

    @TempDir
    Path root;

    private final GrpcTransport transport = new GrpcTransport();
    private final AtomicBoolean alive = new AtomicBoolean(true);
    private FakeDriver driver;
    private volatile Instant now = NOW;

    @BeforeEach
    void setUp() throws Exception {
        driver = FakeDriver.on(socket());
    }

    @AfterEach
    void tearDown() throws Exception {
        driver.close();
        transport.close();
    }

    private Path socket() {
        return root.resolve("plugin1");
    }

    private DriverSession session() throws Exception {
        return session(AT_ONCE);
    }

    private DriverSession session(Backoff reopen) throws Exception {
        Handshake handshake = new Handshake(2, Handshake.Network.UNIX, socket().toString());
        return new DriverSession(
                root.getFileName().toString(),
                new PluginConnection(transport, handshake, root, (channel, bytes) -> {}),
                alive::get,
                () -> now,
                reopen,
                true);
    }

    private static ConditionFactory soon() {
        return Awaitility.await().atMost(LONG).pollInterval(Duration.ofMillis(10));
    }

    private static State state(DriverSession session) throws InterruptedException {
        return session.fingerprint(LONG).state();
    }

    @Test
    void aDriverThatWasLaunchedIsSetUpAndThenAskedHowItIs() throws Exception {
        try (DriverSession session = session()) {
            byte[] configuration = {(byte) 0x81, 1, 2};

            DriverSession.Info info = session.configure(
                    schema -> {
                        assertEquals(FakeDriver.SCHEMA, schema);
                        return configuration;
                    },
                    LONG);
            assertEquals(State.HEALTHY, state(session));

            assertEquals(new DriverSession.Info("fake", "1.2.3", "v0.1.0"), info);
            assertEquals(List.of("PluginInfo", "ConfigSchema", "SetConfig", "Init", "Fingerprint"), driver.calls());
            SetConfigRequest request = driver.configurations.getFirst();
            assertArrayEquals(configuration, request.getMsgpackConfig().toByteArray());
            assertEquals("v0.1.0", request.getPluginApiVersion());
        }
    }

    @Test
    void itIsToldOfTheProcessorsSinceSomeCrashOtherwise() throws Exception {
        try (DriverSession session = session()) {
            session.configure(NOTHING, LONG);

            NomadDriverConfig told =
                    driver.configurations.getFirst().getNomadConfig().getDriver();
            assertEquals(14_000, told.getClientMinPort());
            assertEquals(14_512, told.getClientMaxPort());
            assertTrue(told.getTopology().getCoresCount() >= 1);
            assertTrue(told.getTopology().getCoresList().stream()
                    .mapToLong(ClientTopologyCore::getGuessSpeed)
                    .allMatch(speed -> speed > 0));
            assertFalse(
                    told.getTopology().hasDistances(), "without as many values as nodes squared they crash of them");
        }
    }

    @Test
    void aDriverThatRunsAlreadyIsNotSetUpAgain() throws Exception {
        try (DriverSession session = session()) {
            session.attach(LONG);
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));

            assertEquals(List.of("PluginInfo", "Init", "Fingerprint"), driver.calls());
        }
    }

    @Test
    void norIsOneThatThisSessionHasSetUp() throws Exception {
        try (DriverSession session = session()) {
            session.configure(NOTHING, LONG);
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));

            assertEquals(1, driver.plugin.count("Init"));
            assertEquals(1, driver.plugin.count("PluginInfo"));
        }
    }

    @Test
    void itIsReadOnlyOnceHowItIsAlsoWhenItIsSetUpTwice() throws Exception {
        try (DriverSession session = session()) {
            session.configure(NOTHING, LONG);
            session.configure(NOTHING, LONG);
            assertEquals(State.HEALTHY, state(session));
            driver.say(FakeDriver.fingerprint(HealthState.UNHEALTHY, "now"));
            soon().until(() -> state(session) == State.UNHEALTHY);

            assertEquals(1, driver.plugin.count("Fingerprint"));
        }
    }

    /** A million attributes fit into the 32 MiB of a connection, and would take all of our memory. */
    @Test
    void aFingerprintWithoutEndIsNotRead() throws Exception {
        try (DriverSession session = session(NEVER)) {
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
            driver.say(FakeDriver.fingerprint(HealthState.HEALTHY, "x".repeat(3 << 20)));

            soon().until(() -> state(session) == State.UNKNOWN);
        }
    }

    @Test
    void anAttachThatFailedIsTriedAgain() throws Exception {
        driver.plugin.failing("Init", Status.INTERNAL.withDescription("not yet"));
        try (DriverSession session = session()) {
            assertEquals(
                    "Init failed with INTERNAL: not yet",
                    failure(() -> session.attach(LONG)).words());
            assertEquals(0, driver.plugin.count("Fingerprint"));

            driver.plugin.recovering("Init");
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
        }
    }

    @Test
    void olderDriversKnowNothingOfInitNorOfShutdown() throws Exception {
        driver.plugin.failing("Init", Status.UNIMPLEMENTED);
        driver.plugin.failing("Shutdown", Status.UNIMPLEMENTED);
        try (DriverSession session = session()) {
            session.configure(NOTHING, LONG);
            session.shutdown(LONG);

            assertEquals(State.HEALTHY, state(session));
            assertEquals(
                    List.of("Shutdown", FakePlugin.END),
                    driver.calls().stream()
                            .filter(call -> call.equals("Shutdown") || call.equals(FakePlugin.END))
                            .toList());
        }
    }

    @Test
    void whatIsNoDriverIsRefused() throws Exception {
        driver.info(PluginInfoResponse.newBuilder()
                .setType(PluginType.DEVICE)
                .addPluginApiVersions("v0.1.0")
                .build());
        try (DriverSession session = session()) {
            DriverFailure failure = failure(() -> session.configure(NOTHING, LONG));

            assertEquals("it is a plugin of type DEVICE, not a task driver; correct spec.entryPoint", failure.words());
            assertEquals(FailureCause.of(FailureCause.Kind.CONTENT), failure.failureCause());
            assertEquals(List.of("PluginInfo"), driver.calls());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"v0.1.0", "0.1.0"})
    void theVersionOfTheInterfaceIsSpelledAsTheDriverDoes(String spelling) throws Exception {
        driver.info(PluginInfoResponse.newBuilder()
                .setType(PluginType.DRIVER)
                .addPluginApiVersions("v0.2.0")
                .addPluginApiVersions(spelling)
                .build());
        try (DriverSession session = session()) {
            assertEquals(spelling, session.configure(NOTHING, LONG).api());
            assertEquals(spelling, driver.configurations.getFirst().getPluginApiVersion());
        }
    }

    @Test
    void aDriverOfAnotherInterfaceIsRefused() throws Exception {
        driver.info(PluginInfoResponse.newBuilder()
                .setType(PluginType.DRIVER)
                .addPluginApiVersions("v0.2.0")
                .addPluginApiVersions("v1.1.0")
                .build());
        try (DriverSession session = session()) {
            assertEquals(
                    "it speaks the versions [v0.2.0, v1.1.0] of the interface of drivers, and we speak v0.1.0;"
                            + " install another release of it",
                    failure(() -> session.attach(LONG)).words());
            assertEquals(List.of("PluginInfo"), driver.calls());
        }
    }

    @Test
    void ofAVersionWithoutEndTheBeginningIsShown() throws Exception {
        driver.info(PluginInfoResponse.newBuilder()
                .setType(PluginType.DRIVER)
                .addPluginApiVersions("9".repeat(100_000))
                .build());
        try (DriverSession session = session()) {
            assertTrue(failure(() -> session.attach(LONG)).words().length() < 400);
        }
    }

    @Test
    void aConfigurationThatDoesNotFitTheSchemaIsNotSent() throws Exception {
        try (DriverSession session = session()) {
            DriverFailure failure = failure(() -> session.configure(
                    schema -> {
                        throw new DriverFailure("no key x");
                    },
                    LONG));

            assertEquals("no key x", failure.words());
            assertEquals(List.of("PluginInfo", "ConfigSchema"), driver.calls());
        }
    }

    @Test
    void aConfigurationThatItRefusesIsSaidInItsWords() throws Exception {
        driver.plugin.failing("SetConfig", Status.UNKNOWN.withDescription("volumes must be absolute"));
        try (DriverSession session = session()) {
            DriverFailure failure = failure(() -> session.configure(NOTHING, LONG));

            assertEquals("SetConfig failed with UNKNOWN: volumes must be absolute", failure.words());
            assertEquals(
                    new FailureCause(FailureCause.Kind.REFUSED, Status.Code.UNKNOWN.value()), failure.failureCause());
            assertFalse(failure.isSilence());
            assertEquals(0, driver.plugin.count("Init"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PluginInfo", "ConfigSchema", "SetConfig", "Init"})
    void aCallThatHangsEndsWithItsDeadline(String call) throws Exception {
        try (DriverSession session = session()) {
            // To load what the calls need may take a busy machine longer than they have.
            session.configure(NOTHING, LONG);
            driver.plugin.hanging(call);

            DriverFailure failure = failure(() -> session.configure(NOTHING, Duration.ofSeconds(1)));
            assertTrue(failure.words().startsWith(call + " ") && failure.words().endsWith(" 1000 ms"), failure.words());
            assertTrue(failure.isSilence());
            assertEquals(FailureCause.of(FailureCause.Kind.TIMED_OUT), failure.failureCause());
        }
    }

    @Test
    void nobodyThereIsNoAnswer() throws Exception {
        driver.close();
        try (DriverSession session = session()) {
            DriverFailure failure = failure(() -> session.attach(LONG));

            assertTrue(failure.words().startsWith("PluginInfo failed with UNAVAILABLE"), failure.words());
            assertTrue(failure.isSilence());
            assertEquals(FailureCause.of(FailureCause.Kind.CONNECTION_LOST), failure.failureCause());
        }
    }

    @Test
    void whoeverAsksCanBeInterrupted() throws Exception {
        driver.plugin.hanging("PluginInfo");
        try (DriverSession session = session()) {
            FutureTask<InterruptedException> asking =
                    new FutureTask<>(() -> assertThrows(InterruptedException.class, () -> session.attach(LONG)));
            Thread asker = Thread.ofVirtual().start(asking);
            soon().until(() -> driver.plugin.count("PluginInfo") == 1);
            asker.interrupt();

            assertEquals("PluginInfo was interrupted", asking.get().getMessage());
        }
    }

    @Test
    void soCanWhoeverWaitsForItsFingerprint() throws Exception {
        driver.saying();
        try (DriverSession session = session()) {
            session.attach(LONG);
            FutureTask<InterruptedException> asking = new FutureTask<>(
                    () -> assertThrows(InterruptedException.class, () -> session.fingerprint(Duration.ofDays(1))));
            Thread asker = Thread.ofVirtual().start(asking);
            soon().until(() -> asker.getState() == Thread.State.TIMED_WAITING);
            asker.interrupt();

            assertTrue(asking.get() instanceof InterruptedException);
        }
    }

    @Test
    void onlyADriverThatSaysSoMayBeAskedAgain() throws Exception {
        assertTrue(refusedWith(Status.Code.FAILED_PRECONDITION, recoverable(true)));
        assertFalse(refusedWith(Status.Code.FAILED_PRECONDITION, recoverable(false)));
        assertFalse(refusedWith(Status.Code.UNKNOWN, recoverable(true)));
        assertFalse(refusedWith(Status.Code.FAILED_PRECONDITION, Any.pack(Empty.getDefaultInstance())));
        Any damaged = recoverable(true).toBuilder()
                .setValue(ByteString.copyFromUtf8("\u0008"))
                .build();
        assertFalse(refusedWith(Status.Code.FAILED_PRECONDITION, damaged));
        assertFalse(
                refusedWith(Status.Code.FAILED_PRECONDITION, Any.pack(Empty.getDefaultInstance()), recoverable(true)));
        assertFalse(refusedWith(Status.Code.FAILED_PRECONDITION));
    }

    @Test
    void detailsThatAreNoneAreNoDetails() throws Exception {
        Metadata.Key<byte[]> details = Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
        Metadata garbage = new Metadata();
        garbage.put(details, new byte[] {(byte) 0xff, 1, 2, 3});
        Metadata contradiction = new Metadata();
        contradiction.put(
                details,
                com.google.rpc.Status.newBuilder()
                        .setCode(Status.Code.INTERNAL.value())
                        .addDetails(recoverable(true))
                        .build()
                        .toByteArray());
        for (Metadata trailers : List.of(garbage, contradiction)) {
            driver.plugin.failing("PluginInfo", Status.FAILED_PRECONDITION.withDescription("no"), trailers);
            try (DriverSession session = session()) {
                DriverFailure failure = failure(() -> session.attach(LONG));
                assertEquals("PluginInfo failed with FAILED_PRECONDITION: no", failure.words());
                assertFalse(failure.isRecoverable());
            }
        }
    }

    /** What a driver lacks itself, or does not say, says nothing of what it was asked for. */
    @Test
    void anyAnswerButThatTryingAgainMayHelpIsFinal() throws Exception {
        for (Status.Code code : List.of(Status.Code.UNKNOWN, Status.Code.INVALID_ARGUMENT, Status.Code.UNIMPLEMENTED)) {
            assertTrue(isFinal(code), code.name());
        }
        assertTrue(isFinal(Status.Code.FAILED_PRECONDITION, recoverable(false)));
        assertFalse(isFinal(Status.Code.FAILED_PRECONDITION, recoverable(true)));
        for (Status.Code code : List.of(
                Status.Code.UNAVAILABLE,
                Status.Code.CANCELLED,
                Status.Code.DEADLINE_EXCEEDED,
                Status.Code.RESOURCE_EXHAUSTED,
                Status.Code.INTERNAL)) {
            assertFalse(isFinal(code), code.name());
        }
    }

    private static boolean isFinal(Status.Code code, Any... details) {
        return new DriverFailure(
                        "StartTask",
                        StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                                .setCode(code.value())
                                .addAllDetails(List.of(details))
                                .build()),
                        LONG)
                .isFinal();
    }

    private static Any recoverable(boolean recoverable) {
        return Any.pack(
                RecoverableError.newBuilder().setRecoverable(recoverable).build());
    }

    private boolean refusedWith(Status.Code code, Any... details) throws Exception {
        StatusRuntimeException error = StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                .setCode(code.value())
                .addAllDetails(List.of(details))
                .build());
        driver.plugin.failing("PluginInfo", error.getStatus(), Objects.requireNonNull(error.getTrailers()));
        try (DriverSession session = session()) {
            DriverFailure failure = failure(() -> session.attach(LONG));
            assertEquals(new FailureCause(FailureCause.Kind.REFUSED, code.value()), failure.failureCause());
            return failure.isRecoverable();
        }
    }

    @Test
    void whatItCanDoIsAskedOnce() throws Exception {
        try (DriverSession session = session()) {
            assertTrue(session.capabilities(LONG).getSendSignals());
            assertEquals(FakeDriver.SCHEMA, session.taskSchema(LONG));
            assertTrue(session.capabilities(LONG).getSendSignals());
            assertEquals(FakeDriver.SCHEMA, session.taskSchema(LONG));

            assertEquals(List.of("Capabilities", "TaskConfigSchema"), driver.calls());
        }
    }

    @Test
    void manyWhoWantItsSchemaAtTheSameTimeAskOnce() throws Exception {
        try (DriverSession session = session();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Spec>> asking = Collections.nCopies(50, () -> session.taskSchema(LONG));
            Spec schema = threads.invokeAll(asking).getFirst().get();

            for (Future<Spec> one : threads.invokeAll(asking)) {
                assertSame(schema, one.get());
            }
            assertEquals(List.of("TaskConfigSchema"), driver.calls());
        }
    }

    @Test
    void aSchemaThatWasNotToBeHadIsAskedForAgain() throws Exception {
        driver.plugin.failing("TaskConfigSchema", Status.UNAVAILABLE, new Metadata());
        try (DriverSession session = session()) {
            failure(() -> session.taskSchema(LONG));
            failure(() -> session.taskSchema(LONG));
        }
        assertEquals(List.of("TaskConfigSchema", "TaskConfigSchema"), driver.calls());
    }

    @Test
    void whatItSaysOfItselfIsKnownAsSoonAsItSaysIt() throws Exception {
        driver.saying(FingerprintResponse.newBuilder()
                .setHealth(HealthState.HEALTHY)
                .setHealthDescription("ready")
                .putAllAttributes(ImmutableMap.of(
                        "driver.fake", Attribute.newBuilder().setBoolVal(true).build(),
                        "driver.fake.memory",
                                Attribute.newBuilder()
                                        .setIntVal(3)
                                        .setUnit("MiB")
                                        .build(),
                        "driver.fake.share",
                                Attribute.newBuilder().setFloatVal(0.5).build(),
                        "driver.fake.version",
                                Attribute.newBuilder().setStringVal("1.2").build(),
                        "driver.fake.nothing", Attribute.getDefaultInstance()))
                .build());
        try (DriverSession session = session()) {
            session.attach(LONG);

            Fingerprint healthy = session.fingerprint(LONG);
            assertEquals("healthy: ready", healthy.words());
            assertEquals(NOW, healthy.at());
            assertEquals(
                    List.of(
                            new Fingerprint.Attribute("driver.fake", "true", ""),
                            new Fingerprint.Attribute("driver.fake.memory", "3", "MiB"),
                            new Fingerprint.Attribute("driver.fake.nothing", "", ""),
                            new Fingerprint.Attribute("driver.fake.share", "0.5", ""),
                            new Fingerprint.Attribute("driver.fake.version", "1.2", "")),
                    healthy.attributes());
            assertEquals("3 MiB", healthy.attributes().get(1).words());

            driver.say(FakeDriver.fingerprint(HealthState.UNHEALTHY, "no /dev/kvm"));
            soon().until(() -> session.fingerprint(LONG).words().equals("unhealthy: no /dev/kvm"));
            driver.say(FakeDriver.fingerprint(HealthState.UNDETECTED, ""));
            soon().until(() -> session.fingerprint(LONG).words().equals("undetected"));
            driver.say(FakeDriver.fingerprint(HealthState.HEALTHY, "").toBuilder()
                    .setErr("it broke")
                    .build());
            soon().until(() -> session.fingerprint(LONG).words().equals("unhealthy: it broke"));
            driver.say(FakeDriver.fingerprint(HealthState.HEALTHY, "").toBuilder()
                    .setHealthValue(99)
                    .build());
            soon().until(() -> session.fingerprint(LONG).words().equals("unknown"));
            driver.say(FakeDriver.fingerprint(HealthState.UNHEALTHY, "x".repeat(100_000)));
            soon().until(() -> state(session) == State.UNHEALTHY);
            assertEquals(500, session.fingerprint(LONG).description().length());
            assertEquals(1, driver.plugin.count("Fingerprint"));
        }
    }

    @Test
    void someFingerprintsAreReadAtOnceAndTheNextAfterPauses() throws Exception {
        driver.saying();
        try (DriverSession session = session()) {
            session.attach(LONG);
            soon().until(() -> driver.readers() == 1);
            for (int i = 0; i < 10_000; i++) {
                driver.say(FakeDriver.fingerprint(HealthState.HEALTHY, "%05d".formatted(i)));
            }

            soon().until(() -> session.fingerprint(LONG).description().compareTo("00009") >= 0);
            session.check(LONG);
            // The clock of this test stands still, so pauses become longer and longer.
            assertTrue(session.fingerprint(LONG).description().compareTo("00100") < 0);
        }
    }

    @Test
    void aStreamThatEndsOrBreaksIsOpenedAgain() throws Exception {
        try (DriverSession session = session()) {
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
            soon().until(() -> driver.readers() == 1);

            driver.saying(FakeDriver.fingerprint(HealthState.UNHEALTHY, "second"));
            driver.endStreams();
            soon().until(() -> session.fingerprint(LONG).description().equals("second"));

            soon().until(() -> driver.readers() == 1);
            driver.saying(FakeDriver.fingerprint(HealthState.UNDETECTED, "third"));
            driver.breakStreams(Status.INTERNAL);
            soon().until(() -> session.fingerprint(LONG).description().equals("third"));
            assertEquals(3, driver.plugin.count("Fingerprint"));
            assertEquals(1, driver.plugin.count("Init"));
        }
    }

    @Test
    void untilItIsOpenedAgainNothingIsKnown() throws Exception {
        try (DriverSession session = session(NEVER)) {
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
            soon().until(() -> driver.readers() == 1);

            driver.breakStreams(Status.INTERNAL.withDescription("not quoted"));
            soon().until(() -> state(session) == State.UNKNOWN);
            assertEquals(
                    "unknown: it no longer says whether it can run tasks here: INTERNAL",
                    session.fingerprint(Duration.ofDays(1)).words(),
                    "and nobody waits for it");
            assertEquals(1, driver.plugin.count("Fingerprint"));
        }
    }

    @Test
    void anEndWithoutAnErrorIsOneToo() throws Exception {
        try (DriverSession session = session(NEVER)) {
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
            soon().until(() -> driver.readers() == 1);

            driver.endStreams();
            soon().until(() -> state(session) == State.UNKNOWN);
            String words = session.fingerprint(LONG).words();
            assertTrue(words.matches("unknown: [^:]+ no longer [^:]+"), words);
        }
    }

    @Test
    void aDriverThatSaysNothingIsWaitedForOnce() throws Exception {
        driver.saying();
        try (DriverSession session = session()) {
            session.attach(LONG);

            assertEquals(
                    "unknown: it has not said yet whether it can run tasks here",
                    session.fingerprint(SHORT).words());
            assertEquals(State.UNKNOWN, session.fingerprint(Duration.ofDays(1)).state());
            soon().until(() -> driver.readers() == 1);
            assertEquals(1, driver.plugin.count("Fingerprint"));

            driver.say(FakeDriver.fingerprint(HealthState.HEALTHY, ""));
            soon().until(() -> state(session) == State.HEALTHY);
        }
    }

    @Test
    void ofADriverThatIsNotSetUpNothingIsWaitedFor() throws Exception {
        try (DriverSession session = session()) {
            assertEquals(State.UNKNOWN, session.fingerprint(Duration.ofDays(1)).state());
            assertEquals(List.of(), driver.calls());
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
        }
    }

    @Test
    void noMoreIsReadOfADriverThatHasDied() throws Exception {
        try (DriverSession session = session()) {
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
            assertTrue(session.isAlive());
            assertTrue(session.isReading());

            alive.set(false);
            driver.close();
            soon().until(() -> !session.isReading());
            assertFalse(session.isAlive());
        }
    }

    @Test
    void noMoreIsReadOfASessionThatIsClosed() throws Exception {
        DriverSession session = session();
        session.attach(LONG);
        assertEquals(State.HEALTHY, state(session));
        assertTrue(session.isReading());

        session.close();
        soon().until(() -> !session.isReading());
        assertEquals(1, driver.plugin.count("Fingerprint"));
    }

    @Test
    void norOfOneThatIsClosedWhileItWaitsToOpenTheStreamAgain() throws Exception {
        DriverSession session = session(NEVER);
        session.attach(LONG);
        assertEquals(State.HEALTHY, state(session));
        soon().until(() -> driver.readers() == 1);
        driver.breakStreams(Status.INTERNAL);
        soon().until(() -> state(session) == State.UNKNOWN);
        assertTrue(session.isReading());

        session.close();
        soon().until(() -> !session.isReading());
    }

    @Test
    void aDriverIsToldToEndAndThenThePluginIs() throws Exception {
        driver.plugin.hanging("Shutdown").hanging(FakePlugin.END);
        try (DriverSession session = session()) {
            session.check(LONG);
            session.shutdown(Duration.ofSeconds(1));
            soon().untilAsserted(() -> assertEquals(List.of("Shutdown", FakePlugin.END), driver.calls()));
        }
    }

    @Test
    void oneThatEndsAtOnceIsNoFailure() throws Exception {
        driver.plugin.endingAtShutdown();
        try (DriverSession session = session()) {
            session.shutdown(LONG);
            assertEquals(List.of("Shutdown", FakePlugin.END), driver.calls());
        }
    }

    private DriverFailure failure(Executable asking) {
        return assertThrows(DriverFailure.class, asking);
    }

    @Test
    void ofWhatItSaysOfItselfOnlySoMuchIsKept() throws Exception {
        FingerprintResponse.Builder huge = FakeDriver.fingerprint(HealthState.HEALTHY, "x".repeat(10_000)).toBuilder();
        for (int i = 0; i < 300; i++) {
            huge.putAttributes(
                    "%03d".formatted(i) + "n".repeat(1_000),
                    Attribute.newBuilder()
                            .setStringVal("v".repeat(1_000_000 / 300))
                            .setUnit("u".repeat(1_000))
                            .build());
        }
        driver.saying(huge.build());
        driver.info(PluginInfoResponse.newBuilder()
                .setType(PluginType.DRIVER)
                .addPluginApiVersions("v0.1.0")
                .setPluginVersion("1".repeat(1_000))
                .setName("n".repeat(1_000))
                .build());
        try (DriverSession session = session()) {
            session.attach(LONG);

            Fingerprint kept = session.fingerprint(LONG);

            assertEquals(250, kept.attributes().size());
            assertEquals(50, kept.leftOut());
            assertTrue(kept.attributes().getLast().name().startsWith("249n"));
            assertTrue(kept.attributes().stream()
                    .allMatch(each -> each.name().length() <= 150
                            && each.value().length() <= 500
                            && each.unit().length() <= 30));
            assertEquals(500, kept.description().length());
            DriverSession.Info plugin = Objects.requireNonNull(session.plugin());
            assertEquals(200, plugin.name().length());
            assertEquals(200, plugin.version().length());
        }
    }

    @Test
    void whoCallsItselfOtherwiseThanWhatWasLaunchedIsNotTakenForIt() throws Exception {
        try (DriverSession session = session()) {
            session.expect("raw_exec");

            assertEquals(
                    "who answers at its socket calls itself fake, and what was launched raw_exec",
                    failure(() -> session.attach(LONG)).words());

            assertEquals(List.of("PluginInfo"), driver.calls());
            session.expect("fake");
            session.attach(LONG);
            assertEquals(State.HEALTHY, state(session));
        }
    }

    @Test
    void thatATaskRunsIsKnownForATimeAsLongAsItsEndIsWaitedFor() throws Exception {
        Duration within = Duration.ofMinutes(2);
        try (DriverSession session = session()) {
            assertInstanceOf(TaskState.Runs.class, session.inspectTask("t", LONG));
            assertFalse(session.isKnownToRun("t", within), "nobody would be told of its end");
            session.followTask("t");
            soon().until(() -> driver.waiting.size() == 1);
            assertTrue(session.isKnownToRun("t", within));
            assertFalse(session.isKnownToRun("other", within));

            now = NOW.plus(within);
            assertFalse(session.isKnownToRun("t", within));
            now = NOW.minusSeconds(1);
            assertFalse(session.isKnownToRun("t", within), "the clock was set back");
            now = NOW;
            assertTrue(session.isKnownToRun("t", within));

            StreamObserver<WaitTaskResponse> waiting = driver.waiting.getFirst();
            waiting.onNext(WaitTaskResponse.newBuilder()
                    .setResult(ExitResult.newBuilder().setExitCode(1))
                    .build());
            waiting.onCompleted();
            soon().until(() -> !session.isKnownToRun("t", within));
            assertInstanceOf(TaskState.Exited.class, session.inspectTask("t", LONG));
        }
    }
}
