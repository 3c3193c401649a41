package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.Status;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.TtyWinResizeRequest;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** WriteStdin, CloseStdin, ReadStdout, ReadStderr and TtyWinResize of the first process of a container. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ContainerStreamsTest extends SandboxTestBed {
    private static final String APP = "app";
    private static final Executor THREADS = work -> Thread.ofVirtual().start(work);

    private void create(boolean hasTerminal) throws IOException {
        CreateContainerRequest.Builder request = guest.container(APP);
        request.getOCIBuilder().getProcessBuilder().setTerminal(hasTerminal);
        Answer.of(service::createContainer, request.build());
    }

    private void start(boolean hasTerminal) throws IOException {
        create(hasTerminal);
        Answer.of(service::startContainer, TestGuest.startOf(APP));
    }

    private Path bundle(String file) {
        return guest.paths.container(APP).resolve(file);
    }

    private static WriteStreamRequest input(String text) {
        return WriteStreamRequest.newBuilder()
                .setContainerId(APP)
                .setData(ByteString.copyFromUtf8(text))
                .build();
    }

    private int write(String text) {
        return Answer.of(service::writeStdin, input(text)).getLen();
    }

    private Status.Code refusedToWrite() {
        return Answer.refusal(service::writeStdin, input("x"));
    }

    private static CloseStdinRequest closing(String exec) {
        return CloseStdinRequest.newBuilder()
                .setContainerId(APP)
                .setExecId(exec)
                .build();
    }

    private void closeInput() {
        Answer.of(service::closeStdin, closing(""));
    }

    private void awaitEnd(int status) {
        guest.exit(APP, status);
        Answer.of(
                service::waitProcess,
                io.homeostat.proto.kata.WaitProcessRequest.newBuilder()
                        .setContainerId(APP)
                        .build());
    }

    @Test
    void inputGoesIntoThePipeOfTheContainer() throws IOException {
        start(false);

        assertEquals(5, write("hello"));
        assertEquals(4, write(" you"));
        assertEquals(0, write(""));

        assertEquals("hello you", Files.readString(bundle("stdin")));
    }

    @Test
    void inputWaitsForAReaderAndIsRefusedWhenTheContainerEnds() throws IOException {
        start(false);
        Files.delete(bundle("stdin"));
        CompletableFuture<Status.Code> writing = CompletableFuture.supplyAsync(this::refusedToWrite, THREADS);

        awaitEnd(0);

        assertEquals(Status.Code.INTERNAL, writing.join());
        assertEquals(Status.Code.INTERNAL, refusedToWrite());
    }

    @Test
    void inputThatNobodyWaitsForAnyMoreIsNotWritten() throws IOException {
        start(false);
        Files.delete(bundle("stdin"));
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);

        call.run(() -> assertEquals(Status.Code.CANCELLED, refusedToWrite()));
    }

    @Test
    void inputThatWasClosedTakesNothing() throws IOException {
        start(false);

        closeInput();

        assertEquals(Status.Code.INTERNAL, refusedToWrite());
        assertEquals("", Files.readString(bundle("stdin")));
    }

    @Test
    void theProcessThatKeepsTheInputOpenIsToldOfItsEnd() throws IOException {
        start(false);

        closeInput();

        assertTrue(Files.exists(bundle("stdin.closed")));
        assertEquals(List.of(FakeAgent.PROCESS + ":77:10"), guest.signals);
    }

    @Test
    void inputIsClosedBeforeTheStartAndAfterTheEndWithoutASignal() throws IOException {
        create(false);
        closeInput();
        assertTrue(Files.exists(bundle("stdin.closed")));

        Answer.of(service::startContainer, TestGuest.startOf(APP));
        awaitEnd(0);
        closeInput();

        assertEquals(List.of(), guest.signals);
    }

    @Test
    void inputIsClosedWithoutASignalWhenTheAgentKnowsNoProcess() throws IOException {
        start(false);
        guest.agent.set(FakeAgent.unknown(TestGuest.workload(APP)));

        closeInput();

        assertEquals(List.of(), guest.signals);
    }

    @Test
    void anAgentThatDoesNotAnswerMakesTheEndOfInputUnavailable() throws IOException {
        start(false);
        guest.agent.failNext("look", "no agent");

        assertEquals(Status.Code.UNAVAILABLE, Answer.refusal(service::closeStdin, closing("")));
        assertTrue(Files.exists(bundle("stdin.closed")));
        closeInput();
        assertEquals(1, guest.signals.size());
    }

    @Test
    void streamsOfWhatIsNotThereAreRefused() throws IOException {
        assertEquals(Status.Code.INVALID_ARGUMENT, refusedToWrite());
        assertEquals(Status.Code.INVALID_ARGUMENT, Answer.refusal(service::closeStdin, closing("")));
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                Answer.refusal(service::readStdout, ReadStreamRequest.getDefaultInstance()));
        start(false);
        assertEquals(Status.Code.NOT_FOUND, Answer.refusal(service::closeStdin, closing("other")));
        assertEquals(
                Status.Code.NOT_FOUND,
                Answer.refusal(
                        service::writeStdin,
                        input("x").toBuilder().setExecId("other").build()));
        assertEquals(
                Status.Code.NOT_FOUND,
                Answer.refusal(
                        service::readStderr,
                        ReadStreamRequest.newBuilder()
                                .setContainerId(APP)
                                .setExecId("other")
                                .build()));
    }

    private void printed(boolean isError, String text) throws IOException {
        Path log = guest.agent.layout().log(TestGuest.workload(APP));
        Path file = isError
                ? log.resolveSibling(
                        String.valueOf(TestGuest.workload(APP).kind().errorLog()))
                : log;
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private String read(boolean isError, int length) {
        ReadStreamRequest request = ReadStreamRequest.newBuilder()
                .setContainerId(APP)
                .setExecId(APP)
                .setLen(length)
                .build();
        return (isError ? Answer.of(service::readStderr, request) : Answer.of(service::readStdout, request))
                .getData()
                .toStringUtf8();
    }

    @Test
    void bothOutputsAreReadPieceByPieceToTheEnd() throws IOException {
        start(false);
        printed(false, "output");
        printed(true, "error");

        assertEquals("outp", read(false, 4));
        assertEquals("ut", read(false, 4));
        assertEquals("error", read(true, 0));
        awaitEnd(0);
        assertEquals("", read(false, 4));
        assertEquals("", read(true, 4));
    }

    @Test
    void theNextAgentGoesOnWhereTheFormerOneWasRead() throws IOException, InterruptedException {
        start(false);
        printed(false, "one two");
        assertEquals("one ", read(false, 4));

        guest = new TestGuest(directory);
        service = new GuestService(guest.boot());
        assertEquals("one ", read(false, 4), "whoever asks for the next piece has got the one before");
        assertEquals("two", read(false, 4));
    }

    @Test
    void outputIsWaitedForUntilTheCallerGivesUp() throws IOException {
        start(false);
        Context.CancellableContext call = Context.ROOT.withCancellation();
        CompletableFuture<Status.Code> reading = CompletableFuture.supplyAsync(
                () -> {
                    Status.Code[] refused = new Status.Code[1];
                    call.run(() -> refused[0] = Answer.refusal(
                            service::readStdout,
                            ReadStreamRequest.newBuilder().setContainerId(APP).build()));
                    return refused[0];
                },
                THREADS);
        assertFalse(reading.isDone());

        call.cancel(null);

        assertEquals(Status.Code.CANCELLED, reading.join());
    }

    @Test
    void aTerminalHasOneOutput() throws IOException {
        start(true);
        printed(false, "all of it");
        printed(true, "never read");

        assertEquals("", read(true, 0));
        assertEquals("all of it", read(false, 0));
    }

    private Status.Code refusedToResize() {
        return Answer.refusal(
                service::ttyWinResize,
                TtyWinResizeRequest.newBuilder()
                        .setContainerId(APP)
                        .setRow(24)
                        .setColumn(80)
                        .build());
    }

    @Test
    void onlyATerminalHasASize() throws IOException {
        start(false);

        assertEquals(Status.Code.UNAVAILABLE, refusedToResize());
    }

    @Test
    void aTerminalThatIsNotOpenOrHasGoneIsNotResized() throws IOException {
        create(true);
        assertEquals(Status.Code.INTERNAL, refusedToResize());
        Answer.of(service::startContainer, TestGuest.startOf(APP));

        Answer.of(
                service::ttyWinResize,
                TtyWinResizeRequest.newBuilder().setContainerId(APP).build());
        assertEquals(List.of(), guest.commands.lines("stty"), "its process has no terminal yet");
        awaitEnd(0);
        assertEquals(Status.Code.INTERNAL, refusedToResize());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "other"})
    void whatIsNotThereHasNoTerminal(String exec) throws IOException {
        start(true);

        assertEquals(
                exec.isEmpty() ? Status.Code.INVALID_ARGUMENT : Status.Code.NOT_FOUND,
                Answer.refusal(
                        service::ttyWinResize,
                        TtyWinResizeRequest.newBuilder()
                                .setContainerId(exec.isEmpty() ? "none" : APP)
                                .setExecId(exec)
                                .build()));
    }
}
