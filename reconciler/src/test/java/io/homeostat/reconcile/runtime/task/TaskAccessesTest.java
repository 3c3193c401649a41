package io.homeostat.reconcile.runtime.task;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause.Kind;
import io.homeostat.proto.nomad.driver.DriverCapabilities;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.reconcile.runtime.Execution;
import io.homeostat.reconcile.runtime.Execution.Event;
import io.homeostat.reconcile.runtime.Execution.Request;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests signals and commands for tasks. */
class TaskAccessesTest extends TaskTestBed {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final Request COMMAND = new Request(ImmutableList.of("ls", "-l"), false, false);

    private Instance running;

    @BeforeEach
    void open() throws Exception {
        running = bench.running();
    }

    private static Kind kind(ActuationFailure failure) {
        return failure.failureCause().kind();
    }

    private Kind refusedSignal(String signal) {
        return kind(assertThrows(ActuationFailure.class, () -> bench.runtime.prepareSignal(running, signal)));
    }

    private Kind refusedCommand() {
        return kind(assertThrows(ActuationFailure.class, () -> bench.runtime.exec(running, COMMAND)));
    }

    @Test
    void aSignalIsSentByTheDriverOnlyWhenItIsMeant() throws Exception {
        var sending = bench.runtime.prepareSignal(running, "SIGHUP");
        assertEquals(List.of(), bench.driver.taskCalls());

        sending.send();

        SignalTaskRequest request = bench.driver.last(SignalTaskRequest.class);
        assertEquals(bench.taskId(), request.getTaskId());
        assertEquals("SIGHUP", request.getSignal());
    }

    @ParameterizedTest
    @ValueSource(strings = {"SIGCHLD", "SIGURG", "SIGVTALRM", "SIGPWR", "SIGSTKFLT"})
    void aSignalThatDriversMayTakeForAnotherIsNotSent(String signal) {
        assertEquals(Kind.REFUSED, refusedSignal(signal));
    }

    @Test
    void aDriverThatSendsNoSignalsIsNotAskedTo() {
        bench.driver.capable(DriverCapabilities.newBuilder().setExec(true).build());

        assertEquals(Kind.REFUSED, refusedSignal("SIGHUP"));
        assertEquals(List.of(), bench.driver.taskCalls());
    }

    @Test
    void aSignalThatTheDriverDoesNotSendIsAFailure() throws Exception {
        bench.driver.failing("SignalTask", Status.UNAVAILABLE);
        var sending = bench.runtime.prepareSignal(running, "SIGHUP");

        assertEquals(Kind.CONNECTION_LOST, kind(assertThrows(ActuationFailure.class, sending::send)));
    }

    @Test
    void aTaskThatWasNotStartedYetTakesNothing() {
        running = TaskBench.intended();

        assertEquals(Kind.REFUSED, refusedSignal("SIGHUP"));
        assertEquals(Kind.REFUSED, refusedCommand());
    }

    @Test
    void aDriverThatDoesNotRunReachesNoTask() throws Exception {
        bench.host.endProcess();

        assertEquals(Kind.NO_CONNECTION, refusedSignal("SIGHUP"));
        assertEquals(Kind.NO_CONNECTION, refusedCommand());
    }

    @Test
    void aDriverThatDoesNotSayWhatItCanDoIsAFailure() {
        bench.driver.failing("Capabilities", Status.UNAVAILABLE);

        assertEquals(Kind.CONNECTION_LOST, refusedSignal("SIGHUP"));
    }

    @Test
    void aDriverThatRunsNoCommandsIsNotAskedTo() {
        bench.driver.capable(
                DriverCapabilities.newBuilder().setSendSignals(true).build());

        assertEquals(Kind.REFUSED, refusedCommand());
    }

    private Execution begin(Request request) throws Exception {
        return TaskExecution.begin(
                bench.tasks.session("runner", LONG),
                (Identity.Task) Objects.requireNonNull(running.identity()),
                request,
                SHORT);
    }

