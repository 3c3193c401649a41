package io.homeostat.e2e;

import static io.homeostat.e2e.DriverProcess.seconds;
import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.homeostat.proto.goplugin.StdioData;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.CapabilitiesRequest;
import io.homeostat.proto.nomad.driver.CreateNetworkRequest;
import io.homeostat.proto.nomad.driver.DestroyTaskRequest;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.ShutdownRequest;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.structs.RecoverableError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.msgpack.value.ValueFactory;

/** That the sample driver misbehaves as it is told to, and in no other way. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SampleDriverFaultsTest {
    private static final int CRASH = 42;

    @TempDir
    static Path directory;

    private SampleDriver sample;
    private DriverTasks tasks;
    private DriverProcess driver;

    @BeforeAll
    void launch() throws IOException {
        sample = SampleDriver.in(directory);
        tasks = new DriverTasks(Files.createDirectories(directory.resolve("alloc")));
        driver = sample.launch();
    }

    @AfterAll
    void end() {
        driver.close();
        try {
            eventually().until(() -> Processes.of("none", directory).isEmpty());
        } finally {
            Processes.of("none", directory).forEach(process -> Processes.kill(process.pid()));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "garbage-handshake, told to say something else",
        "netrpc, '1\\|2\\|unix\\|/.*\\|netrpc'",
        "wrong-protocol, '1\\|9\\|unix\\|/.*\\|grpc\\|'",
        "core-2, '2\\|2\\|unix\\|/.*\\|grpc\\|'",
        "never-listen, '1\\|2\\|unix\\|/.*\\|grpc\\|'"
    })
    void aHandshakeIsWrongInTheWayThatIsOrdered(String fault, String expected) {
        try (DriverProcess broken = sample.launch(fault)) {
            assertTrue(broken.handshake().matches(expected), broken.handshake());
            assertTrue(broken.process().isAlive());
            if (fault.equals("never-listen")) {
                assertFalse(Files.exists(broken.socket()));
            }
        }
    }

    @Test
    void oneThatExitsBeforeItsHandshakeSaysSo() {
        try (DriverProcess broken = sample.launch("exit-before-handshake")) {
            assertEquals("", broken.handshake());
            assertEquals(3, broken.awaitEnd());
            assertEquals(List.of("told to exit"), broken.log());
        }
    }

    @Test
    void oneWithoutAHandshakeLivesSilently() throws IOException, InterruptedException {
        Process silent = DriverProcess.builder(
                        sample.sockets(), DriverProcess.HOST, sample.program().toString(), "--fault=no-handshake")
                .redirectErrorStream(true)
                .start();
        try {
            eventually().until(() -> Processes.command(silent.pid()).contains("Runner"));
            assertFalse(silent.waitFor(2, TimeUnit.SECONDS));
            assertEquals(0, silent.getInputStream().available());
        } finally {
            silent.destroyForcibly();
        }
    }

    @Test
    void aConfigurationIsRefusedOrNeverAnswered() {
        try (DriverProcess broken = sample.launch("set-config-error")) {
            assertRefused("told to refuse SetConfig", () -> configure(broken));
        }
        try (DriverProcess broken = sample.launch("hang-set-config")) {
            assertHangs(() -> broken.base()
                    .withDeadlineAfter(2, TimeUnit.SECONDS)
                    .setConfig(SetConfigRequest.getDefaultInstance()));
            assertEquals(
                    "runner",
                    broken.base()
                            .pluginInfo(PluginInfoRequest.getDefaultInstance())
                            .getName());
        }
    }

    @Test
    void aDriverIsIllOrUnknownOrChangesItsMind() {
        try (DriverProcess ill = sample.launch("unhealthy", "no-init", "create-network")) {
            assertEquals(HealthState.UNHEALTHY, fingerprints(ill).next().getHealth());
            assertEquals(
                    Status.Code.UNIMPLEMENTED,
                    refusal(() -> ill.driver().init(InitRequest.getDefaultInstance()))
                            .getCode());
            assertEquals(
                    Status.Code.UNIMPLEMENTED,
                    refusal(() -> ill.driver().shutdown(ShutdownRequest.getDefaultInstance()))
                            .getCode());
            assertTrue(ill.driver()
                    .capabilities(CapabilitiesRequest.getDefaultInstance())
                    .getCapabilities()
                    .getMustCreateNetwork());
            assertTrue(ill.driver()
                    .createNetwork(CreateNetworkRequest.getDefaultInstance())
                    .getCreated());
        }
        try (DriverProcess unknown = sample.launch("undetected")) {
            assertEquals(HealthState.UNDETECTED, fingerprints(unknown).next().getHealth());
        }
        try (DriverProcess fickle = sample.launch("fingerprint-flaps=50")) {
            Iterator<FingerprintResponse> health = fingerprints(fickle);
            List<HealthState> seen = List.of(
                    health.next().getHealth(),
                    health.next().getHealth(),
                    health.next().getHealth());
            assertEquals(seen.get(0), seen.get(2));
            assertEquals(
                    List.of(HealthState.HEALTHY, HealthState.UNHEALTHY),
                    seen.stream()
                            .distinct()
                            .sorted((one, two) -> two.compareTo(one))
                            .toList());
        }
    }

    @Test
    void aDriverCrashesWhenItIsToldTo() {
        try (DriverProcess doomed = sample.launch("crash-after=0", "exit-code=9")) {
            assertEquals(9, doomed.awaitEnd());
        }
        try (DriverProcess doomed = sample.launch("crash-on-start")) {
            TaskConfig task = tasks.script("sleep 600").build();
            assertEquals(
                    Status.Code.UNAVAILABLE, refusal(() -> start(doomed, task)).getCode());
            assertEquals(CRASH, doomed.awaitEnd());
        }
        try (DriverProcess doomed = sample.launch()) {
            TaskConfig task = tasks.script("sleep 600", "crash-on-stats").build();
            TaskHandle handle = start(doomed, task);
            var stats = doomed.driver()
                    .taskStats(TaskStatsRequest.newBuilder()
                            .setTaskId(task.getId())
                            .build());
            assertEquals(Status.Code.UNAVAILABLE, refusal(stats::next).getCode());
            assertEquals(CRASH, doomed.awaitEnd());
            recover(handle);
            destroy(task);
        }
    }

    @Test
    void whatItPrintsIsStreamed() {
        try (DriverProcess talkative = sample.launch("print=3")) {
            Iterator<StdioData> prints = talkative.prints();
            for (int i = 1; i <= 3; i++) {
                StdioData data = prints.next();
                assertEquals(StdioData.Channel.STDOUT, data.getChannel());
                assertEquals("line " + i + "\n", data.getData().toStringUtf8());
            }
        }
    }

    @Test
    void faultsMayAlsoBeConfigured() {
        try (DriverProcess other = sample.launch()) {
            var _ = other.base()
                    .setConfig(SetConfigRequest.newBuilder()
                            .setMsgpackConfig(DriverTasks.msgpack(ValueFactory.newMap(
                                    ValueFactory.newString("faults"), DriverTasks.strings("unhealthy"))))
                            .build());
            assertEquals(HealthState.UNHEALTHY, fingerprints(other).next().getHealth());
        }
    }

    @Test
    void aStartIsRefusedForGoodOrForNowOrNeverAnswered() throws InvalidProtocolBufferException {
        TaskConfig refused = tasks.script("sleep 600", "start-error").build();
        assertRefused("told to refuse StartTask", () -> start(driver, refused));
        TaskConfig later = tasks.script("sleep 600", "start-error-recoverable").build();
        StatusRuntimeException error = assertThrows(StatusRuntimeException.class, () -> start(driver, later));
        assertEquals(Status.Code.FAILED_PRECONDITION, error.getStatus().getCode());
        com.google.rpc.Status status = StatusProto.fromThrowable(error);
        assertTrue(status != null
                && status.getDetails(0).unpack(RecoverableError.class).getRecoverable());
        TaskConfig hanging = tasks.script("sleep 600", "hang-start").build();
        assertHangs(() -> driver.driver()
                .withDeadlineAfter(2, TimeUnit.SECONDS)
                .startTask(StartTaskRequest.newBuilder().setTask(hanging).build()));
        assertEquals(List.of(), Processes.of("none", Path.of(refused.getAllocDir())));
        assertEquals(List.of(), Processes.of("none", Path.of(hanging.getAllocDir())));
    }

    @Test
    void aStartIsRefusedWithTheProcessRunning() {
        TaskConfig task = tasks.script("exec sleep 600", "start-orphan").build();
        assertRefused("with the process running", () -> start(driver, task));
        List<Processes.Seen> orphans = Processes.of("none", Path.of(task.getAllocDir()));
        orphans.forEach(orphan -> Processes.kill(orphan.pid()));
        assertTrue(orphans.stream().anyMatch(orphan -> orphan.command().equals("sleep 600 ")), orphans.toString());
        assertRefused(
                "task not found for given id",
                () -> driver.driver()
                        .inspectTask(InspectTaskRequest.newBuilder()
                                .setTaskId(task.getId())
                                .build()));
        eventually()
                .until(() -> Processes.of("none", Path.of(task.getAllocDir())).isEmpty());
    }

    @Test
    void aTaskIsNotRecoveredAlsoByTheNextDriver() {
        TaskConfig task = tasks.script("sleep 600", "recover-error").build();
        TaskHandle handle = start(driver, task);
        assertRefused("told to refuse RecoverTask", () -> recover(handle));
        destroy(task);
    }

    @Test
    void callsForATaskFailOrAreNeverAnswered() {
        TaskConfig task = tasks.script("sleep 600", "hang-stop", "hang-inspect", "wait-error", "unknown-signal")
                .build();
        start(driver, task);
        assertRefused(
                "told to refuse WaitTask",
                () -> driver.driver()
                        .waitTask(WaitTaskRequest.newBuilder()
                                .setTaskId(task.getId())
                                .build()));
        assertRefused(
                "unknown signal: SIGTERM",
                () -> driver.driver()
                        .signalTask(SignalTaskRequest.newBuilder()
                                .setTaskId(task.getId())
                                .setSignal("SIGTERM")
                                .build()));
        assertHangs(() -> driver.driver()
                .withDeadlineAfter(2, TimeUnit.SECONDS)
                .inspectTask(
                        InspectTaskRequest.newBuilder().setTaskId(task.getId()).build()));
        assertHangs(() -> driver.driver()
                .withDeadlineAfter(2, TimeUnit.SECONDS)
                .stopTask(StopTaskRequest.newBuilder().setTaskId(task.getId()).build()));
        destroy(task);
        TaskConfig shutDown = tasks.script("sleep 600", "wait-shut-down").build();
        start(driver, shutDown);
        assertEquals(
                "plugin is shut down",
                driver.driver()
                        .waitTask(WaitTaskRequest.newBuilder()
                                .setTaskId(shutDown.getId())
                                .build())
                        .getErr());
        destroy(shutDown);
    }

    @Test
    void aStopIsRefusedForItsSignal() {
        TaskConfig task = tasks.script("sleep 600", "unknown-signal").build();
        start(driver, task);
        assertRefused(
                "unknown signal: SIGTERM",
                () -> driver.driver()
                        .stopTask(StopTaskRequest.newBuilder()
                                .setTaskId(task.getId())
                                .setSignal("SIGTERM")
                                .setTimeout(seconds(1))
                                .build()));
        destroy(task);
    }

    private interface Asking {
        void ask();
    }

    private static Status refusal(Asking asking) {
        return assertThrows(StatusRuntimeException.class, asking::ask).getStatus();
    }

    private static void assertRefused(String words, Asking asking) {
        Status refused = refusal(asking);
        assertEquals(Status.Code.UNKNOWN, refused.getCode());
        assertTrue(String.valueOf(refused.getDescription()).contains(words), refused.toString());
    }

    private static void assertHangs(Asking asking) {
        assertEquals(Status.Code.DEADLINE_EXCEEDED, refusal(asking).getCode());
    }

    private static void configure(DriverProcess driver) {
        var _ = driver.base().setConfig(SetConfigRequest.getDefaultInstance());
    }

    private static Iterator<FingerprintResponse> fingerprints(DriverProcess driver) {
        return driver.driver().fingerprint(FingerprintRequest.getDefaultInstance());
    }

    private static TaskHandle start(DriverProcess driver, TaskConfig task) {
        return driver.driver()
                .startTask(StartTaskRequest.newBuilder().setTask(task).build())
                .getHandle();
    }

    private void recover(TaskHandle handle) {
        var _ = driver.driver()
                .recoverTask(RecoverTaskRequest.newBuilder().setHandle(handle).build());
    }

    private void destroy(TaskConfig task) {
        var _ = driver.driver()
                .destroyTask(DestroyTaskRequest.newBuilder()
                        .setTaskId(task.getId())
                        .setForce(true)
                        .build());
    }
}
