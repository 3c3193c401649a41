package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.reconcile.runtime.Execution.Event;
import io.homeostat.reconcile.runtime.Execution.Request;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A command in a container, from its beginning to its end, and what a guest may do instead. */
@Timeout(120)
class ContainerExecutionTest extends ContainerTestBed {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Request PLAIN = new Request(ImmutableList.of("ls", "-l"), false, false);
    private static final Request READING = new Request(ImmutableList.of("cat"), true, false);
    private static final Request TERMINAL = new Request(ImmutableList.of("sh"), true, true);
    private static final int PIECE = 64 << 10;

    private Instance instance;

    @BeforeEach
    void setUp() throws Exception {
        instance = scene.runningContainer(container("env: {A: b}", "user: {uid: 7}"));
    }

    private ContainerExecution begin(Request request) throws Exception {
        return scene.closed(ContainerExecution.begin(containers, instance, request, TIMEOUT));
    }

    private MemoryProcess command() {
        return scene.app().command();
    }

    private static Event output(String text, boolean isError) {
        return new Event.Output(ByteString.copyFromUtf8(text), isError);
    }

    @Test
    void aCommandRunsAsTheContainerDoes() throws Exception {
        begin(PLAIN);

        ExecProcessRequest request = guest.requests(ExecProcessRequest.class).getFirst();
        assertEquals(APP_LAUNCH, request.getContainerId());
        assertEquals(List.of("ls", "-l"), request.getProcess().getArgsList());
        assertTrue(request.getProcess().getEnvList().contains("A=b"));
        assertEquals(7, request.getProcess().getUser().getUID());
        assertFalse(request.getProcess().getTerminal());
        assertTrue(command().hasInputEnded());
    }

    @Test
    void allThatItPrintsComesBeforeItsEnd() throws Exception {
        ContainerExecution execution = begin(PLAIN);
        command().printError("oops");
        assertEquals(output("oops", true), execution.next());
        command().print("a");
        assertEquals(output("a", false), execution.next());
        command().exit(3);

        assertEquals(new Event.Ended(3), execution.next());
    }

