package io.homeostat.observe.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.platform.GrpcTransport;
import io.homeostat.observe.driver.TaskCommand.Event;
import io.homeostat.observe.goplugin.FakePlugin;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.goplugin.PluginConnection;
import io.homeostat.proto.nomad.driver.DriverGrpc.DriverImplBase;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.SignalTaskResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a driver is asked to do in a task, and what becomes of its answers. */
class TaskAccessTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final int CHUNK = 32 * 1024;

    /** More than two transports and their windows keep. */
    private static final int MUCH = 16 << 20;

    @TempDir
    Path root;

    private final GrpcTransport transport = new GrpcTransport();
    private final Driver service = new Driver();
    private FakePlugin plugin;
    private DriverSession session;

    @BeforeEach
    void setUp() throws Exception {
        Path socket = root.resolve("plugin1");
        plugin = FakePlugin.on(socket, service);
        session = new DriverSession(
                "driver/fake",
                new PluginConnection(
                        transport,
                        new Handshake(2, Handshake.Network.UNIX, socket.toString()),
                        root,
                        (channel, bytes) -> {}),
                () -> true,
                () -> Instant.EPOCH);
    }

    @AfterEach
    void tearDown() throws Exception {
        session.close();
        plugin.close();
        transport.close();
    }

    private static ConditionFactory soon() {
        return Awaitility.await().atMost(LONG).pollInterval(Duration.ofMillis(10));
    }

    private static ByteString text(String text) {
        return ByteString.copyFromUtf8(text);
    }

    private static ExitResult exit(int code, int signal) {
        return ExitResult.newBuilder().setExitCode(code).setSignal(signal).build();
    }

    private TaskAccess.Result exec(ExecTaskResponse response, int kept) throws Exception {
        service.response = response;
        return session.tasks().exec("a/web/1", List.of("/bin/check", "--all"), LONG, kept);
    }

    @Test
    void aCommandIsRunToItsEndWithinTheTimeItHas() throws Exception {
        TaskAccess.Result result = exec(
                ExecTaskResponse.newBuilder()
                        .setStdout(text("fine"))
                        .setStderr(text("or so"))
                        .setResult(exit(3, 0))
                        .build(),
                100);

        assertEquals(new TaskAccess.Result(3, text("fine"), text("or so")), result);
        ExecTaskRequest request = service.execs.getFirst();
        assertEquals("a/web/1", request.getTaskId());
        assertEquals(List.of("/bin/check", "--all"), request.getCommandList());
        assertEquals(LONG.toSeconds(), request.getTimeout().getSeconds());
    }

    @Test
    void asMuchIsKeptOfItsOutputAsIsAskedFor() throws Exception {
        TaskAccess.Result result = exec(
                ExecTaskResponse.newBuilder()
                        .setStdout(text("12345678"))
                        .setStderr(text("123"))
                        .setResult(exit(0, 0))
                        .build(),
                5);

        assertEquals(text("12345"), result.output());
        assertEquals(text("123"), result.error());
    }

    @Test
    void aStatusIsAsAShellHasIt() {
        assertEquals(0, TaskCommand.status(exit(0, 0)));
        assertEquals(137, TaskCommand.status(exit(0, 9)));
        assertEquals(137, TaskCommand.status(exit(137, 9)));
        assertEquals(255, TaskCommand.status(exit(-1, 0)));
        assertEquals(255, TaskCommand.status(exit(256, 0)), "which cut to a byte would be success");
    }

    @Test
    void anAnswerWithoutAResultIsNone() {
        DriverFailure failure =
                assertThrows(DriverFailure.class, () -> exec(ExecTaskResponse.getDefaultInstance(), 100));

        assertTrue(failure.words().contains("without the result"), failure.words());
    }

    @Test
    void aDriverThatNeverAnswersIsWaitedForALittleLongerThanTheCommandMayTake() {
        plugin.hanging("ExecTask");

        DriverFailure failure = assertThrows(
                DriverFailure.class, () -> session.tasks().exec("a/web/1", List.of("/bin/check"), SHORT, 100));

        assertTrue(failure.isSilence(), failure.words());
    }

    @Test
    void aSignalIsSentByItsName() throws Exception {
        session.tasks().signal("a/web/1", "SIGHUP", LONG);

        SignalTaskRequest request = service.signals.getFirst();
        assertEquals("a/web/1", request.getTaskId());
        assertEquals("SIGHUP", request.getSignal());
    }

    @Test
    void whatADriverSaysOfASignalIsTold() {
        plugin.failing("SignalTask", Status.UNKNOWN.withDescription("no such signal here"));

        DriverFailure failure =
                assertThrows(DriverFailure.class, () -> session.tasks().signal("a/web/1", "SIGHUP", LONG));

        assertTrue(failure.words().contains("no such signal here"), failure.words());
    }

    private TaskCommand begin(Function<ServerCallStreamObserver<ExecTaskStreamingResponse>, Talk> serving)
            throws Exception {
        service.serving = serving;
        return session.tasks().begin("a/web/1", List.of("cat"), false);
    }

    private static Event next(TaskCommand command) throws Exception {
        return command.next(LONG).orElseThrow(() -> new AssertionError("nothing within " + LONG));
    }

    private static ExecTaskStreamingResponse output(ByteString bytes, boolean isError) {
        ExecTaskStreamingIOOperation operation =
                ExecTaskStreamingIOOperation.newBuilder().setData(bytes).build();
        return isError
                ? ExecTaskStreamingResponse.newBuilder().setStderr(operation).build()
                : ExecTaskStreamingResponse.newBuilder().setStdout(operation).build();
    }

    private static ExecTaskStreamingResponse ended(int code) {
        return ExecTaskStreamingResponse.newBuilder()
                .setExited(true)
                .setResult(exit(code, 0))
                .build();
    }

    @Test
    void aCommandThatIsTalkedWithIsSetUpFirstThenSizedThenGivenWhatItReads() throws Exception {
        List<ExecTaskStreamingRequest> heard = new CopyOnWriteArrayList<>();
        service.serving = out -> request -> heard.add(request);
        try (TaskCommand command = session.tasks().begin("a/web/1", List.of("sh", "-i"), true)) {
            assertTrue(command.resize(40, 120));
            assertTrue(command.write(text("ls\n")));
            assertTrue(command.endInput());
            soon().until(() -> heard.size() == 4);
        }

        assertEquals(
                ExecTaskStreamingRequest.Setup.newBuilder()
                        .setTaskId("a/web/1")
                        .addCommand("sh")
                        .addCommand("-i")
                        .setTty(true)
                        .build(),
                heard.getFirst().getSetup());
        assertEquals(40, heard.get(1).getTtySize().getHeight());
        assertEquals(120, heard.get(1).getTtySize().getWidth());
        assertEquals(text("ls\n"), heard.get(2).getStdin().getData());
        assertTrue(heard.get(3).getStdin().getClose());
    }

    @Test
    void whatItWritesAndItsEndAreToldInOrderAndSignsOfLifeAreNothing() throws Exception {
        try (TaskCommand command = begin(out -> request -> {
            out.onNext(ExecTaskStreamingResponse.getDefaultInstance());
            out.onNext(output(text("out"), false).toBuilder()
                    .setStderr(ExecTaskStreamingIOOperation.newBuilder().setData(text("err")))
                    .build());
            out.onNext(ExecTaskStreamingResponse.newBuilder()
                    .setStdout(ExecTaskStreamingIOOperation.newBuilder().setClose(true))
                    .build());
            out.onNext(ended(7));
            out.onCompleted();
        })) {
            assertEquals(new Event.Nothing(), next(command));
            assertEquals(new Event.Output(text("out"), false), next(command));
            assertEquals(new Event.Output(text("err"), true), next(command));
            assertEquals(new Event.Nothing(), next(command));
            assertEquals(new Event.Ended(7), next(command));
        }
    }

    @Test
    void whoeverWaitsIsToldWhenNothingComes() throws Exception {
        try (TaskCommand command = begin(out -> request -> {})) {
            assertEquals(Optional.empty(), command.next(SHORT));
        }
    }

    @Test
    void megabytesGoBothWaysUnchanged() throws Exception {
        byte[] bytes = new byte[MUCH];
        new Random(1).nextBytes(bytes);
        ByteString sent = ByteString.copyFrom(bytes);
        try (TaskCommand command = begin(out -> request -> {
            if (request.hasStdin() && request.getStdin().getClose()) {
                out.onNext(ended(0));
                out.onCompleted();
            } else if (request.hasStdin()) {
                out.onNext(output(request.getStdin().getData(), false));
            }
        })) {
            CompletableFuture<Void> written = inBackground(() -> {
                for (int from = 0; from < MUCH; from += CHUNK) {
                    assertTrue(command.write(sent.substring(from, Math.min(from + CHUNK, MUCH))));
                }
                command.endInput();
            });

            ByteString.Output received = ByteString.newOutput();
            Event event = next(command);
            while (event instanceof Event.Output(ByteString piece, boolean isError)) {
                assertFalse(isError);
                piece.writeTo(received);
                event = next(command);
            }

            assertEquals(new Event.Ended(0), event);
            assertEquals(sent, received.toByteString());
            written.get();
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static CompletableFuture<Void> inBackground(Work work) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Thread _ = Thread.ofVirtual().start(() -> {
            try {
                work.run();
                done.complete(null);
            } catch (Exception | Error e) {
                done.completeExceptionally(e);
            }
        });
        return done;
    }

    @Test
    void aCommandThatWritesFasterThanIsReadIsMadeToWait() throws Exception {
        AtomicLong written = new AtomicLong();
        ByteString chunk = ByteString.copyFrom(new byte[CHUNK]);
        try (TaskCommand command = begin(out -> request -> {})) {
            assertEquals(Optional.empty(), command.next(SHORT));
            ServerCallStreamObserver<ExecTaskStreamingResponse> out = service.out.get();
            CompletableFuture<Void> flooding = inBackground(() -> {
                while (written.get() < MUCH && !out.isCancelled()) {
                    if (out.isReady()) {
                        out.onNext(output(chunk, false));
                        written.addAndGet(CHUNK);
                    } else {
                        Thread.sleep(1);
                    }
                }
            });
            soon().until(() -> written.get() > 0);
            Awaitility.await().during(Duration.ofMillis(300)).atMost(LONG).until(() -> written.get() < MUCH / 2);

            long read = 0;
            while (read < MUCH) {
                Event.Output output = assertInstanceOf(Event.Output.class, next(command));
                read += output.bytes().size();
            }
            flooding.get();
        }
    }

    @Test
    void whoeverWritesFasterThanTheCommandReadsIsMadeToWait() throws Exception {
        AtomicLong written = new AtomicLong();
        service.reads = false;
        try (TaskCommand command = begin(out -> request -> {})) {
            ByteString chunk = ByteString.copyFrom(new byte[CHUNK]);
            CompletableFuture<Void> writing = inBackground(() -> {
                while (written.get() < MUCH && command.write(chunk)) {
                    written.addAndGet(CHUNK);
                }
            });
            soon().until(() -> written.get() > 0);
            Awaitility.await().during(Duration.ofMillis(300)).atMost(LONG).until(() -> written.get() < MUCH / 2);

            command.close();
            soon().until(writing::isDone);
            assertTrue(written.get() < MUCH);
        }
    }

    @Test
    void aDriverThatCanNotDoItSaysSo() throws Exception {
        plugin.failing("ExecTaskStreaming", Status.UNIMPLEMENTED.withDescription("unknown method"));
        try (TaskCommand command = session.tasks().begin("a/web/1", List.of("cat"), false)) {
            DriverFailure failure = assertThrows(DriverFailure.class, () -> command.next(LONG));

            assertTrue(failure.isUnimplemented(), failure.words());
        }
    }

    private void assertFails(Function<ServerCallStreamObserver<ExecTaskStreamingResponse>, Talk> serving, String words)
            throws Exception {
        try (TaskCommand command = begin(serving)) {
            DriverFailure failure = assertThrows(DriverFailure.class, () -> {
                while (!(next(command) instanceof Event.Ended)) {}
            });
            assertTrue(failure.words().contains(words), failure.words());
        }
    }

    @Test
    void anEndWithoutAStatusIsNotTakenForSuccess() throws Exception {
        assertFails(out -> request -> out.onCompleted(), "was ended before the command has");
        assertFails(
                out -> request -> out.onNext(
                        ExecTaskStreamingResponse.newBuilder().setExited(true).build()),
                "and not how");
    }

    @Test
    void aDriverThatGoesAwayInTheMiddleIsAFailure() throws Exception {
        try (TaskCommand command = begin(out -> request -> out.onNext(output(text("so far"), false)))) {
            assertEquals(new Event.Output(text("so far"), false), next(command));
            plugin.close();

            DriverFailure failure = assertThrows(DriverFailure.class, () -> command.next(LONG));
            assertTrue(failure.isSilence(), failure.words());
        }
    }

    @Test
    void aCommandThatNobodyWantsAnyMoreIsGivenUp() throws Exception {
        CompletableFuture<Void> cancelled = new CompletableFuture<>();
        service.cancelled = () -> cancelled.complete(null);
        try (TaskCommand command = begin(out -> request -> out.onNext(output(text("so far"), false)))) {
            assertEquals(new Event.Output(text("so far"), false), next(command));
        }

        soon().until(cancelled::isDone);
    }

    /** What is done with each request. */
    private interface Talk {
        void hear(ExecTaskStreamingRequest request);
    }

    private static final class Driver extends DriverImplBase {
        final List<ExecTaskRequest> execs = new CopyOnWriteArrayList<>();
        final List<SignalTaskRequest> signals = new CopyOnWriteArrayList<>();
        final CompletableFuture<ServerCallStreamObserver<ExecTaskStreamingResponse>> out = new CompletableFuture<>();
        volatile ExecTaskResponse response = ExecTaskResponse.getDefaultInstance();
        volatile Function<ServerCallStreamObserver<ExecTaskStreamingResponse>, Talk> serving = out -> request -> {};
        volatile Runnable cancelled = () -> {};
        volatile boolean reads = true;

        @Override
        public void execTask(ExecTaskRequest request, StreamObserver<ExecTaskResponse> to) {
            execs.add(request);
            to.onNext(response);
            to.onCompleted();
        }

        @Override
        public void signalTask(SignalTaskRequest request, StreamObserver<SignalTaskResponse> to) {
            signals.add(request);
            to.onNext(SignalTaskResponse.getDefaultInstance());
            to.onCompleted();
        }

        @Override
        public StreamObserver<ExecTaskStreamingRequest> execTaskStreaming(
                StreamObserver<ExecTaskStreamingResponse> to) {
            ServerCallStreamObserver<ExecTaskStreamingResponse> call =
                    (ServerCallStreamObserver<ExecTaskStreamingResponse>) to;
            call.setOnCancelHandler(() -> cancelled.run());
            if (!reads) {
                call.disableAutoRequest();
            }
            Talk talk = serving.apply(call);
            out.complete(call);
            return new StreamObserver<>() {
                @Override
                public void onNext(ExecTaskStreamingRequest request) {
                    talk.hear(request);
                }

                @Override
                public void onError(Throwable problem) {
                    // The client has gone, of which the other handler tells.
                }

                @Override
                public void onCompleted() {
                    // The client never says so.
                }
            };
        }
    }
}
