package io.homeostat.reconcile.runtime.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.reconcile.runtime.DriverMachine;
import io.homeostat.reconcile.runtime.FakeTaskDriver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests which tasks a driver recovers after it was set up, and which failed recoveries leave a task that may run. */
class TaskRecoveryTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final WorkloadId WEB = new WorkloadId(Kind.TASK, "web");
    private static final WorkloadId DB = new WorkloadId(Kind.TASK, "db");

    private static final TaskHandle HANDLE = TaskHandle.newBuilder()
            .setConfig(TaskConfig.newBuilder().setId("web-id"))
            .setDriverState(FakeTaskDriver.HANDLE_STATE)
            .build();

    @TempDir
    Path root;

    private DriverMachine host;
    private LaunchDirectories launches;
    private TaskRecovery recovery;

    @BeforeEach
    void open() throws Exception {
        host = new DriverMachine(root);
        launches = new LaunchDirectories(host.layout, host.procFs);
        recovery = new TaskRecovery(host.machine, host.groups.cgroups());
    }

    @AfterEach
    void close() throws Exception {
        host.close();
    }

    private static String handle() {
        return Base64.getEncoder().encodeToString(HANDLE.toByteArray());
    }

    private Instance note(WorkloadId id, String driver, String handle, @Nullable String boot) throws Exception {
        Instance instance = DriverMachine.task(id, "launch", new Identity.Task(driver, "web-id", handle, null, boot));
        launches.write(instance);
        return instance;
    }

    private Instance note(WorkloadId id) throws Exception {
        return note(id, "runner", handle(), DriverMachine.BOOT);
    }

    private List<String> recover() throws Exception {
        return recovery.recover("runner", host.machine.drivers().of(host.runner()), LONG);
    }

    @Test
    void aTaskThatItHasStartedIsTakenUpByItsHandle() throws Exception {
        note(WEB);

        assertEquals(List.of(), recover());

        RecoverTaskRequest request = host.driver.last(RecoverTaskRequest.class);
        assertEquals(HANDLE, request.getHandle());
        assertEquals("web-id", request.getTaskId());
    }

    @Test
    void aTaskOfAnUnknownBootMayBeOfThisOne() throws Exception {
        note(WEB, "runner", handle(), null);

        recover();

        assertEquals(1, host.driver.count("RecoverTask"));
    }

    @Test
    void tasksOfOtherDriversOtherBootsOrWithoutAHandleAreNot() throws Exception {
        note(WEB, "other", handle(), DriverMachine.BOOT);
        note(DB, "runner", handle(), DriverMachine.FORMER_BOOT);
        note(new WorkloadId(Kind.TASK, "third"), "runner", "", DriverMachine.BOOT);
        launches.write(DriverMachine.task(new WorkloadId(Kind.TASK, "fourth"), "launch", null));

        assertEquals(List.of(), recover());

        assertEquals(List.of(), host.driver.taskCalls());
    }

    @Test
    void aTaskThatIsKnownToHaveEndedIsNotRunAgain() throws Exception {
        Instance noted = note(WEB);
        Files.createFile(host.directory(noted).endedFile());
        Instance stored = note(DB);
        host.remember(stored.withPhase(Phase.ENDED, ""));

        assertEquals(List.of(), recover());

        assertEquals(List.of(), host.driver.taskCalls());
    }

    @Test
    void aTaskThatIsRememberedAsRunningIsTakenUp() throws Exception {
        host.remember(
                note(WEB),
                DriverMachine.task(WEB, "another", new Identity.Task("runner", "b", "", null, null))
                        .withPhase(Phase.ENDED, ""));

        recover();

        assertEquals(1, host.driver.count("RecoverTask"));
    }

    @Test
    void oneThatCouldNotBeTakenUpAndWasNeverInItsGroupsMayRun() throws Exception {
        note(WEB);
        note(DB);
        host.driver.failing("RecoverTask", Status.UNKNOWN);

        assertEquals(List.of("task/db", "task/web"), recover());
    }

    @Test
    void oneThatCouldNotBeTakenUpRunsIfItIsInItsGroups() throws Exception {
        Instance noted = note(WEB);
        Files.createFile(host.directory(noted).groupedFile());
        host.driver.failing("RecoverTask", Status.UNKNOWN);
        assertEquals(List.of(), recover());

        host.groups.enter(TaskPlace.of(host.layout, WEB).groups());
        assertEquals(List.of("task/web"), recover());

        host.groups.leave(TaskPlace.of(host.layout, WEB).groups());
        assertEquals(List.of(), recover());
    }

    @ParameterizedTest
    @ValueSource(strings = {"*", "AAAA"})
    void aDamagedHandleIsOneThatCouldNotBeTakenUp(String handle) throws Exception {
        note(WEB, "runner", handle, DriverMachine.BOOT);

        assertEquals(List.of("task/web"), recover());

        assertEquals(List.of(), host.driver.taskCalls());
    }

    @Test
    void aNoteThatCannotBeReadKeepsNoOtherTask() throws Exception {
        Instance damaged = note(WEB);
        Files.writeString(host.directory(damaged).noteFile(), "{");
        note(DB);

        assertEquals(List.of(), recover());

        assertEquals(1, host.driver.count("RecoverTask"));
    }

    @Test
    void aDriverIsNeededAsLongAsThereIsALaunchOfATaskOfIt() throws Exception {
        assertFalse(recovery.isNeeded("runner"));
        note(DB, "other", "", DriverMachine.FORMER_BOOT);
        launches.write(DriverMachine.task(new WorkloadId(Kind.TASK, "third"), "launch", null));
        assertFalse(recovery.isNeeded("runner"));

        note(WEB, "runner", "", DriverMachine.FORMER_BOOT);
        assertTrue(recovery.isNeeded("runner"));

        launches.forget(WEB, "launch");
        assertFalse(recovery.isNeeded("runner"));
    }
}