    private static ExecTaskStreamingIOOperation data(String text) {
        return ExecTaskStreamingIOOperation.newBuilder()
                .setData(ByteString.copyFromUtf8(text))
                .build();
    }

    private static void exit(StreamObserver<ExecTaskStreamingResponse> to, int code) {
        to.onNext(ExecTaskStreamingResponse.newBuilder()
                .setExited(true)
                .setResult(ExitResult.newBuilder().setExitCode(code))
                .build());
        to.onCompleted();
    }

    private static Event output(String text, boolean isError) {
        return new Event.Output(ByteString.copyFromUtf8(text), isError);
    }

    private static Kind failure(Execution execution) {
        return kind(assertThrows(ActuationFailure.class, execution::next));
    }

    @Test
    void whatACommandWritesAndItsEndAreHandedOn() throws Exception {
        bench.driver.executing((request, to) -> {
            to.onNext(ExecTaskStreamingResponse.getDefaultInstance());
            to.onNext(ExecTaskStreamingResponse.newBuilder()
                    .setStdout(data("out"))
                    .setStderr(data("err"))
                    .build());
            exit(to, 3);
        });

        try (Execution execution =
                bench.runtime.exec(running, new Request(ImmutableList.of("ls", "-l"), false, true))) {
            assertEquals(output("out", false), execution.next());
            assertEquals(output("err", true), execution.next());
            assertEquals(new Event.Ended(3), execution.next());
        }

        ExecTaskStreamingRequest.Setup setup =
                bench.driver.last(ExecTaskStreamingRequest.class).getSetup();
        assertEquals(bench.taskId(), setup.getTaskId());
        assertEquals(List.of("ls", "-l"), setup.getCommandList());
        assertTrue(setup.getTty());
    }

    @Test
    void whatIsTypedReachesTheCommand() throws Exception {
        List<ExecTaskStreamingRequest> taken = new CopyOnWriteArrayList<>();
        bench.driver.executing((request, to) -> {
            taken.add(request);
            if (request.getStdin().getClose()) {
                exit(to, 0);
            }
        });

        try (Execution execution = begin(new Request(ImmutableList.of("cat"), true, true))) {
            assertTrue(execution.resize(24, 80));
            assertTrue(execution.write(ByteString.copyFromUtf8("typed")));
            assertTrue(execution.endInput());
            assertEquals(new Event.Ended(0), execution.next());
            // Until the driver has ended the call, too, what is written is only lost.
            await().atMost(LONG).until(() -> !execution.write(ByteString.copyFromUtf8("too late")));
        }

        assertEquals(24, taken.get(1).getTtySize().getHeight());
        assertEquals(80, taken.get(1).getTtySize().getWidth());
        assertEquals("typed", taken.get(2).getStdin().getData().toStringUtf8());
    }

    @Test
    void aCommandThatIsClosedIsEndedByTheDriver() throws Exception {
        Execution execution = begin(COMMAND);
        await().atMost(LONG).until(() -> bench.driver.count("ExecTaskStreaming") == 1);

        execution.close();

        await().atMost(LONG).until(() -> bench.driver.count("ExecTaskStreaming was given up") == 1);
    }

