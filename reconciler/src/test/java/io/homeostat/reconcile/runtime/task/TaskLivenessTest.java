package io.homeostat.reconcile.runtime.task;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import com.google.protobuf.Timestamp;
import io.grpc.Status;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.process.Account;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatus;
import io.homeostat.reconcile.runtime.DriverMachine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what is observed of a task: by its driver, its control groups and the notes on its launch. */
class TaskLivenessTest extends TaskTestBed {
    private static final Duration LONG = Duration.ofSeconds(30);

    private TaskObserver observer;

    @BeforeEach
    void open() throws Exception {
        observer = new TaskObserver(bench.host.machine, bench.tasks, bench.host.groups.cgroups());
    }

    @AfterEach
    void close() throws Exception {
        observer.close();
    }

    private Observation<ImmutableList<ObservedInstance>> look(Instance instance) {
        bench.host.remember(instance);
        return observer.look(TaskBench.WEB, ImmutableList.of(instance), Checks.NONE);
    }

    private Observation<Liveness> withdrawn(Instance instance, Predicate<WorkloadId> declared) {
        bench.host.remember(instance);
        return observer.look(TaskBench.WEB, ImmutableList.of(instance), Checks.withdrawn(declared))
                .map(seen -> Iterables.getOnlyElement(seen).liveness());
    }

