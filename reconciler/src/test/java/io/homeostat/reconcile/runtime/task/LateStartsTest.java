package io.homeostat.reconcile.runtime.task;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the removal of tasks that a driver starts after the agent has given up waiting. */
class LateStartsTest extends TaskTestBed {
    private static final Duration LONG = Duration.ofSeconds(30);

    private LateStarts late;
    private Instance lost;

    /** A start that nobody remembers, and that the driver was never seen to answer. */
    @BeforeEach
    void open() throws Exception {
        late = new LateStarts(bench.host.machine, bench.tasks, bench.launches);
        lost = TaskBench.intended();
        begin(lost);
    }

    private void begin(Instance instance) throws Exception {
        bench.tasks.starts().begin(bench.host.runner(), instance, bench.tasks.taskId(instance));
        Files.setLastModifiedTime(startNote(instance), FileTime.from(bench.host.now()));
    }

    private Path startNote(Instance instance) {
        return bench.host
                .directory(bench.host.runner())
                .path()
                .resolve("starts")
                .resolve(instance.launchId());
    }

    private boolean isNoted() {
        return Files.exists(startNote(lost));
    }

    @Test
    void aTaskThatStartsTooLateIsDestroyed() {
        bench.driver.run(bench.taskId());

        late.look(false);

        assertEquals(List.of("InspectTask", "DestroyTask"), bench.driver.taskCalls());
        assertFalse(isNoted());
        assertTrue(bench.driver.tasks.isEmpty());
    }

    @Test
    void oneThatHasEndedMeanwhileIsDestroyedAsWell() {
        bench.driver.exited(bench.taskId(), ExitResult.getDefaultInstance());

        late.look(false);

        assertFalse(isNoted());
        assertEquals(1, bench.driver.count("DestroyTask"));
    }

    @Test
    void aStartThatHasNotHappenedYetIsKeptForAnHour() {
        late.look(true);
        assertTrue(isNoted());

        bench.host.pass(Duration.ofHours(1));
        late.look(true);
        assertTrue(isNoted());

        bench.host.pass(Duration.ofNanos(1));
        late.look(true);
        assertFalse(isNoted());
        assertEquals(0, bench.driver.count("DestroyTask"));
    }

    @Test
    void aStartThatIsOlderThanAMinuteIsLookedForLessOften() {
        bench.host.pass(Duration.ofMinutes(1));
        late.look(false);
        assertEquals(1, bench.driver.count("InspectTask"));

        bench.host.pass(Duration.ofNanos(1));
        late.look(false);
        assertEquals(1, bench.driver.count("InspectTask"));
        late.look(true);
        assertEquals(2, bench.driver.count("InspectTask"));
    }

    @Test
    void aStartThatIsUnderWayIsLeftAlone() {
        bench.driver.run(bench.taskId());
        bench.tasks.begun().begin(TaskBench.LAUNCH);

        late.look(true);

        assertEquals(List.of(), bench.driver.taskCalls());
        assertTrue(isNoted());
    }

    @Test
    void aLaunchThatIsRememberedIsLeftToWhoeverPlansIt() {
        bench.driver.run(bench.taskId());
        bench.host.remember(lost);

        late.look(true);

        assertEquals(List.of(), bench.driver.taskCalls());
        assertTrue(isNoted());
    }

    @Test
    void aLaunchThatIsOverIsNotWaitedFor() {
        bench.driver.run(bench.taskId());
        bench.host.remember(lost.withPhase(Phase.ENDED, ""));

        late.look(true);

        assertEquals(1, bench.driver.count("DestroyTask"));
    }

    @Test
    void aLaunchThatHasItsHandleWasAnswered() throws Exception {
        bench.driver.run(bench.taskId());
        bench.launches.write(bench.started());

        late.look(true);

        assertEquals(List.of(), bench.driver.taskCalls());
        assertFalse(isNoted());
    }

    @Test
    void aLaunchWithoutItsHandleIsDestroyed() throws Exception {
        bench.driver.run(bench.taskId());
        bench.launches.write(lost.withIdentity(bench.identity("")));

        late.look(true);

        assertEquals(1, bench.driver.count("DestroyTask"));
    }