    @Test
    void whatItPrintsHasThePaceOfItsGuest() throws Exception {
        Guests.Guest all = containers.guests().at(GuestEndpoint.parse(KataScene.ENDPOINT));
        while (all.outputPause(64 << 20).isZero()) {}
        ContainerExecution execution = begin(PLAIN);
        command().print("a");
        assertEquals(output("a", false), execution.next());

        command().print("b");
        assertEquals(Optional.empty(), execution.next(Duration.ofMillis(50)));
        scene.timing().advance(Duration.ofMinutes(1));

        assertEquals(output("b", false), execution.next());
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "255, 255", "256, 0", "-1, 255"})
    void aStatusIsThatOfAProcess(int status, int shown) throws Exception {
        ContainerExecution execution = begin(PLAIN);
        command().exit(status);

        assertEquals(new Event.Ended(shown), execution.next());
    }

    @Test
    void aCommandAtATerminalHasOneStreamThatEndsWithAnError() throws Exception {
        ContainerExecution execution = begin(TERMINAL);
        assertTrue(
                guest.requests(ExecProcessRequest.class).getFirst().getProcess().getTerminal());
        MemoryProcess command = command();
        assertTrue(execution.resize(24, 80));
        command.print("$ ");
        assertEquals(output("$ ", false), execution.next());
        command.exit(0);

        assertEquals(new Event.Ended(0), execution.next());
        assertEquals(0, guest.count("ReadStderr"));
        assertEquals("24x80", command.size());
        assertFalse(command.hasInputEnded());
    }

    @Test
    void whatItReadsIsWrittenInPieces() throws Exception {
        ContainerExecution execution = begin(READING);
        assertFalse(command().hasInputEnded());
        ByteString bytes = ByteString.copyFrom(new byte[PIECE + 1]);

        assertTrue(execution.write(bytes));
        assertTrue(execution.endInput());

        assertEquals(bytes, command().input());
        assertEquals(
                List.of(PIECE, 1),
                guest.requests(WriteStreamRequest.class).stream()
                        .map(request -> request.getData().size())
                        .toList());
        assertTrue(command().hasInputEnded());
    }

    @Test
    void whatIsNotTakenAtOnceIsWrittenAgain() throws Exception {
        ContainerExecution execution = begin(READING);
        command().takeAtMost(2);

        assertTrue(execution.write(ByteString.copyFromUtf8("hello")));

        assertEquals("hello", command().input().toStringUtf8());
        assertEquals(3, guest.count("WriteStdin"));
        command().takeAtMost(0);
        assertFalse(execution.write(ByteString.copyFromUtf8("hello")));
        assertTrue(execution.write(ByteString.EMPTY));
    }

    @Test
    void whereNobodyListensAnyMoreThatIsTold() throws Exception {
        ContainerExecution execution = begin(READING);
        guest.refuse("WriteStdin", Status.NOT_FOUND);
        guest.refuse("CloseStdin", Status.NOT_FOUND);
        guest.refuse("TtyWinResize", Status.UNAVAILABLE);

        assertFalse(execution.write(ByteString.copyFromUtf8("hello")));
        assertFalse(execution.endInput());
        assertFalse(execution.resize(1, 1));
    }

    @Test
    void whoeverIsInterruptedWhileItWritesHearsThat() throws Exception {
        ContainerExecution execution = begin(READING);
        try (MemoryGuest.Held _ = guest.holdNext("WriteStdin")) {
            Thread.currentThread().interrupt();

            assertThrows(InterruptedException.class, () -> execution.write(ByteString.copyFromUtf8("hello")));
        }
        assertFalse(Thread.currentThread().isInterrupted());
    }

    @Test
    void whatDoesNotComeInTimeHasNotCome() throws Exception {
        ContainerExecution execution = begin(PLAIN);

        assertEquals(Optional.empty(), execution.next(Duration.ofMillis(1)));
    }

    @Test
    void anEndThatIsNotKnownIsAFailure() throws Exception {
        guest.refuse("WaitProcess", Status.NOT_FOUND);
        ContainerExecution execution = begin(PLAIN);
        command().exit(0);

        assertFails(FailureCause.Kind.REFUSED, execution::next);
    }

    @Test
    void anEndThatIsNotToldInTimeIsAFailure() throws Exception {
        guest.silence("WaitProcess");
        ContainerExecution execution = begin(PLAIN);
        command().exit(0);

        assertFails(FailureCause.Kind.TIMED_OUT, execution::next);
    }

    @Test
    void aConnectionThatBreaksEndsTheCommandForUs() throws Exception {
        ContainerExecution execution = begin(PLAIN);
        eventually().until(() -> guest.count("ReadStderr") == 1 && guest.count("ReadStdout") == 1);

        guest.breakConnections();

        assertFails(FailureCause.Kind.CONNECTION_LOST, execution::next);
    }

    @Test
    void outputThatMayNotBeReadIsNoReasonNotToWaitForTheEnd() throws Exception {
        guest.refuse("ReadStdout", Status.PERMISSION_DENIED);
        guest.refuse("ReadStderr", Status.PERMISSION_DENIED);
        ContainerExecution execution = begin(PLAIN);
        command().exit(5);

        assertEquals(new Event.Ended(5), execution.next());
    }

    @Test
    void aCommandThatIsClosedIsKilledAndItsEndAwaited() throws Exception {
        ContainerExecution execution = begin(PLAIN);
        String id = guest.requests(ExecProcessRequest.class).getFirst().getExecId();

        execution.close();

        SignalProcessRequest request =
                guest.requests(SignalProcessRequest.class).getFirst();
        assertEquals(9, request.getSignal());
        assertEquals(id, request.getExecId());
        assertEquals(APP_LAUNCH, request.getContainerId());
        eventually().until(() -> guest.count("WaitProcess") >= 1);
        eventually().until(() -> scene.app().process(id) == null);
    }

    @Test
    void whoeverIsInterruptedKillsItAllTheSame() throws Exception {
        ContainerExecution execution = begin(PLAIN);

        Thread.currentThread().interrupt();
        execution.close();

        assertTrue(Thread.interrupted(), "it stays interrupted");
        assertEquals(1, guest.count("SignalProcess"));
    }

    @Test
    void theEndOfACommandThatIsClosedIsNotAwaitedForEver() throws Exception {
        ContainerExecution execution = begin(PLAIN);
        eventually().until(() -> guest.count("ReadStdout") == 1);

        execution.close();

        eventually().until(() -> guest.count("WaitProcess") == 1);
        assertTrue(scene.timing().timeouts().contains(Duration.ofMinutes(1)));
    }

    @Test
    void aCommandThatHasEndedIsNotKilled() throws Exception {
        ContainerExecution execution = begin(PLAIN);
        command().exit(0);
        assertEquals(new Event.Ended(0), execution.next());

        execution.close();

        assertEquals(0, guest.count("SignalProcess"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"DEADLINE_EXCEEDED", "CANCELLED"})
    void aCommandThatMayYetBeginIsKilled(Status.Code code) {
        guest.refuse("ExecProcess", code.toStatus());

        KataScene.cause(() -> begin(PLAIN));

        eventually().until(() -> guest.count("SignalProcess") == 1);
        assertEquals(0, guest.count("ReadStdout"));
    }

    @Test
    void aCommandMayYetBeginWhenTheConnectionBreaks() {
        guest.lose("ExecProcess");

        assertFails(FailureCause.Kind.CONNECTION_LOST, () -> begin(PLAIN));

        eventually().until(() -> guest.count("SignalProcess") == 1);
    }

    @Test
    void aCommandWhoseBeginningIsInterruptedMayYetBeginAndIsKilled() throws Exception {
        Thread begins = Thread.currentThread();
        CountDownLatch goesOn = new CountDownLatch(1);
        guest.atNext("ExecProcess", () -> {
            begins.interrupt();
            try {
                goesOn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });

        assertThrows(InterruptedException.class, () -> begin(PLAIN));

        assertFalse(Thread.currentThread().isInterrupted());
        eventually().until(() -> guest.count("SignalProcess") == 1);
        goesOn.countDown();
    }

    @Test
    void aCommandThatIsRefusedNeedNotBeKilled() {
        guest.refuse("ExecProcess", Status.INTERNAL, "no such program");

        assertFails(FailureCause.Kind.REFUSED, () -> begin(PLAIN));

        assertEquals(List.of("ExecProcess"), guest.methods());
    }

    @Test
    void aCommandThatIsNotAnsweredIsBlamed() throws Exception {
        assertTrue(containers.follow(instance, containerIdentity(true)).isPresent());
        guest.silence("ExecProcess");
        guest.silence("SignalProcess");
        assertFails(FailureCause.Kind.TIMED_OUT, () -> begin(PLAIN));
        scene.setNow(KataScene.START.plusSeconds(1));

        containers.guests().writeUnanswered();

        assertEquals(1, scene.sandboxNotes().unanswered(sandbox).size());
    }

    @Test
    void aFrozenContainerRunsNoCommand() throws Exception {
        scene.runningContainer(container("frozen: true"));

        assertFails(FailureCause.Kind.REFUSED, () -> begin(PLAIN));

        assertEquals(0, guest.methods().size());
    }

    @Test
    void aContainerThatWasNotStartedRunsNoCommand() throws Exception {
        instance = instance.withIdentity(containerIdentity(false));

        assertFails(FailureCause.Kind.REFUSED, () -> begin(PLAIN));
    }

    @Test
    void aContainerOfWhichNothingIsNotedRunsNoCommand() throws Exception {
        Files.delete(scene.file(instance, "process"));
        assertFails(FailureCause.Kind.REFUSED, () -> begin(PLAIN));

        scene.block(instance, "process");
        assertFails(FailureCause.Kind.INPUT_OUTPUT, () -> begin(PLAIN));
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aGuestThatCannotBeReachedRunsNoCommand() {
        guest.vanish(Reason.NO_SOCKET);

        assertFails(FailureCause.Kind.NO_CONNECTION, () -> begin(PLAIN));
    }

    @Test
    void whileSomebodyPausesAContainerItRunsNoCommand() throws Exception {
        try (CommandTurn _ =
                        CommandTurn.take(scene.containerNotes().turnFile(instance), instance, scene.timing(), TIMEOUT);
                var other = Executors.newVirtualThreadPerTaskExecutor()) {
            other.submit(() -> assertFails(
                            FailureCause.Kind.TIMED_OUT,
                            () -> ContainerExecution.begin(containers, instance, PLAIN, Duration.ofMillis(5))))
                    .get();
        }
        assertEquals(0, guest.count("ExecProcess"));
    }

    @Test
    void theContainerRuntimeRunsCommands() throws Exception {
        ContainerRuntime runtime = new ContainerRuntime(scene.machine(), containers);

        scene.closed(runtime.exec(instance, PLAIN));

        assertEquals(1, guest.count("ExecProcess"));
    }
}
