package io.homeostat.reconcile.agent.nomad;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.TaskStatus;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.agent.frontend.WorkloadLook.End;
import io.homeostat.reconcile.command.FrontEndCommand;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests how tasks of a Nomad client are stopped, signalled and destroyed, and how their end is reported. */
class NomadStopTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(5);
    private static final int TERM = 15;
    private static final int KILL = 9;

    @TempDir
    Path root;

    private NomadBench bench;
    private DrivenTask task;

    @BeforeEach
    void open() throws Exception {
        bench = new NomadBench(root);
        task = bench.start();
    }

    private static Status.Code code(Executable call) {
        return assertThrows(StatusRuntimeException.class, call).getStatus().getCode();
    }

    private static End killed(int signal) {
        return new End(null, signal, Exit.Reason.SIGNALED.name(), NomadBench.NOW);
    }

    /** The process ends when it gets this signal. */
    private void endsBy(int signal) {
        bench.process = (process, sent) -> {
            if (sent == signal) {
                bench.agent.change(bench.ended(killed(signal)));
            }
            return true;
        };
    }

    private void end(End end) {
        bench.agent.change(bench.ended(end));
        await().atMost(LONG).until(task::hasEnded);
    }

    /** For what is not over until the leeway is: the end that comes then is awaited by whoever causes it. */
    private void startWithShortLeeway() throws Exception {
        bench = new NomadBench(Files.createDirectories(root.resolve("short")), SHORT);
        task = bench.start();
    }

    @Test
    void aProcessIsPausedAndThenAskedToEnd() throws Exception {
        bench.agent.on("PAUSE", () -> assertEquals(List.of(), bench.signals));
        endsBy(TERM);

        bench.tasks.stop(NomadBench.ID, LONG, "");

        assertEquals(List.of("PAUSE"), bench.agent.calls());
        assertEquals(List.of(TERM), bench.signals);
        assertEquals(FrontEndCommand.STOPPED, bench.agent.holds().getFirst().reason());
        assertEquals(
                List.of(NomadBench.workload()),
                bench.agent.holds().getFirst().selection().names());
        assertEquals(TERM, task.status().getResult().getSignal());
    }

    @ParameterizedTest
    @CsvSource({"SIGUSR1, 10", "SIGNONE, 15", "'', 15"})
    void itGetsTheSignalOfTheClientIfThereIsOne(String signal, int number) throws Exception {
        endsBy(number);

        bench.tasks.stop(NomadBench.ID, LONG, signal);

        assertEquals(List.of(number), bench.signals);
        assertEquals(signal.equals("SIGNONE"), bench.said().contains("SIGNONE"));
    }

    @Test
    void aProcessWithoutTimeIsKilled() throws Exception {
        endsBy(KILL);

        bench.tasks.stop(NomadBench.ID, Duration.ZERO, "SIGTERM");

        // Until its end is seen, it may be killed again.
        assertEquals(Set.of(KILL), Set.copyOf(bench.signals));
    }

    @Test
    void aProcessThatDoesNotEndInTimeIsKilled() throws Exception {
        endsBy(KILL);

        bench.tasks.stop(NomadBench.ID, SHORT, "SIGTERM");

        assertEquals(List.of(TERM, KILL), bench.signals);
        assertEquals(List.of("PAUSE"), bench.agent.calls());
    }

    @Test
    void whatDoesNotEndByASignalIsStoppedByTheAgent() throws Exception {
        startWithShortLeeway();
        bench.agent.on("STOP", () -> end(killed(KILL)));

        bench.tasks.stop(NomadBench.ID, SHORT, "");

        assertEquals(List.of("PAUSE", "STOP"), bench.agent.calls());
        assertTrue(task.hasEnded());
    }

    @Test
    void aProcessThatIsGoneIsNotKilled() throws Exception {
        startWithShortLeeway();
        bench.process = (process, signal) -> false;
        bench.agent.on("STOP", () -> end(killed(KILL)));

        bench.tasks.stop(NomadBench.ID, SHORT, "");

        assertEquals(List.of(TERM), bench.signals);
    }

    @Test
    void aTaskBetweenTwoProcessesIsStoppedByTheAgent() throws Exception {
        startWithShortLeeway();
        bench.agent.change(bench.pending());
        bench.agent.on("STOP", () -> end(NomadBench.exit(0)));

        bench.tasks.stop(NomadBench.ID, SHORT, "");

        assertEquals(List.of(), bench.signals);
        assertEquals(List.of("PAUSE", "STOP"), bench.agent.calls());
    }

    @Test
    void aStopWhoseEndIsNotKnownHasFailed() throws Exception {
        startWithShortLeeway();
        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.stop(NomadBench.ID, SHORT, "")));

        assertEquals(List.of("PAUSE", "STOP"), bench.agent.calls());
        assertFalse(task.hasEnded());
    }

    @Test
    void whatIsNotThereOrHasEndedIsStopped() throws Exception {
        bench.tasks.stop("alloc/other/1", SHORT, "");
        end(NomadBench.exit(0));
        bench.tasks.stop(NomadBench.ID, SHORT, "");

        assertEquals(List.of(), bench.agent.calls());
    }

    @ParameterizedTest
    @CsvSource({"PAUSE", "STOP"})
    void anAgentThatDoesNotDoItIsAFailure(String hold) throws Exception {
        startWithShortLeeway();
        bench.agent.failNext(hold, FakeAgent.refused());

        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.stop(NomadBench.ID, SHORT, "")));
    }

    @Test
    void aSignalThatCannotBeSentIsAFailure() {
        bench.signalsFail = true;

        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.stop(NomadBench.ID, SHORT, "")));
    }

    @Test
    void theAgentHasSomeTimeMoreThanTheTask() throws Exception {
        startWithShortLeeway();
        bench.agent.on("STOP", () -> end(NomadBench.exit(0)));

        bench.tasks.stop(NomadBench.ID, Duration.ofMillis(3), "");

        assertEquals(SHORT, bench.agent.holds().getFirst().timeout());
        assertEquals(SHORT.plusMillis(3), bench.agent.holds().getLast().timeout());
    }

    private void startPlugin() throws Exception {
        WorkloadId plugin = TaskDocument.workload(NomadBench.ID, true);
        bench = new NomadBench(Files.createDirectories(root.resolve("plugin")));
        bench.agent.on("declare", () -> bench.agent.change(NomadBench.of(bench.running(), plugin)));
        task = bench.tasks.start(NomadBench.plugin());
        bench.agent.calls().clear();
        bench.agent.on("declare", () -> {});
        bench.agent.on(
                "STOP",
                () -> bench.agent.change(NomadBench.of(
                        bench.ended(new End(null, 0, Exit.Reason.STOPPED.name(), NomadBench.NOW)), plugin)));
    }

    @ParameterizedTest
    @CsvSource({"5000, SIGTERM, 5000ms", "0, SIGKILL, 1ms"})
    void aPluginIsAskedByItsProtocolWithTheTimeOfTheClient(long millis, String signal, String timeout)
            throws Exception {
        startPlugin();

        bench.tasks.stop(NomadBench.ID, Duration.ofMillis(millis), "SIGUSR1");

        assertEquals(List.of("declare " + NomadBench.ID, "STOP"), bench.agent.calls());
        assertTrue(bench.agent
                .declared()
                .toString()
                .contains("\"stop\":{\"timeout\":\"" + timeout + "\",\"signal\":\"" + signal + "\"}"));
        assertEquals(List.of(), bench.signals);
        assertEquals(0, task.status().getResult().getExitCode());
    }

    @Test
    void aSignalGoesToTheProcessThatThereIsNow() throws Exception {
        bench.tasks.signal(task, "SIGHUP");
        assertEquals(List.of(1), bench.signals);

        assertEquals(Status.Code.INVALID_ARGUMENT, code(() -> bench.tasks.signal(task, "HUP")));
        bench.process = (process, signal) -> false;
        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.signal(task, "SIGHUP")));
        bench.agent.change(bench.pending());
        bench.process = (process, signal) -> true;
        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.signal(task, "SIGHUP")));
        assertEquals(List.of(1, 1), bench.signals);
    }

    @Test
    void aTaskThatRunsIsDestroyedOnlyByForce() throws Exception {
        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.destroy(NomadBench.ID, false)));
        assertEquals(List.of(), bench.agent.calls());

        endsBy(KILL);
        bench.tasks.destroy(NomadBench.ID, true);

        assertEquals(Set.of(KILL), Set.copyOf(bench.signals));
        assertEquals(List.of("PAUSE", "withdraw " + NomadBench.workload()), bench.agent.calls());
        assertThrows(StatusRuntimeException.class, () -> bench.tasks.get(NomadBench.ID));
    }

    @Test
    void aTaskThatHasEndedIsDestroyedWithItsMark() throws Exception {
        end(NomadBench.exit(0));
        bench.tasks.tells(task);
        assertTrue(Files.exists(bench.mark()));

        bench.tasks.destroy(NomadBench.ID, false);

        assertEquals(List.of("withdraw " + NomadBench.workload()), bench.agent.calls());
        assertFalse(Files.exists(bench.mark()));
        assertThrows(StatusRuntimeException.class, () -> bench.tasks.get(NomadBench.ID));
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void aTaskThatWasNotRecoveredIsWhicheverTheAgentHas(boolean plugin) throws Exception {
        bench = new NomadBench(Files.createDirectories(root.resolve("another")));
        WorkloadId id = TaskDocument.workload(NomadBench.ID, plugin);
        bench.agent.change(NomadBench.of(bench.running(), id));

        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.destroy(NomadBench.ID, false)));
        assertEquals(List.of(), bench.agent.calls());

        bench.tasks.destroy(NomadBench.ID, true);
        assertEquals(List.of("withdraw " + id), bench.agent.calls());
    }

    @Test
    void aTaskThatIsNotThereIsDestroyed() throws Exception {
        bench.tasks.destroy("alloc/other/1", false);

        assertEquals(List.of(), bench.agent.calls());
    }

    @Test
    void aTaskThatCannotBeWithdrawnIsKept() {
        end(NomadBench.exit(0));
        bench.agent.failNext("withdraw", FakeAgent.refused());

        assertEquals(Status.Code.UNKNOWN, code(() -> bench.tasks.destroy(NomadBench.ID, false)));

        assertEquals(task, bench.tasks.get(NomadBench.ID));
    }

    @Test
    void theEndOfATaskIsThatOfItsLastProcess() {
        end(new End(null, KILL, Exit.Reason.OOM_KILLED.name(), NomadBench.NOW.minusSeconds(1)));

        TaskStatus status = task.status();
        assertEquals(KILL, status.getResult().getSignal());
        assertTrue(status.getResult().getOomKilled());
        assertEquals(
                NomadBench.NOW.minusSeconds(1).getEpochSecond(),
                status.getCompletedAt().getSeconds());
    }

    @Test
    void ofATaskThatWasRemovedTheEndIsNotKnown() throws Exception {
        bench.agent.remove(NomadBench.workload());

        Ending ending = task.end().get(30, java.util.concurrent.TimeUnit.SECONDS);

        assertFalse(ending.error().isEmpty());
        assertEquals(-1, ending.result().getExitCode());
        assertEquals(NomadBench.NOW, ending.at());
    }

    @Test
    void theFirstEndCounts() {
        end(NomadBench.exit(3));
        bench.agent.change(bench.ended(NomadBench.exit(4)));

        assertFalse(task.ended(Ending.of(NomadBench.exit(5))));
        assertEquals(3, task.status().getResult().getExitCode());
    }

    private List<String> told() {
        return bench.listener.answers.stream().map(DriverTaskEvent::getMessage).toList();
    }

    @Test
    void aRestartIsTold() {
        WorkloadLook again = NomadBench.restarted(bench.running(), 1, NomadBench.exit(7));
        bench.agent.change(again);
        await().atMost(LONG).until(() -> told().size() == 1);
        assertTrue(told().getFirst().contains("7"));

        DriverTaskEvent event = bench.listener.answers.getFirst();
        assertEquals(NomadBench.ID, event.getTaskId());
        assertEquals("alloc", event.getAllocId());
        assertEquals("web", event.getTaskName());

        bench.agent.change(NomadBench.restarted(bench.running(), 2, null));
        await().atMost(LONG).until(() -> told().size() == 2);
        assertFalse(task.hasEnded());
    }

    @Test
    void aProblemIsToldOnce() {
        bench.agent.change(bench.look(false, NomadBench.PROCESS, null, false, "its probe fails"));
        await().atMost(LONG).until(() -> told().size() == 1);
        assertEquals("its probe fails", told().getFirst());

        bench.agent.change(bench.look(false, null, null, false, "its probe fails"));
        bench.agent.change(bench.look(false, null, null, false, "another one"));
        await().atMost(LONG).until(() -> told().contains("another one"));
        bench.agent.change(bench.look(false, null, null, false, ""));
        bench.agent.change(bench.look(false, null, null, false, "the last one"));
        await().atMost(LONG).until(() -> told().contains("the last one"));

        assertEquals(List.of("its probe fails", "another one", "the last one"), told());
    }

    @Test
    void whoeverReadsSlowlyMissesEvents() {
        FakeCall<DriverTaskEvent> other = new FakeCall<>();
        bench.events.listen(other);
        bench.listener.ready = false;
        bench.agent.change(bench.look(false, NomadBench.PROCESS, null, false, "missed"));
        // Listeners are told in their order.
        await().atMost(LONG).until(() -> !other.answers.isEmpty());
        bench.listener.ready = true;
        bench.agent.change(bench.look(false, NomadBench.PROCESS, null, false, "heard"));
        await().atMost(LONG).until(() -> !told().isEmpty());
        assertEquals(List.of("heard"), told());

        bench.listener.cancel();
        bench.events.tell(task.config(), "to nobody");
        assertEquals(List.of("heard"), told());
    }

    @Test
    void thatNomadIsToldOfTheEndIsWrittenDownForTheNextInstance() {
        bench.tasks.tells(task);
        bench.tasks.tells(task);

        assertTrue(Files.exists(bench.mark()));
    }

    @Test
    void aMarkThatCannotBeWrittenIsAWarning() throws Exception {
        Files.createDirectories(bench.mark().resolve("in the way"));

        bench.tasks.tells(task);

        assertTrue(bench.said().contains("warn"));
    }
}
