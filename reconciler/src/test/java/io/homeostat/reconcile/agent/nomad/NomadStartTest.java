package io.homeostat.reconcile.agent.nomad;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.structs.RecoverableError;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests how tasks of a Nomad client are started and recovered, whatever the agent reports meanwhile. */
class NomadStartTest {
    private static final String NOT_FOUND = "task not found for given id";

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final String DECLARE = "declare " + NomadBench.ID;

    @TempDir
    Path root;

    private NomadBench bench;

    @BeforeEach
    void open() throws Exception {
        bench = new NomadBench(root);
        bench.agent.on("declare", () -> bench.agent.change(bench.running()));
    }

    private static String withdraw() {
        return "withdraw " + NomadBench.workload();
    }

    private StatusRuntimeException startFails(TaskConfig config) {
        return assertThrows(StatusRuntimeException.class, () -> bench.tasks.start(config));
    }

    private static Status.Code code(StatusRuntimeException failure) {
        return failure.getStatus().getCode();
    }

    private static void assertRecoverable(StatusRuntimeException failure) throws Exception {
        assertEquals(Status.Code.FAILED_PRECONDITION, code(failure));
        assertTrue(Objects.requireNonNull(StatusProto.fromThrowable(failure))
                .getDetails(0)
                .unpack(RecoverableError.class)
                .getRecoverable());
    }

    private static CommandFailure wrong() {
        return new CommandFailure(
                "wrong", ImmutableList.of(new Problem(Problem.Kind.UNSPECIFIED, "", "f", 1, 1, "", "wrong")));
    }

    @Test
    void aTaskIsDeclaredAndHasStartedOnceItHasAProcess() throws Exception {
        DrivenTask task = bench.tasks.start(NomadBench.config());

        assertEquals(List.of(DECLARE), bench.agent.calls());
        assertEquals(NomadBench.workload(), task.workload());
        assertEquals(
                NomadBench.STARTED.getEpochSecond(),
                task.status().getStartedAt().getSeconds());
        assertEquals(TaskState.RUNNING, task.status().getState());
        assertSame(task, bench.tasks.get(NomadBench.ID));
    }

    @Test
    void aTaskThatIsStartedAgainIsTheSame() throws Exception {
        DrivenTask task = bench.tasks.start(NomadBench.config());

        assertSame(task, bench.tasks.start(NomadBench.config()));

        assertEquals(List.of(DECLARE), bench.agent.calls());
    }

    @Test
    void aTaskThatTheAgentKnowsIsNotDeclaredAgain() throws Exception {
        bench.agent.change(bench.running());

        bench.tasks.start(NomadBench.config());

        assertEquals(List.of(), bench.agent.calls());
    }

    @Test
    void aTaskThatIsNotThereIsNotFound() {
        StatusRuntimeException failure =
                assertThrows(StatusRuntimeException.class, () -> bench.tasks.get(NomadBench.ID));

        assertEquals(NOT_FOUND, failure.getStatus().getDescription());
    }

