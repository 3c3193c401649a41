package io.homeostat.reconcile.runtime.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.DriverMachine;
import io.homeostat.reconcile.runtime.FakeTaskDriver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests how a driver is set up after its launch, and how its directories are removed. */
class DriverStartTest {
    private static final WorkloadId WEB = new WorkloadId(Kind.TASK, "web");

    @TempDir
    Path root;

    private DriverMachine host;
    private DriverRuntime runtime;
    private Instance launch;

    @BeforeEach
    void open() throws Exception {
        host = new DriverMachine(root);
        runtime = new DriverRuntime(host.machine);
        launch = host.runner().withPhase(Phase.START_SENT, "");
        host.remember(launch);
    }

    @AfterEach
    void close() throws Exception {
        host.close();
    }

    private static Workload declared(String config) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Driver
                metadata: {name: runner}
                spec: {install: local, entryPoint: /usr/lib/runner, config: {%s}}
                """.formatted(config));
    }

    private Outcome start(String config, boolean trial) throws InterruptedException {
        return runtime.start(new Step.Start(declared(config), trial), launch);
    }

    private FailureCause.Kind failure(String config) throws InterruptedException {
        return assertInstanceOf(Outcome.Failed.class, start(config, false))
                .cause()
                .kind();
    }

    private void note(String handle) throws Exception {
        new LaunchDirectories(host.layout, host.procFs)
                .write(DriverMachine.task(
                        WEB, "launch", new Identity.Task("runner", "id", handle, null, DriverMachine.BOOT)));
    }

    private static String handle() {
        return Base64.getEncoder()
                .encodeToString(TaskHandle.newBuilder()
                        .setDriverState(FakeTaskDriver.HANDLE_STATE)
                        .build()
                        .toByteArray());
    }

    private Optional<Phase> noted() throws Exception {
        return host.directory(launch).note().map(note -> note.instance().phase());
    }

    @Test
    void aDriverIsSetUpAndItsTasksAreTakenUp() throws Exception {
        note(handle());

        assertEquals(Outcome.done(), start("path: /a", false));

        ByteString config = host.driver.last(SetConfigRequest.class).getMsgpackConfig();
        assertTrue(config.toStringUtf8().contains("/a"));
        assertEquals(1, host.driver.count("Init"));
        assertEquals(List.of("SetConfig", "RecoverTask"), host.driver.taskCalls());
        assertEquals(Optional.of("fake"), host.directory(launch).pluginName());
        assertEquals(Optional.of(Phase.STARTED), noted());
    }

    @Test
    void aConfigurationThatItsSchemaRefusesIsNotHandedOver() throws Exception {
        assertEquals(FailureCause.Kind.CONTENT, failure("unknown: 1"));

        assertEquals(List.of(), host.driver.taskCalls());
        assertEquals(Optional.empty(), noted());
    }

    @Test
    void aDriverThatRefusesOrDoesNotAnswerHasNotStarted() throws Exception {
        host.driver.failing("SetConfig", Status.INVALID_ARGUMENT);
        assertEquals(FailureCause.Kind.REFUSED, failure(""));

        host.driver.failing("SetConfig", Status.UNAVAILABLE);
        assertEquals(FailureCause.Kind.CONNECTION_LOST, failure(""));
        assertEquals(Optional.empty(), noted());
    }

    @Test
    void aProgramWithoutAHandshakeIsNoDriver() throws Exception {
        Files.writeString(host.directory(launch).outputFile(), "hello\n");

        assertEquals(FailureCause.Kind.CONTENT, failure(""));
    }

    @Test
    void anOutputThatCannotBeReadIsAFailure() throws Exception {
        Files.delete(host.directory(launch).outputFile());
        Files.createDirectories(host.directory(launch).outputFile());

        assertEquals(FailureCause.Kind.INPUT_OUTPUT, failure(""));
    }

    @Test
    void onTrialADriverHasToTakeUpWhatRuns() throws Exception {
        note(handle());
        host.driver.failing("RecoverTask", Status.UNKNOWN);

        Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, start("", true));

        assertEquals(FailureCause.Kind.REFUSED, failed.cause().kind());
        assertTrue(failed.error().contains("task/web"));
        assertFalse(failed.fatal());
        assertEquals(Optional.empty(), noted());
    }

    @Test
    void otherwiseADriverHasStartedAllTheSame() throws Exception {
        note(handle());
        host.driver.failing("RecoverTask", Status.UNKNOWN);

        assertEquals(Outcome.done(), start("", false));
        assertEquals(Optional.of(Phase.STARTED), noted());
    }

    @Test
    void notesThatCannotBeWrittenAreNoFailureOfTheStart() throws Exception {
        Files.createDirectories(host.directory(launch).pluginNameFile().resolveSibling("plugin-name.new"));
        Files.createDirectories(host.directory(launch).noteFile().resolve("in the way"));

        assertEquals(Outcome.done(), start("", false));
    }

    @Test
    void aDriverThatIsRemovedLeavesNoSockets() throws Exception {
        Path sockets = Files.createDirectories(host.layout.driverSockets(DriverMachine.RUNNER));

        runtime.remove(DriverMachine.RUNNER);

        assertFalse(Files.exists(sockets));
    }

    @Test
    void theSocketsOfItsTasksStayAsLongAsThereAreTasks() throws Exception {
        Path sockets = Files.createDirectories(host.layout.driverSockets(DriverMachine.RUNNER));
        note("");

        runtime.remove(DriverMachine.RUNNER);

        assertTrue(Files.exists(sockets));
    }

    @Test
    void tasksThatCannotBeSeenKeepTheSockets() throws Exception {
        Path sockets = Files.createDirectories(host.layout.driverSockets(DriverMachine.RUNNER));
        Path tasks = host.layout.launches(Kind.TASK);
        Files.createDirectories(Objects.requireNonNull(tasks.getParent()));
        Files.writeString(tasks, "no directory");

        assertThrows(ActuationFailure.class, () -> runtime.remove(DriverMachine.RUNNER));

        assertTrue(Files.exists(sockets));
    }

    @Test
    void theNotesOnALaunchThatIsDestroyedGo() throws Exception {
        runtime.destroy(launch);

        assertFalse(Files.exists(host.directory(launch).path()));
    }

    @Test
    void upkeepBoundsWhatADriverPrints() throws Exception {
        Path output = host.directory(launch).outputFile();
        Files.write(output, new byte[(int) DriverOutputs.BOUND + 1]);

        runtime.upkeep();

        assertEquals(Handshake.LONGEST, Files.size(output));
    }
}
