package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause.Kind;
import io.homeostat.observe.driver.FailedStart;
import io.homeostat.proto.nomad.driver.DestroyTaskRequest;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec.NetworkIsolationMode;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskResponse;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests how tasks are stopped, destroyed and removed, with and without their driver. */
class TaskStopTest extends TaskTestBed {
    private static final String ENDED = "ended after the signal to stop";
    private static final String KILLED = "was killed with all of its processes";

    private static final Duration LONG = Duration.ofSeconds(30);

    /** Longer than any wait: each wait ends at the second look at the ticker. */
    private static final Duration AT_ONCE = Duration.ofMinutes(5);

    private Instance running;

    @BeforeEach
    void open() throws Exception {
        running = bench.running();
    }

    private static Lifecycle.Stop how(@Nullable String signal) {
        return new Lifecycle.Stop(Duration.ofSeconds(30), signal);
    }

    private String stop() throws Exception {
        return bench.runtime.stop(running, false, how(null));
    }

    private ActuationFailure stopFails() {
        return assertThrows(ActuationFailure.class, this::stop);
    }

    /** The last call but for those that only wait for an end, which are made in the background. */
    private String lastCall() {
        return bench.driver.taskCalls().stream()
                .filter(call -> !call.equals("WaitTask"))
                .toList()
                .getLast();
    }

    private boolean isForgotten() {
        return Files.exists(bench.tasks.forgottenNote(running));
    }

    private boolean isEnded() {
        return Files.exists(bench.tasks.endedNote(running));
    }

    private Path launch() {
        return bench.host.directory(running).path();
    }

    /** The task is in its control groups, as was seen when it started. */
    private void grouped() throws Exception {
        bench.host.groups.enter(bench.place.groups());
        Files.createFile(bench.tasks.groupedNote(running));
    }

    @ParameterizedTest
    @CsvSource({", SIGTERM", "SIGUSR1, SIGUSR1"})
    void aTaskIsStoppedAndForgottenByItsDriver(@Nullable String signal, String sent) throws Exception {
        String words = bench.runtime.stop(running, false, how(signal));

        StopTaskRequest request = bench.driver.last(StopTaskRequest.class);
        assertEquals(bench.taskId(), request.getTaskId());
        assertEquals(sent, request.getSignal());
        assertEquals(30, request.getTimeout().getSeconds());
        assertEquals("DestroyTask", lastCall());
        assertTrue(bench.driver.last(DestroyTaskRequest.class).getForce());
        assertTrue(isForgotten());
        assertFalse(isEnded());
        assertEquals(ENDED, words);
        assertEquals(List.of(), bench.host.groups.killed);
    }

    @Test
    void itsEndIsWaitedForBeforeItIsStopped() throws Exception {
        bench.driver.before(
                "StopTask", () -> Awaitility.await().atMost(LONG).until(() -> bench.driver.count("WaitTask") == 1));

        stop();

        assertEquals(1, bench.driver.count("StopTask"));
    }

    @Test
    void aTaskThatHasEndedIsOnlyForgotten() throws Exception {
        bench.driver.exited(bench.taskId(), ExitResult.getDefaultInstance());

        stop();

        assertEquals(List.of("InspectTask", "DestroyTask"), bench.driver.taskCalls());
    }

    @Test
    void whatTheDriverDoesNotEndInTimeIsKilledByItsGroups() throws Exception {
        grouped();
        bench.driver.answering("StopTask", StopTaskResponse.getDefaultInstance());
        bench.hurry(AT_ONCE);

        String words = stop();

        assertEquals(List.of(bench.host.groups.group(bench.place.groups())), bench.host.groups.killed);
        assertEquals(KILLED, words);
        assertTrue(isForgotten());
    }

    @ParameterizedTest
    @CsvSource({"StopTask", "InspectTask"})
    void whatTheDriverFailsToStopIsKilledByItsGroups(String call) throws Exception {
        grouped();
        bench.driver.failing(call, Status.INTERNAL);

        stop();

        assertEquals(1, bench.host.groups.killed.size());
        assertTrue(isForgotten());
    }