    @Test
    void aTaskWithoutADirectoryOrANameIsInvalid() {
        TaskConfig config = NomadBench.config();

        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                code(startFails(config.toBuilder().setAllocDir("alloc").build())));
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                code(startFails(config.toBuilder().setName("").build())));
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                code(startFails(config.toBuilder()
                        .setMsgpackDriverConfig(ByteString.EMPTY)
                        .build())));
        assertEquals(List.of(), bench.agent.calls());
    }

    @Test
    void formerStartsThatWereNotDestroyedAreRemovedFirst() throws Exception {
        WorkloadId other = TaskDocument.workload("alloc/web/0000", false);
        WorkloadLook former = NomadBench.of(bench.running(), other);
        bench.agent.change(former);
        bench.agent.addFormer(former);

        bench.tasks.start(NomadBench.config());

        assertEquals(List.of("withdraw " + other, DECLARE), bench.agent.calls());
    }

    @Test
    void aVariableThatNoShellCouldUseIsLeftOutWithAWarning() throws Exception {
        bench.tasks.start(NomadBench.config().toBuilder()
                .putEnv("GOOD", "1")
                .putEnv("not-good", "2")
                .build());

        assertTrue(bench.said().contains("not-good"));
        assertFalse(bench.said().contains("GOOD"));
        String declared = bench.agent.declared().toString();
        assertTrue(declared.contains("GOOD") && !declared.contains("not-good"), declared);
    }

    @Test
    void aDocumentThatTheAgentFindsWrongIsTheFaultOfTheJob() {
        bench.agent.failNext("declare", wrong());

        assertEquals(Status.Code.INVALID_ARGUMENT, code(startFails(NomadBench.config())));
    }

    @Test
    void anAgentThatRefusesIsAReasonToTryAgain() throws Exception {
        bench.agent.failNext("declare", FakeAgent.refused());

        assertRecoverable(startFails(NomadBench.config()));

        assertEquals(List.of(DECLARE), bench.agent.calls());
    }

    @Test
    void anAgentThatCannotBeAskedAtFirstIsAReasonToTryAgain() throws Exception {
        bench.agent.failNext("look", FakeAgent.unanswered());

        assertRecoverable(startFails(NomadBench.config()));
    }

    @Test
    void aDeclarationWithoutAnAnswerIsMadeAgainUntilThereIsOne() throws Exception {
        bench.agent.failNext("declare", FakeAgent.unanswered(), FakeAgent.refused(), FakeAgent.unanswered());

        bench.tasks.start(NomadBench.config());

        assertEquals(List.of(DECLARE, DECLARE, DECLARE, DECLARE), bench.agent.calls());
    }

    @Test
    void aDeclarationThatTurnsOutToBeWrongIsGivenUp() {
        bench.agent.failNext("declare", FakeAgent.unanswered(), wrong());

        assertEquals(Status.Code.INVALID_ARGUMENT, code(startFails(NomadBench.config())));
    }

    @Test
    void afterTheDeclarationAnAgentThatGoesAwayIsWaitedFor() throws Exception {
        bench.agent.failNext("follow", FakeAgent.refused(), FakeAgent.refused());

        bench.tasks.start(NomadBench.config());

        assertEquals(List.of(DECLARE), bench.agent.calls());
    }

    @Test
    void anAgentThatStopsBeforeItHasDecidedIsAskedAgain() throws Exception {
        bench.agent.endNextFollows(2);

        DrivenTask task = bench.tasks.start(NomadBench.config());

        assertEquals(NomadBench.PROCESS, task.last().process());
        assertEquals(List.of(DECLARE), bench.agent.calls());
    }

    @Test
    void aDeclarationThatSomebodyRemovesIsMadeAgain() throws Exception {
        bench.agent.on("declare", () -> {
            if (bench.agent.calls().size() > 1) {
                bench.agent.change(bench.running());
            }
        });

        bench.tasks.start(NomadBench.config());

        assertEquals(List.of(DECLARE, DECLARE), bench.agent.calls());
    }

    @Test
    void aTaskThatHasNotBegunYetIsWaitedFor() throws Exception {
        bench.agent.on("declare", () -> bench.agent.change(bench.pending()));
        bench.agent.on("follow", () -> Thread.ofVirtual().start(() -> bench.agent.change(bench.running())));

        DrivenTask task = bench.tasks.start(NomadBench.config());

        assertEquals(NomadBench.PROCESS, task.last().process());
    }

    @Test
    void aTaskThatCannotStartIsRemovedAndWhetherItMaySucceedIsTold() throws Exception {
        bench.agent.on("declare", () -> bench.agent.change(bench.look(false, null, null, true, "no such user")));
        StatusRuntimeException fatal = startFails(NomadBench.config());
        assertEquals(Status.Code.UNKNOWN, code(fatal));
        assertEquals("no such user", fatal.getStatus().getDescription());
        assertEquals(List.of(DECLARE, withdraw()), bench.agent.calls());

        bench.agent.on("declare", () -> bench.agent.change(bench.look(false, null, null, false, "no network")));
        assertRecoverable(startFails(NomadBench.config()));
        assertThrows(StatusRuntimeException.class, () -> bench.tasks.get(NomadBench.ID));
    }

    @Test
    void aTaskThatWasStoppedBeforeItStartedIsRemoved() throws Exception {
        bench.agent.on("declare", () -> bench.agent.change(bench.look(true, null, null, false, "")));

        assertRecoverable(startFails(NomadBench.config()));

        assertEquals(List.of(DECLARE, withdraw()), bench.agent.calls());
    }

    @Test
    void aTaskThatHasEndedMeanwhileWasStarted() throws Exception {
        bench.agent.on("declare", () -> bench.agent.change(bench.ended(NomadBench.exit(3))));

        DrivenTask task = bench.tasks.start(NomadBench.config());

        assertEquals(
                NomadBench.NOW.getEpochSecond(), task.status().getStartedAt().getSeconds());
        await().atMost(LONG).until(task::hasEnded);
        assertEquals(3, task.status().getResult().getExitCode());
    }

    @Test
    void aCallThatIsGivenUpLeavesNothing() throws Exception {
        Context.CancellableContext call = Context.current().withCancellation();
        bench.agent.on("declare", () -> {
            bench.agent.change(bench.running());
            call.cancel(null);
        });

        StatusRuntimeException failure = assertThrows(
                StatusRuntimeException.class, () -> call.call(() -> bench.tasks.start(NomadBench.config())));

        assertEquals(Status.Code.CANCELLED, code(failure));
        assertEquals(List.of(DECLARE, withdraw()), bench.agent.calls());
        assertThrows(StatusRuntimeException.class, () -> bench.tasks.get(NomadBench.ID));
    }

    @Test
    void whatNobodyWaitsForIsWithdrawnInThreeAttempts() {
        bench.agent.on("declare", () -> bench.agent.change(bench.look(false, null, null, true, "no such user")));
        bench.agent.failNext("withdraw", FakeAgent.refused(), FakeAgent.refused(), FakeAgent.refused());

        Context before = Context.current();

        assertEquals(Status.Code.UNKNOWN, code(startFails(NomadBench.config())));

        assertSame(before, Context.current());

        assertEquals(List.of(DECLARE, withdraw(), withdraw(), withdraw()), bench.agent.calls());
    }

    private TaskHandle handle() throws Exception {
        TaskHandle handle = bench.tasks.start(NomadBench.config()).handle();
        bench = new NomadBench(Files.createDirectories(root.resolve("another")));
        return handle;
    }

    private StatusRuntimeException recoverFails(TaskHandle handle) {
        return assertThrows(StatusRuntimeException.class, () -> bench.tasks.recover(handle));
    }

    @Test
    void aTaskThatRunsIsTakenUpAndItsStopIsBrokenOff() throws Exception {
        TaskHandle handle = handle();
        bench.agent.change(bench.running());

        bench.tasks.recover(handle);

        assertEquals(List.of("resume " + NomadBench.workload()), bench.agent.calls());
        DrivenTask task = bench.tasks.get(NomadBench.ID);
        assertEquals(
                NomadBench.STARTED.getEpochSecond(),
                task.status().getStartedAt().getSeconds());
        assertEquals("bin/web", task.settings().entryPoint());

        bench.agent.calls().clear();
        bench.tasks.recover(handle);
        assertEquals(List.of(), bench.agent.calls());
    }

    @Test
    void aTaskThatNobodyKnowsIsNotFound() throws Exception {
        StatusRuntimeException failure = recoverFails(handle());

        assertEquals(NOT_FOUND, failure.getStatus().getDescription());
    }

    @Test
    void aTaskWhoseEndWasToldIsNotTakenUp() throws Exception {
        TaskHandle handle = handle();
        bench.agent.change(bench.ended(NomadBench.exit(0)));
        Files.createDirectories(Objects.requireNonNull(bench.mark().getParent()));
        Files.createFile(bench.mark());

        assertEquals(Status.Code.UNKNOWN, code(recoverFails(handle)));
        assertThrows(StatusRuntimeException.class, () -> bench.tasks.get(NomadBench.ID));
    }

    @Test
    void aTaskWhoseEndWasNotToldIsTakenUpToTellIt() throws Exception {
        TaskHandle handle = handle();
        bench.agent.change(bench.ended(NomadBench.exit(3)));

        bench.tasks.recover(handle);

        assertEquals(List.of(), bench.agent.calls());
        await().atMost(LONG).until(() -> bench.tasks.get(NomadBench.ID).hasEnded());
        assertEquals(3, bench.tasks.get(NomadBench.ID).status().getResult().getExitCode());
    }

    @Test
    void anAgentThatWasJustStartedHasYetToSeeTheTask() throws Exception {
        TaskHandle handle = handle();
        bench.agent.change(bench.running());
        bench.agent.nextLooks(bench.pending(), bench.pending());

        bench.tasks.recover(handle);

        assertEquals(NomadBench.PROCESS, bench.tasks.get(NomadBench.ID).last().process());
    }

    @Test
    void aTaskThatIsNotSeenInTimeIsTakenUpAllTheSame() throws Exception {
        TaskHandle handle = handle();
        bench.agent.change(bench.pending());

        bench.tasks.recover(handle);

        assertEquals(List.of("resume " + NomadBench.workload()), bench.agent.calls());
    }

    @Test
    void anAgentThatCannotBeAskedIsAskedForTenMinutes() throws Exception {
        TaskHandle handle = handle();
        bench.agent.change(bench.running());
        bench.agent.failNext("look", FakeAgent.refused(), FakeAgent.refused());
        bench.agent.on("resume", () -> {
            Duration late = Duration.ofNanos(bench.agent.calls().size() > 2 ? 1 : 0);
            bench.now = NomadBench.NOW.plus(Duration.ofMinutes(10)).plus(late);
            throw FakeAgent.refused();
        });

        assertRecoverable(recoverFails(handle));

        assertEquals(3, bench.agent.calls().size());
    }

    @Test
    void anAgentThatComesBackInTimeIsEnough() throws Exception {
        TaskHandle handle = handle();
        bench.agent.change(bench.running());
        bench.agent.failNext("look", FakeAgent.refused(), FakeAgent.unanswered());

        bench.tasks.recover(handle);

        assertEquals(NomadBench.PROCESS, bench.tasks.get(NomadBench.ID).last().process());
    }

    @Test
    void aRecoveryThatIsGivenUpEnds() throws Exception {
        TaskHandle handle = handle();
        bench.agent.failNext("look", FakeAgent.refused());
        Context.CancellableContext call = Context.current().withCancellation();
        call.cancel(null);

        StatusRuntimeException failure = assertThrows(
                StatusRuntimeException.class,
                () -> call.call(() -> {
                    bench.tasks.recover(handle);
                    return null;
                }));

        assertRecoverable(failure);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "no JSON", "{\"version\": 2}", "{\"version\": 1, \"startedAt\": \"yesterday\"}"})
    void aHandleThatIsNotOursIsInvalid(String state) {
        TaskHandle handle = TaskHandle.newBuilder()
                .setConfig(NomadBench.config())
                .setDriverState(ByteString.copyFromUtf8(state))
                .build();

        assertEquals(Status.Code.INVALID_ARGUMENT, code(recoverFails(handle)));
    }

    @Test
    void aPluginIsDeclaredAsOne() throws Exception {
        bench.agent.on(
                "declare",
                () -> bench.agent.change(NomadBench.of(bench.running(), TaskDocument.workload(NomadBench.ID, true))));

        DrivenTask task = bench.tasks.start(NomadBench.plugin());

        assertEquals(TaskDocument.workload(NomadBench.ID, true), task.workload());
        assertTrue(task.settings().plugin());
    }

    @Test
    void theProcessOfATaskIsThatWhichTheAgentSeesNow() throws Exception {
        DrivenTask task = bench.start();
        assertEquals(NomadBench.PROCESS, bench.tasks.process(task).orElseThrow());

        bench.agent.change(bench.pending());
        assertTrue(bench.tasks.process(task).isEmpty());
    }

    @Test
    void settingsOfATaskAreThoseOfItsJob() throws Exception {
        DrivenTask task = bench.tasks.start(NomadBench.config(
                NomadBench.ID, Map.of("entry_point", NomadBench.text("x"), "restart", NomadBench.flag(true))));

        assertTrue(task.settings().restart());
        assertEquals("x", task.settings().entryPoint());
    }
}