    private Liveness liveness(Instance instance) {
        return switch (look(instance)) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(var seen) ->
                Iterables.getOnlyElement(seen).liveness();
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) -> fail(why);
        };
    }

    private void assertUnseen(Instance instance) {
        assertInstanceOf(Observation.Unseen.class, look(instance));
    }

    private static void assertEnded(Exit.Reason reason, Instant at, Liveness liveness) {
        Exit exit = assertInstanceOf(Liveness.Ended.class, liveness).exit();
        assertEquals(reason, exit.reason());
        assertEquals(at, exit.at());
    }

    private void assertLeft(int processes, Liveness liveness) {
        Liveness.Orphaned orphaned = assertInstanceOf(Liveness.Orphaned.class, liveness);
        assertEquals(processes, orphaned.survivors());
        assertEquals(Exit.Reason.UNKNOWN, orphaned.exit().reason());
    }

    private void grouped(Instance instance) throws Exception {
        bench.launches.write(instance);
        Files.createFile(bench.tasks.groupedNote(instance));
    }

    private Instance withIdentity(@Nullable Identity identity) {
        return DriverMachine.task(TaskBench.WEB, TaskBench.LAUNCH, identity);
    }

    private static ExitResult result(int code, int signal) {
        return ExitResult.newBuilder().setExitCode(code).setSignal(signal).build();
    }

    @Test
    void aTaskOfWhichItsDriverSaysSoRuns() throws Exception {
        Instance running = bench.running();
        bench.host.pass(Duration.ofMinutes(2));

        Liveness.Running seen = assertInstanceOf(Liveness.Running.class, liveness(running));

        assertEquals(running.identity(), seen.identity());
        assertEquals(Duration.ofMinutes(2), seen.age());
        assertTrue(seen.listening());
        assertNull(seen.health());
        await().atMost(LONG).until(() -> bench.driver.count("WaitTask") == 1);
    }

    /** The directories of one that runs are those that its agent has made, which may have been an older version. */
    @Test
    void whoLooksAtATaskThatRunsClosesItsDirectoriesToAllButItsUserWhereThatIsKnown() throws Exception {
        assumeTrue(Account.ourUid() == 0, "only root runs tasks as others");
        Instance running = bench.running();
        Path root = Files.createDirectories(bench.place.directory()).getParent();
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx--x--x"));
        bench.host.remember(running);

        assertInstanceOf(
                Observation.Seen.class,
                observer.look(TaskBench.WEB, ImmutableList.of(running), instance -> TaskBench.spec("")));
        assertEquals(PosixFilePermissions.fromString("rwx--x--x"), Files.getPosixFilePermissions(root));

        assertInstanceOf(
                Observation.Seen.class,
                observer.look(TaskBench.WEB, ImmutableList.of(running), instance -> TaskBench.spec("user: nobody")));

        assertEquals(PosixFilePermissions.fromString("rwx--x---"), Files.getPosixFilePermissions(root));
        assertEquals(65_534, Files.getAttribute(root, "unix:gid"));
    }

    @Test
    void aTaskThatIsInItsGroupsAndFollowedIsNotAskedForAgainForSomeMinutes() throws Exception {
        Instance running = bench.running();
        bench.host.groups.enter(bench.place.groups());
        liveness(running);
        await().atMost(LONG).until(() -> bench.driver.count("WaitTask") == 1);

        bench.host.pass(Duration.ofMinutes(5).minusNanos(1));
        assertInstanceOf(Liveness.Running.class, liveness(running));
        assertEquals(1, bench.driver.count("InspectTask"));

        bench.host.pass(Duration.ofNanos(1));
        assertInstanceOf(Liveness.Running.class, liveness(running));
        assertEquals(2, bench.driver.count("InspectTask"));

        bench.host.groups.leave(bench.place.groups());
        assertInstanceOf(Liveness.Running.class, liveness(running));
        assertEquals(3, bench.driver.count("InspectTask"));
    }

    @Test
    void aLaunchWhoseEndIsStoredHasEnded() {
        assertEnded(
                Exit.Reason.UNKNOWN,
                DriverMachine.START,
                liveness(bench.started().withPhase(Instance.Phase.ENDED, "")));
        assertEquals(0, bench.driver.calls.size());
    }

    @Test
    void aLaunchThatIsBeingCreatedIsPending() {
        bench.tasks.begun().begin(TaskBench.LAUNCH);

        assertInstanceOf(Liveness.Pending.class, liveness(TaskBench.intended()));
    }

    @Test
    void aLaunchThatIsNotedAsEndedWasStopped() throws Exception {
        Instance running = bench.running();
        Files.createFile(bench.tasks.endedNote(running));

        assertEnded(Exit.Reason.STOPPED, DriverMachine.START, liveness(running));
    }

    @Test
    void aLaunchThatNobodyWasAskedForHasEnded() {
        assertEnded(Exit.Reason.UNKNOWN, DriverMachine.START, liveness(TaskBench.intended()));
    }

    @Test
    void whatIsInTheGroupsOfALaunchWithoutIdentityIsLeftOver() throws Exception {
        bench.host.groups.enter(bench.place.groups());

        assertLeft(1, liveness(TaskBench.intended()));
    }

    @Test
    void theIdentityThatWasNotedBeforeACrashCompletesTheLaunch() throws Exception {
        bench.running();

        assertInstanceOf(Liveness.Running.class, liveness(TaskBench.intended()));
    }

    @Test
    void aTaskOfAnotherBootHasEndedWithIt() {
        Identity former =
                new Identity.Task("runner", bench.taskId(), TaskBench.HANDLE, null, DriverMachine.FORMER_BOOT);

        assertEnded(Exit.Reason.UNKNOWN, DriverMachine.BOOT_TIME, liveness(withIdentity(former)));
        assertEquals(0, bench.driver.calls.size());
    }

    @Test
    void aTaskThatRunsWithoutAHandleCannotBeTakenUp() {
        bench.driver.run(bench.taskId());

        assertLeft(1, liveness(withIdentity(bench.identity(""))));
    }

    @Test
    void aTaskThatHasEndedWithoutAHandleLeavesWhatIsInItsGroups() throws Exception {
        bench.driver.exited(bench.taskId(), result(0, 0));
        assertInstanceOf(Liveness.Ended.class, liveness(withIdentity(bench.identity(""))));

        bench.host.groups.enter(bench.place.groups());
        assertLeft(1, liveness(withIdentity(bench.identity(""))));
    }

    @Test
    void aStartThatWasNotAnsweredIsWaitedForForSomeTime() throws Exception {
        Instance interrupted = withIdentity(bench.identity(""));
        bench.tasks.starts().begin(bench.host.runner(), interrupted, bench.taskId());

        assertInstanceOf(Liveness.Pending.class, liveness(interrupted));
        bench.host.pass(Duration.ofSeconds(30).minusNanos(1));
        assertInstanceOf(Liveness.Pending.class, liveness(interrupted));
        bench.host.pass(Duration.ofNanos(1));
        assertInstanceOf(Liveness.Ended.class, liveness(interrupted));
    }

    @Test
    void aStartThatWasAnsweredOrAskedOfAnotherLaunchOfTheDriverIsNotWaitedFor() throws Exception {
        Instance interrupted = withIdentity(bench.identity(""));

        assertInstanceOf(Liveness.Ended.class, liveness(interrupted));
        bench.tasks.starts().begin(DriverMachine.runner("former"), interrupted, bench.taskId());
        assertInstanceOf(Liveness.Ended.class, liveness(interrupted));
    }

    @Test
    void aTaskWithoutAHandleOfADriverThatIsGoneIsWhatIsInItsGroups() throws Exception {
        bench.host.endProcess();
        assertInstanceOf(Liveness.Ended.class, liveness(withIdentity(bench.identity(""))));

        bench.host.groups.enter(bench.place.groups());
        assertLeft(1, liveness(withIdentity(bench.identity(""))));
    }

    @Test
    void aTaskThatItsDriverDoesNotKnowIsWhatIsInItsGroups() throws Exception {
        assertEnded(Exit.Reason.UNKNOWN, DriverMachine.START, liveness(bench.started()));

        bench.host.groups.enter(bench.place.groups());
        assertLeft(1, liveness(bench.started()));
    }

    @Test
    void aDriverThatDoesNotAnswerSaysNothingOfItsTasks() throws Exception {
        Instance running = bench.running();
        bench.driver.failing("InspectTask", Status.UNAVAILABLE);

        assertUnseen(running);
    }

    @Test
    void withoutADriverATaskInItsGroupsRuns() throws Exception {
        Instance running = bench.running();
        bench.host.groups.enter(bench.place.groups());
        bench.host.endProcess();

        assertInstanceOf(Liveness.Running.class, liveness(running));
    }

    @Test
    void withoutADriverThatComesBackATaskThatWasInItsGroupsHasEnded() throws Exception {
        Instance running = bench.started();
        grouped(running);
        bench.host.forget(DriverMachine.RUNNER);

        assertEnded(Exit.Reason.UNKNOWN, DriverMachine.START, liveness(running));
    }

    @Test
    void aDriverThatComesBackWillKnowHowATaskHasEnded() throws Exception {
        Instance running = bench.started();
        grouped(running);
        bench.host.endProcess();

        assertUnseen(running);
    }

    @Test
    void withoutADriverATaskThatWasNeverInItsGroupsMayRun() {
        bench.host.forget(DriverMachine.RUNNER);

        assertUnseen(bench.started());
    }

    @Test
    void ofATaskThatNobodyWantsADriverThatMayReturnWillTell() {
        bench.host.forget(DriverMachine.RUNNER);

        assertInstanceOf(Observation.Unseen.class, withdrawn(bench.started(), DriverMachine.RUNNER::equals));
    }

    @Test
    void ofATaskThatNobodyWantsADriverThatIsGoneForGoodIsNotAwaited() throws Exception {
        bench.host.forget(DriverMachine.RUNNER);
        assertEquals(
                Observation.seen(
                        new Liveness.Ended(new Exit(null, null, Exit.Reason.DRIVER_GONE, DriverMachine.START))),
                withdrawn(bench.started(), _ -> false));

        bench.host.groups.enter(bench.place.groups());
        assertInstanceOf(
                Liveness.Running.class, withdrawn(bench.started(), _ -> false).orElse(new Liveness.Pending()));
    }

    @Test
    void ofATaskThatNobodyWantsADriverThatIsThereIsAsked() throws Exception {
        Instance running = bench.running();
        bench.driver.failing("InspectTask", Status.INTERNAL);

        assertInstanceOf(Observation.Unseen.class, withdrawn(running, _ -> false));
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 0, EXITED", "3, 0, 3, EXITED", "0, 15, 143, SIGNALED", "7, 15, 7, SIGNALED"})
    void theExitIsThatWhichTheDriverTells(int code, int signal, int shown, Exit.Reason reason) {
        bench.driver.exited(bench.taskId(), result(code, signal));

        Exit exit = assertInstanceOf(Liveness.Ended.class, liveness(bench.started()))
                .exit();

        assertEquals(new Exit(shown, signal == 0 ? null : signal, reason, DriverMachine.START), exit);
    }

    @Test
    void theTimeOfTheEndIsThatWhichTheDriverTells() {
        bench.driver.tasks.put(
                bench.taskId(),
                TaskStatus.newBuilder()
                        .setState(TaskState.EXITED)
                        .setCompletedAt(Timestamp.newBuilder().setSeconds(1000).setNanos(7))
                        .build());

        assertEnded(Exit.Reason.EXITED, Instant.ofEpochSecond(1000, 7), liveness(bench.started()));
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, 1L << 62})
    void aTimeOfTheEndThatCanNotBeIsNoTime(long seconds) {
        bench.driver.tasks.put(
                bench.taskId(),
                TaskStatus.newBuilder()
                        .setState(TaskState.EXITED)
                        .setCompletedAt(Timestamp.newBuilder().setSeconds(seconds))
                        .build());

        assertEnded(Exit.Reason.EXITED, DriverMachine.START, liveness(bench.started()));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 1, false, EXITED",
        "1, 0, 0, false, EXITED",
        "1, 0, 1, false, OOM_KILLED",
        "0, 9, 1, false, OOM_KILLED",
        "0, 0, 0, true, OOM_KILLED"
    })
    void memoryRanOutWhenTheDriverOrTheKernelSaysSo(int code, int signal, int kills, boolean told, Exit.Reason reason)
            throws Exception {
        bench.host.groups.enter(bench.place.groups());
        Files.writeString(
                bench.host.groups.group(bench.place.groups()).resolve("memory.events"), "oom_kill " + kills + "\n");
        bench.host.groups.leave(bench.place.groups());
        bench.driver.exited(
                bench.taskId(),
                result(code, signal).toBuilder().setOomKilled(told).build());

        Exit exit = assertInstanceOf(Liveness.Ended.class, liveness(bench.started()))
                .exit();

        assertEquals(reason, exit.reason());
    }

    @Test
    void whoWatchesATaskIsToldOfItsEndWithItsLastWordsInTheLog() throws Exception {
        Identity.Task created = bench.create("");
        Instance running = TaskBench.intended().withIdentity(created);
        AtomicInteger ends = new AtomicInteger();
        observer.watch(running, ends::incrementAndGet);
        await().atMost(LONG).until(() -> bench.driver.count("WaitTask") == 1);
        Files.writeString(TaskOutputs.out(bench.host.layout.launch(TaskBench.WEB, TaskBench.LAUNCH)), "last words\n");

        bench.driver.end(bench.taskId(), result(0, 0));

        await().atMost(LONG).until(() -> ends.get() == 1);
        assertTrue(Files.readString(bench.host.layout.log(TaskBench.WEB)).contains("last words"));
    }

    @Test
    void whoWatchesIsToldAlsoByAnotherLaunchOfTheDriver() throws Exception {
        Instance running = bench.running();
        AtomicInteger ends = new AtomicInteger();
        bench.host.endProcess();
        observer.watch(running, ends::incrementAndGet);
        bench.host.runProcess();
        liveness(running);
        await().atMost(LONG).until(() -> bench.driver.count("WaitTask") >= 1);

        bench.driver.end(bench.taskId(), result(0, 0));

        await().atMost(LONG).until(() -> ends.get() > 0);
    }

    @Test
    void whoWatchesIsNotToldOnceTheObserverIsClosed() throws Exception {
        Instance running = bench.running();
        AtomicInteger ends = new AtomicInteger();
        observer.watch(running, ends::incrementAndGet);
        await().atMost(LONG).until(() -> bench.driver.count("WaitTask") == 1);
        observer.close();

        bench.driver.end(bench.taskId(), result(0, 0));
        await().atMost(LONG).until(() -> !bench.tasks.session("runner", LONG).isKnownToRun(bench.taskId(), LONG));

        assertEquals(0, ends.get());
    }

    @Test
    void aProbeIsAskedOnlyWhereItIsWanted() throws Exception {
        Instance running = bench.running();
        Workload declared = TaskBench.web("probe: {exec: {command: [/bin/true]}}");
        bench.host.pass(Duration.ofSeconds(10));
        observer.look(TaskBench.WEB, ImmutableList.of(running), Checks.NONE);
        assertEquals(0, bench.driver.count("ExecTask"));

        observer.look(TaskBench.WEB, ImmutableList.of(running), instance -> declared.spec());

        assertEquals(1, bench.driver.count("ExecTask"));
    }
}