    @Test
    void aLaunchWhoseNoteCannotBeReadIsLeftAlone() throws Exception {
        bench.driver.run(bench.taskId());
        bench.launches.write(bench.started());
        Files.writeString(bench.host.directory(lost).noteFile(), "{");

        late.look(true);

        assertEquals(List.of(), bench.driver.taskCalls());
        assertTrue(isNoted());
    }

    @Test
    void oneThatTheDriverDoesNotDestroyIsTriedAgain() {
        bench.driver.run(bench.taskId());
        bench.driver.failing("DestroyTask", Status.UNKNOWN);

        late.look(false);
        assertTrue(isNoted());

        bench.driver.recovering("DestroyTask");
        late.look(false);
        assertFalse(isNoted());
    }

    @Test
    void aDriverThatDoesNotAnswerIsAskedForOneStartOnly() throws Exception {
        Instance other = DriverMachine.task(new WorkloadId(Kind.TASK, "other"), "fedcba9876543210", null);
        begin(other);
        bench.driver.failing("InspectTask", Status.UNAVAILABLE);

        late.look(false);
        assertEquals(1, bench.driver.count("InspectTask"));

        bench.driver.failing("InspectTask", Status.INTERNAL);
        late.look(false);
        assertEquals(3, bench.driver.count("InspectTask"));
    }

    @Test
    void startsOfAFormerLaunchOfTheDriverEndedWithItsProcess() throws Exception {
        bench.host.remember(DriverMachine.runner("another-launch"));
        bench.driver.run(bench.taskId());

        late.look(true);

        assertEquals(List.of(), bench.driver.calls);
    }

    @Test
    void aDriverWithoutUnansweredStartsIsNotAsked() {
        bench.tasks.starts().answered(bench.host.runner(), TaskBench.LAUNCH);

        late.look(true);

        assertEquals(List.of(), bench.driver.calls);
    }

    @Test
    void aDriverThatDoesNotRunKeepsItsStarts() throws Exception {
        bench.host.endProcess();

        late.look(true);

        assertTrue(isNoted());
    }

    @Test
    void upkeepLooksOnceInFourTimes() {
        late.lookBeside();
        await().atMost(LONG).until(() -> bench.driver.count("InspectTask") == 1);
        for (int call = 1; call < 4; call++) {
            late.lookBeside();
        }
        // Nobody else looks once this has.
        await().atMost(LONG).until(() -> {
            late.look(true);
            return bench.driver.count("InspectTask") > 1;
        });
        assertEquals(2, bench.driver.count("InspectTask"));

        late.lookBeside();
        await().atMost(LONG).until(() -> bench.driver.count("InspectTask") == 3);
    }

    @Test
    void whatIsNotedOfAStartIsReadAgain() throws Exception {
        ImmutableList<UnansweredStarts.Start> starts =
                bench.tasks.starts().of(bench.host.directory(bench.host.runner()));

        assertEquals(
                List.of(new UnansweredStarts.Start(
                        TaskBench.WEB, TaskBench.LAUNCH, bench.taskId(), DriverMachine.START, startNote(lost))),
                starts);
    }

    @Test
    void aNoteThatIsNotWholeIsNoStart() throws Exception {
        Files.writeString(startNote(lost), "task/web");
        assertEquals(List.of(), bench.tasks.starts().of(bench.host.directory(bench.host.runner())));

        Files.writeString(startNote(lost), "no workload\nid\n");
        assertEquals(List.of(), bench.tasks.starts().of(bench.host.directory(bench.host.runner())));
    }

    @Test
    void aLaunchWithoutANoteHasNoStarts() throws Exception {
        Instance former = DriverMachine.runner("former");
        assertEquals(List.of(), bench.tasks.starts().of(bench.host.directory(former)));

        Path starts = bench.host.directory(former).path().resolve("starts");
        Files.createDirectories(bench.host.directory(former).path());
        Files.createFile(starts);
        assertEquals(List.of(), bench.tasks.starts().of(bench.host.directory(former)));
    }
}