    @Test
    void whatTheDriverLeavesRunningIsKilledThoughItSaysThatTheTaskHasEnded() throws Exception {
        grouped();

        String words = stop();

        assertEquals(1, bench.host.groups.killed.size());
        assertEquals(KILLED, words);
    }

    @Test
    void aStopIsNotDoneAsLongAsTheDriverDoesNotSayThatItHasForgottenTheTask() {
        bench.driver.failing("DestroyTask", Status.UNAVAILABLE);

        assertEquals(Kind.CONNECTION_LOST, stopFails().failureCause().kind());

        assertFalse(isForgotten());
    }

    @Test
    void aDriverThatKnowsNoSuchTaskHasNothingToForget() throws Exception {
        bench.driver.failing("DestroyTask", Status.UNKNOWN);

        stop();

        assertTrue(isForgotten());
    }

    @Test
    void withoutADriverTheTaskIsKilledByItsGroupsAndNeverTakenUpAgain() throws Exception {
        grouped();
        bench.host.endProcess();
        bench.hurry(AT_ONCE);

        stop();

        assertEquals(1, bench.host.groups.killed.size());
        assertTrue(isEnded());
        assertTrue(isForgotten());
        assertEquals(List.of(), bench.driver.taskCalls());
    }

    @Test
    void withoutADriverATaskThatEndsAtTheSignalIsNotKilled() throws Exception {
        grouped();
        bench.host.forget(DriverMachine.RUNNER);
        AtomicInteger looks = new AtomicInteger();
        bench.onTick(() -> {
            if (looks.incrementAndGet() == 3) {
                bench.host.groups.leave(bench.place.groups());
            }
        });

        String words = stop();

        assertEquals(ENDED, words);
        assertEquals(List.of(), bench.host.groups.killed);
        assertTrue(isEnded());
        assertTrue(isForgotten());
    }

    @Test
    void withoutADriverATaskThatWasNeverInItsGroupsCannotBeStopped() throws Exception {
        bench.host.endProcess();
        bench.hurry(AT_ONCE);

        assertEquals(Kind.NO_CONNECTION, stopFails().failureCause().kind());

        assertFalse(isEnded());
        assertFalse(isForgotten());
    }

    @Test
    void withoutADriverALaunchThatWasNeverAskedForIsStopped() throws Exception {
        bench.host.forget(DriverMachine.RUNNER);
        running = TaskBench.intended();

        assertEquals("had ended already", stop());

        assertFalse(isEnded());
    }

    @Test
    void aDriverThatIsOnItsWayIsWaitedFor() throws Exception {
        bench.host.endProcess();
        AtomicInteger looks = new AtomicInteger();
        bench.onTick(() -> {
            if (looks.incrementAndGet() == 2) {
                bench.host.runProcess();
            }
        });

        stop();

        assertEquals(1, bench.driver.count("StopTask"));
        assertTrue(isForgotten());
    }

    @Test
    void whatIsDestroyedIsForgottenByItsDriverAndHasNoNotesAndNoGroups() throws Exception {
        bench.host.groups.enter(bench.place.groups());
        bench.driver.before("DestroyTask", () -> assertTrue(isEnded()));

        bench.runtime.destroy(running);

        assertEquals(List.of("DestroyTask"), bench.driver.taskCalls());
        assertEquals(1, bench.host.groups.killed.size());
        assertFalse(Files.exists(bench.host.groups.group(bench.place.groups())));
        assertFalse(Files.exists(launch()));
    }

    @Test
    void aDriverThatHasForgottenItIsNotAskedAgain() throws Exception {
        Files.createFile(bench.tasks.forgottenNote(running));

        bench.runtime.destroy(running);

        assertEquals(List.of(), bench.driver.taskCalls());
        assertFalse(Files.exists(launch()));
    }

    @Test
    void aDriverThatCannotBeAskedNowKeepsTheNotes() throws Exception {
        bench.host.endProcess();

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> bench.runtime.destroy(running));