    @ParameterizedTest
    @CsvSource({
        "UNIMPLEMENTED, ''",
        "UNKNOWN, 'exec is Not Supported here'",
        "UNKNOWN, 'unsupported'",
        "INTERNAL, 'this does not support it'",
        "UNKNOWN, 'not implemented'"
    })
    void aDriverThatCannotTalkWithCommandsRunsThemToTheirEnd(Status.Code code, String words) throws Exception {
        bench.driver.failing("ExecTaskStreaming", code.toStatus().withDescription(words));
        bench.driver.answering(
                "ExecTask",
                ExecTaskResponse.newBuilder()
                        .setStdout(ByteString.copyFromUtf8("out"))
                        .setStderr(ByteString.copyFromUtf8("err"))
                        .setResult(ExitResult.newBuilder().setExitCode(5))
                        .build());

        try (Execution execution = begin(COMMAND)) {
            assertEquals(output("out", false), execution.next());
            assertEquals(output("err", true), execution.next());
            assertEquals(new Event.Ended(5), execution.next());
        }

        ExecTaskRequest request = bench.driver.last(ExecTaskRequest.class);
        assertEquals(List.of("ls", "-l"), request.getCommandList());
        assertEquals(Duration.ofHours(1).toSeconds(), request.getTimeout().getSeconds());
    }

    @Test
    void aCommandThatWritesNothingHasNoOutput() throws Exception {
        bench.driver.failing("ExecTaskStreaming", Status.UNIMPLEMENTED);

        try (Execution execution = begin(COMMAND)) {
            assertEquals(new Event.Ended(0), execution.next());
        }
    }

    @ParameterizedTest
    @CsvSource({"true, false", "false, true"})
    void aCommandThatHasToBeTalkedWithIsNotRunToItsEnd(boolean reads, boolean terminal) throws Exception {
        bench.driver.failing("ExecTaskStreaming", Status.UNIMPLEMENTED);

        try (Execution execution = begin(new Request(ImmutableList.of("ls"), reads, terminal))) {
            assertEquals(Kind.REFUSED, failure(execution));
        }

        assertEquals(0, bench.driver.count("ExecTask"));
    }

    @ParameterizedTest
    @CsvSource({"UNKNOWN, REFUSED", "UNAVAILABLE, CONNECTION_LOST"})
    void aCommandThatIsRefusedIsNotRunAgain(Status.Code code, Kind kind) throws Exception {
        bench.driver.failing("ExecTaskStreaming", code.toStatus().withDescription("no such file"));

        try (Execution execution = begin(COMMAND)) {
            assertEquals(kind, failure(execution));
        }

        assertEquals(0, bench.driver.count("ExecTask"));
    }

    @Test
    void aCommandThatHasBegunIsNotRunAgain() throws Exception {
        bench.driver.executing((request, to) -> {
            to.onNext(ExecTaskStreamingResponse.newBuilder()
                    .setStdout(data("out"))
                    .build());
            to.onError(Status.UNIMPLEMENTED.asException());
        });

        try (Execution execution = begin(COMMAND)) {
            assertEquals(output("out", false), execution.next());
            assertEquals(Kind.REFUSED, failure(execution));
        }

        assertEquals(0, bench.driver.count("ExecTask"));
    }

    @Test
    void aDriverThatIsSilentIsAskedWhetherTheTaskRuns() throws Exception {
        bench.driver.executing((request, to) -> {
            if (request.hasStdin()) {
                exit(to, 0);
            }
        });

        try (Execution execution = begin(COMMAND)) {
            bench.driver.before("InspectTask", () -> execution.write(ByteString.copyFromUtf8("go")));
            assertEquals(new Event.Ended(0), execution.next());
        }

        assertTrue(bench.driver.count("InspectTask") > 0);
    }

    @Test
    void ifTheTaskHasEndedTheCommandIsNotWaitedForForEver() throws Exception {
        bench.driver.exited(bench.taskId(), ExitResult.getDefaultInstance());

        try (Execution execution = begin(COMMAND)) {
            assertEquals(Kind.CONTENT, failure(execution));
        }

        assertEquals(1, bench.driver.count("InspectTask"));
    }

    @Test
    void aDriverThatDoesNotAnswerEitherQuestionHasHung() throws Exception {
        bench.driver.failing("InspectTask", Status.DEADLINE_EXCEEDED);

        try (Execution execution = begin(COMMAND)) {
            assertEquals(Kind.TIMED_OUT, failure(execution));
        }
    }
}