        assertEquals(Kind.NO_CONNECTION, failure.failureCause().kind());
        assertTrue(isEnded());
        assertFalse(isForgotten());
        assertTrue(Files.exists(launch()));
    }

    @Test
    void aDriverThatIsGoneForGoodHasForgottenAll() throws Exception {
        bench.host.forget(DriverMachine.RUNNER);

        bench.runtime.destroy(running);

        assertFalse(Files.exists(launch()));
    }

    @Test
    void theGroupsStayForAnotherLaunchThatRuns() throws Exception {
        Instance other = DriverMachine.task(TaskBench.WEB, "fedcba9876543210", bench.identity(TaskBench.HANDLE));
        bench.host.remember(running, other);
        bench.host.groups.enter(bench.place.groups());

        bench.runtime.destroy(running);

        assertEquals(List.of(), bench.host.groups.killed);
        assertTrue(Files.exists(bench.host.groups.group(bench.place.groups())));
        assertFalse(Files.exists(launch()));
    }

    @Test
    void aLaunchThatIsOverKeepsNoGroups() throws Exception {
        Instance other = DriverMachine.task(TaskBench.WEB, "fedcba9876543210", bench.identity(TaskBench.HANDLE))
                .withPhase(Instance.Phase.ENDED, "");
        bench.host.remember(running, other);
        bench.host.groups.enter(bench.place.groups());

        bench.runtime.destroy(running);

        assertFalse(Files.exists(bench.host.groups.group(bench.place.groups())));
    }

    @Test
    void theOutputOfWhatIsDestroyedIsInItsLog() throws Exception {
        bench.create("");
        Files.writeString(TaskOutputs.out(launch()), "last words\n");

        bench.runtime.destroy(running);

        assertTrue(Files.readString(bench.host.layout.log(TaskBench.WEB)).contains("last words"));
    }

    @Test
    void nothingIsLeftOfATaskThatIsRemoved() throws Exception {
        bench.driver.capable(DriverCapabilities.newBuilder()
                .addNetworkIsolationModes(NetworkIsolationMode.NONE)
                .build());
        bench.create("network: {mode: none}");
        bench.host.groups.enter(bench.place.groups());
        bench.tasks.failedStarts().failed(bench.host.runner(), TaskBench.WEB, "words");
        bench.host.forget(TaskBench.WEB);

        bench.runtime.remove(TaskBench.WEB);

        assertEquals("DestroyTask", lastCall());
        assertFalse(Files.exists(launch()));
        assertFalse(Files.exists(bench.host.groups.group(bench.place.groups())));
        assertFalse(Files.exists(bench.place.root()));
        assertFalse(Files.exists(bench.host.layout.network(TaskBench.WEB)));
        assertEquals(List.of(), FailedStart.of(bench.host.directory(bench.host.runner())));
    }

    @Test
    void whatRunsInTheGroupsOfATaskThatIsRemovedIsKilled() throws Exception {
        bench.launches.forget(TaskBench.WEB, TaskBench.LAUNCH);
        bench.host.groups.enter(bench.place.groups());

        bench.runtime.remove(TaskBench.WEB);

        assertEquals(1, bench.host.groups.killed.size());
        assertFalse(Files.exists(bench.host.groups.group(bench.place.groups())));
    }

    @Test
    void upkeepCopiesOutput() throws Exception {
        bench.create("");
        Files.writeString(TaskOutputs.err(launch()), "so far\n");

        bench.runtime.upkeep();

        assertTrue(Files.readString(bench.host.layout.log(TaskBench.WEB)).contains("so far"));
    }

    @Test
    void upkeepRecordsWhatDriversTell() throws Exception {
        bench.host.machine.drivers().hearEvents();
        bench.tasks.session("runner", LONG);
        Awaitility.await().atMost(LONG).until(() -> bench.driver.listeners() == 1);
        bench.driver.tell(DriverTaskEvent.newBuilder()
                .setTaskId(bench.taskId())
                .setMessage("pulling an image")
                .build());

        Awaitility.await().atMost(LONG).until(() -> {
            bench.runtime.upkeep();
            return !bench.host.events.isEmpty();
        });

        assertEquals(TaskBench.WEB, bench.host.events.getFirst().workload());
        assertTrue(bench.host.events.getFirst().message().contains("pulling an image"));
    }
}
