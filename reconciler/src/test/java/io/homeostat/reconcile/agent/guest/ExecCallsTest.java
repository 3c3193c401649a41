package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.Status;
import io.homeostat.proto.kata.CloseStdinRequest;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.ReadStreamRequest;
import io.homeostat.proto.kata.RemoveContainerRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.StringUser;
import io.homeostat.proto.kata.TtyWinResizeRequest;
import io.homeostat.proto.kata.WaitProcessRequest;
import io.homeostat.proto.kata.WriteStreamRequest;
import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** ExecProcess, and the calls about the commands that it starts. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ExecCallsTest extends SandboxTestBed {
    private static final Duration LONGEST = Duration.ofSeconds(30);
    private static final Executor THREADS = work -> Thread.ofVirtual().start(work);
    private static final String APP = "app";
    private static final long PID = 2_000_000_555;
    private static final String STAT = "proc/" + PID + "/stat";

    /** More pieces than the output of a command holds. */
    private static final int PIECES = 6;

    private static final String PIECE = "x".repeat(60 << 10);

    /** Commands that were started. */
    private final List<ScriptedProcess> processes = new CopyOnWriteArrayList<>();

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        guest.commands.install("setsid", command -> {
            Files.writeString(Path.of(option(command, "--pid-file")), PID + "\n");
            ScriptedProcess process = new ScriptedProcess();
            processes.add(process);
            return process;
        });
        Files.createDirectories(guest.agent.layout().runDir());
        guest.write(STAT, stat("S"));
        guest.start(service, APP);
        guest.commands.forgetLines();
    }

    private static String stat(String state) {
        return PID + " (sh) " + state + " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 18 999 20 21 22";
    }

    private static String option(List<String> command, String name) {
        return command.get(command.indexOf(name) + 1);
    }

    private static ExecProcessRequest.Builder exec(String id) {
        return ExecProcessRequest.newBuilder()
                .setContainerId(APP)
                .setExecId(id)
                .setProcess(Process.newBuilder().addArgs("ls"));
    }

    private ScriptedProcess begin(String id) {
        Answer.of(service::execProcess, exec(id).build());
        return processes.getLast();
    }

    private Status refused(ExecProcessRequest.Builder request) {
        return Answer.failure(service::execProcess, request.build());
    }

    private static WaitProcessRequest waiting(String id) {
        return WaitProcessRequest.newBuilder().setContainerId(APP).setExecId(id).build();
    }

    private int await(String id) {
        return Answer.of(service::waitProcess, waiting(id)).getStatus();
    }

    private String read(String id, boolean isError) {
        ReadStreamRequest request =
                ReadStreamRequest.newBuilder().setContainerId(APP).setExecId(id).build();
        return (isError ? Answer.of(service::readStderr, request) : Answer.of(service::readStdout, request))
                .getData()
                .toStringUtf8();
    }

    private static WriteStreamRequest input(String id, String text) {
        return WriteStreamRequest.newBuilder()
                .setContainerId(APP)
                .setExecId(id)
                .setData(ByteString.copyFromUtf8(text))
                .build();
    }

    @Test
    void aCommandIsStartedByTheRuntimeInASessionOfItsOwn() throws IOException {
        String[] process = new String[1];
        guest.commands.replaceNext("setsid", command -> {
            process[0] = Files.readString(Path.of(option(command, "--process")));
            Files.writeString(Path.of(option(command, "--pid-file")), PID + "\n");
            return new ScriptedProcess();
        });

        Answer.of(service::execProcess, exec("one").build());

        List<String> line = List.of(guest.commands.lines("setsid").getFirst().split(" "));
        assertEquals(
                List.of("setsid", "/fake/runc", "--root", guest.paths.runtime().toString(), "--log-format", "json"),
                line.subList(0, 6));
        assertEquals(APP, line.getLast());
        assertTrue(process[0].contains("\"args\":[\"ls\"]"), process[0]);
        assertNoFilesAreLeft();
    }

    /** The files that a command is started with may be secret. */
    private void assertNoFilesAreLeft() throws IOException {
        try (Stream<Path> files = Files.list(guest.paths.container(APP))) {
            assertTrue(files.noneMatch(file -> file.getFileName().toString().startsWith("exec")));
        }
        try (Stream<Path> files = Files.list(guest.agent.layout().runDir())) {
            assertEquals(List.of(), files.toList());
        }
    }

    @Test
    void outputsAreReadToTheirEndsAndTheExitStatusIsTold() {
        ScriptedProcess process = begin("one");
        process.print("out");
        process.printError("err");

        assertEquals("out", read("one", false));
        assertEquals("err", read("one", true));
        process.end(3);
        assertEquals("", read("one", false));
        assertEquals("", read("one", true));
        assertEquals(3, await("one"));
        assertEquals(3, await("one"));
    }

    @Test
    void aWaitIsAnsweredWhenTheCommandEndsAndForgetsItsOutput() {
        ScriptedProcess process = begin("one");
        process.print("never read");
        CompletableFuture<Integer> waiting = CompletableFuture.supplyAsync(() -> await("one"), THREADS);

        process.end(7);

        assertEquals(7, waiting.join());
        assertEquals("", read("one", false));
    }

    @Test
    void inputIsWrittenAndClosed() {
        ScriptedProcess process = begin("one");

        int taken = Answer.of(service::writeStdin, input("one", "hello")).getLen();
        assertFalse(process.isInputClosed());
        Answer.of(
                service::closeStdin,
                CloseStdinRequest.newBuilder()
                        .setContainerId(APP)
                        .setExecId("one")
                        .build());

        assertEquals(5, taken);
        assertEquals("hello", process.input());
        assertTrue(process.isInputClosed());
    }

    private Status.Code refusedToWrite(String text) {
        return Answer.refusal(service::writeStdin, input("one", text));
    }

    @Test
    void inputThatACommandDoesNotReadIsGivenUpWithItsCaller() {
        ScriptedProcess process = begin("one");
        process.readNothing();
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);

        call.run(() -> assertEquals(Status.Code.CANCELLED, refusedToWrite("x")));
        call.run(() -> assertEquals(Status.Code.CANCELLED, refusedToWrite("y"), "the first one is still being taken"));

        process.readAgain();
        Awaitility.await().atMost(LONGEST).until(() -> process.input().equals("x"));
        process.end(0);
    }

    @Test
    void inputThatACommandDoesNotReadFailsWhenItEnds() {
        ScriptedProcess process = begin("one");
        process.readNothing();
        CompletableFuture<Status.Code> writing = CompletableFuture.supplyAsync(() -> refusedToWrite("x"), THREADS);

        process.end(0);

        assertEquals(Status.Code.INTERNAL, writing.join());
        process.readAgain();
    }

    @Test
    void inputThatNobodyCanReadAnyMoreIsAFailure() {
        ScriptedProcess process = begin("one");
        process.breakInput();

        assertEquals(Status.Code.INTERNAL, refusedToWrite("x"));
        process.end(0);
    }

    private static SignalProcessRequest signal(int number) {
        return SignalProcessRequest.newBuilder()
                .setContainerId(APP)
                .setExecId("one")
                .setSignal(number)
                .build();
    }

    @Test
    void aSignalGoesToTheProcessInTheContainer() {
        ScriptedProcess process = begin("one");

        Answer.of(service::signalProcess, signal(15));
        assertEquals(List.of(PID + ":999:15"), guest.signals);
        process.end(143);
        await("one");

        assertEquals(Status.Code.NOT_FOUND, Answer.refusal(service::signalProcess, signal(9)));
        assertEquals(1, guest.signals.size());
    }

    @Test
    void aCommandWhoseProcessHasGoneGetsNoSignalButIsKilled() throws IOException {
        Files.delete(guest.root.resolve(STAT));
        ScriptedProcess process = begin("one");

        assertEquals(Status.Code.NOT_FOUND, Answer.refusal(service::signalProcess, signal(15)));
        assertFalse(process.isKilled());
        Answer.of(service::signalProcess, signal(9));

        assertTrue(process.isKilled());
        assertEquals(137, await("one"));
        assertEquals(List.of(), guest.signals);
    }

    @Test
    void aCommandWhoseOutputSomebodyKeepsOpenEndsWithItsProcess() throws IOException {
        guest.commands.replaceNext("setsid", command -> {
            Files.writeString(Path.of(option(command, "--pid-file")), PID + "\n");
            Files.writeString(Path.of(option(command, "--log")), """
                    {"level": "debug", "msg": "process exited", "pid": 1, "status": 4}
                    {"level": "debug", "msg": "process exited", "pid": %d, "status": 3}
                    """.formatted(PID));
            ScriptedProcess process = new ScriptedProcess();
            processes.add(process);
            return process;
        });
        ScriptedProcess runtime = begin("one");
        runtime.print("out");
        guest.ticker.advanceWithEachRead(Duration.ofMillis(400));
        awaitLooks();
        assertFalse(runtime.isKilled(), "its process runs");

        Files.delete(guest.root.resolve(STAT));

        assertEquals("out", read("one", false));
        assertEquals("", read("one", false));
        assertEquals(3, await("one"));
        assertTrue(runtime.isKilled());
    }

    @Test
    void aCommandWhoseProcessIsKeptAsAZombieHasEnded() throws IOException {
        ScriptedProcess runtime = begin("one");
        guest.write(STAT, stat("Z"));
        guest.ticker.advanceWithEachRead(Duration.ofMillis(400));

        assertEquals(137, await("one"));

        assertTrue(runtime.isKilled());
    }

    @Test
    void aZombieGetsNoSignalButItsCommandIsKilled() throws IOException {
        ScriptedProcess runtime = begin("one");
        guest.write(STAT, stat("Z"));

        assertEquals(Status.Code.NOT_FOUND, Answer.refusal(service::signalProcess, signal(15)));
        Answer.of(service::signalProcess, signal(9));

        assertTrue(runtime.isKilled());
        assertEquals(List.of(), guest.signals);
    }

    @Test
    void aKilledCommandEndsWhateverKeepsItsProcessAndItsOutput() {
        ScriptedProcess runtime = begin("one");
        fillOutput(runtime, "one");

        Answer.of(service::signalProcess, signal(9));
        guest.ticker.advanceWithEachRead(Duration.ofMillis(400));

        assertEquals(List.of(PID + ":999:9"), guest.signals);
        assertEquals(137, await("one"));
        assertTrue(runtime.isKilled());
    }

    @Test
    void aCommandThatNobodyAsksAboutAnyMoreIsKilled() {
        ScriptedProcess runtime = begin("one");
        fillOutput(runtime, "one");
        guest.ticker.advance(Duration.ofMinutes(9));
        assertEquals(PIECE, read("one", false));
        guest.ticker.advance(Duration.ofMinutes(9));
        awaitLooks();
        assertEquals(List.of(), guest.signals);

        guest.ticker.advance(Duration.ofMinutes(1));

        Awaitility.await().atMost(LONGEST).until(() -> guest.signals.equals(List.of(PID + ":999:9")));
        guest.ticker.advance(Duration.ofSeconds(1));
        Awaitility.await().atMost(LONGEST).until(runtime::isKilled);
    }

    @Test
    void aCommandThatSomebodyReadsFromGoesOn() {
        ScriptedProcess runtime = begin("one");
        CompletableFuture<String> said = new CompletableFuture<>();
        Thread reading = Thread.ofVirtual().start(() -> said.complete(read("one", true)));
        Awaitility.await().atMost(LONGEST).until(() -> reading.getState() == Thread.State.TIMED_WAITING);
        guest.ticker.advanceWithEachRead(Duration.ofMinutes(6));
        awaitLooks();
        guest.ticker.advanceWithEachRead(Duration.ZERO);

        runtime.printError("err");

        assertEquals("err", said.join());
        assertEquals(List.of(), guest.signals);
        runtime.end(0);
    }

    private void awaitLooks() {
        long reads = guest.ticker.reads();
        Awaitility.await().atMost(LONGEST).until(() -> guest.ticker.reads() > reads + 5);
    }

    private void fillOutput(ScriptedProcess process, String id) {
        for (int i = 0; i < PIECES; i++) {
            process.print(PIECE);
        }
        Awaitility.await()
                .atMost(LONGEST)
                .until(() ->
                        machine.containers().get(APP).exec(id).output(false).isFull());
    }

    @Test
    void theLastOutputOfACommandIsReadHoweverSlowlyItsReaderIs() throws IOException {
        ScriptedProcess runtime = begin("one");
        fillOutput(runtime, "one");
        Files.delete(guest.root.resolve(STAT));
        guest.ticker.advanceWithEachRead(Duration.ofSeconds(1));
        awaitLooks();
        assertFalse(runtime.isKilled());

        for (int i = 0; i < PIECES; i++) {
            assertEquals(PIECE, read("one", false));
        }

        Awaitility.await().atMost(LONGEST).until(runtime::isKilled);
    }

    @Test
    void commandsThatHaveNotEndedAreBounded() {
        for (int i = 0; i < 32; i++) {
            ScriptedProcess _ = begin("x" + i);
        }

        Status tooMany = refused(exec("one"));

        assertEquals(Status.Code.RESOURCE_EXHAUSTED, tooMany.getCode());
        assertTrue(String.valueOf(tooMany.getDescription()).contains("32 commands"), tooMany::toString);
        assertEquals(32, processes.size());
        processes.getFirst().end(0);
        await("x0");
        ScriptedProcess _ = begin("one");
        processes.forEach(process -> process.end(0));
    }

    @Test
    void oneIdIsOneCommand() {
        ScriptedProcess first = begin("one");

        assertEquals(Status.Code.INTERNAL, refused(exec("one")).getCode());

        assertEquals(1, processes.size());
        assertFalse(first.isKilled());
        first.end(0);
        await("one");
        assertEquals(Status.Code.INTERNAL, refused(exec("one")).getCode(), "it is remembered");
    }

    @Test
    void theSecondOfTwoCommandsAtOnceWithOneIdIsRefused() {
        Status.Code[] second = new Status.Code[1];
        guest.commands.replaceNext("setsid", command -> {
            second[0] = refused(exec("one")).getCode();
            Files.writeString(Path.of(option(command, "--pid-file")), PID + "\n");
            ScriptedProcess process = new ScriptedProcess();
            processes.add(process);
            return process;
        });

        ScriptedProcess first = begin("one");

        assertEquals(Status.Code.INTERNAL, second[0]);
        assertEquals(1, processes.size());
        assertFalse(first.isKilled());
        first.end(0);
    }

    @Test
    void theOldestCommandsThatHaveEndedAreForgotten() {
        ScriptedProcess running = begin("running");
        for (int i = 0; i < 21; i++) {
            begin("x" + i).end(i);
            await("x" + i);
        }
        assertEquals(Status.Code.NOT_FOUND, Answer.refusal(service::waitProcess, waiting("x0")));
        assertEquals(1, await("x1"));
        assertFalse(running.isKilled());
        running.end(5);
        assertEquals(5, await("running"));
    }

    @Test
    void aCommandThatTheRuntimeCanNotStartIsAFailureWithItsWords() throws IOException {
        guest.commands.replaceNext("setsid", command -> {
            Files.writeString(Path.of(option(command, "--log")), "{\"level\": \"error\", \"msg\": \"no such file\"}\n");
            return ScriptedProcess.ended(255, "", "");
        });
        Status said = refused(exec("one"));
        guest.commands.replaceNext("setsid", command -> ScriptedProcess.ended(254, "", ""));
        Status silent = refused(exec("one"));
        guest.commands.refuseNext("setsid");
        Status none = refused(exec("one"));

        assertEquals(Status.Code.INTERNAL, said.getCode());
        assertEquals("no such file", said.getDescription());
        assertEquals(Status.Code.INTERNAL, silent.getCode());
        assertTrue(String.valueOf(silent.getDescription()).contains("254"), silent::toString);
        assertEquals(Status.Code.INTERNAL, none.getCode());
        assertNoFilesAreLeft();
        begin("one");
    }

    @Test
    void aCommandThatDoesNotStartInTimeIsKilled() {
        ScriptedProcess slow = new ScriptedProcess();
        guest.commands.replaceNext("setsid", command -> slow);
        guest.ticker.advanceWithEachRead(Duration.ofSeconds(1));

        assertEquals(Status.Code.INTERNAL, refused(exec("one")).getCode());

        assertTrue(slow.isKilled());
    }

    @Test
    void aCommandHasTimeToStart() throws IOException {
        Path[] pid = new Path[1];
        guest.commands.replaceNext("setsid", command -> {
            pid[0] = Path.of(option(command, "--pid-file"));
            ScriptedProcess process = new ScriptedProcess();
            processes.add(process);
            return process;
        });
        CompletableFuture<ScriptedProcess> beginning = CompletableFuture.supplyAsync(() -> begin("one"), THREADS);
        Awaitility.await().atMost(LONGEST).until(() -> !processes.isEmpty());
        guest.ticker.advance(Duration.ofSeconds(29));
        assertFalse(beginning.isDone());

        // In one step, as a runtime writes it.
        Path written = Files.writeString(directory.resolve("pid"), Long.toString(PID));
        Files.move(written, pid[0], StandardCopyOption.ATOMIC_MOVE);

        assertFalse(beginning.join().isKilled());
    }

    @Test
    void aCommandIsRefusedInWhatDoesNotRun() {
        guest.runtime.set(APP, "paused");
        assertEquals(Status.Code.INTERNAL, refused(exec("one")).getCode());
        guest.runtime.set(APP, "stopped");
        assertEquals(Status.Code.INTERNAL, refused(exec("one")).getCode());
        assertEquals(
                Status.Code.INTERNAL,
                refused(exec("one").setContainerId("none")).getCode());

        assertEquals(List.of(), guest.commands.lines("setsid"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "../x", "-xx", APP})
    void aCommandHasAProperId(String id) {
        assertEquals(Status.Code.INTERNAL, refused(exec(id)).getCode());
        assertEquals(List.of(), guest.commands.lines("setsid"));
    }

    @Test
    void whatCommandsCanNotHaveIsRefused() {
        Status.Code unsupported = Status.Code.UNIMPLEMENTED;
        assertEquals(
                unsupported,
                refused(exec("one").setStringUser(StringUser.getDefaultInstance()))
                        .getCode());
        assertEquals(unsupported, refused(exec("one").setStdinPort(1)).getCode());
        assertEquals(unsupported, refused(exec("one").setStdoutPort(1)).getCode());
        assertEquals(
                Status.Code.INTERNAL,
                refused(exec("one").setProcess(Process.getDefaultInstance())).getCode());
        assertEquals(
                Status.Code.INTERNAL,
                refused(exec("one")
                                .setProcess(Process.newBuilder()
                                        .addArgs("ls")
                                        .setCapabilities(
                                                LinuxCapabilities.newBuilder().addEffective("CAP_NONSENSE"))))
                        .getCode());
        assertEquals(List.of(), guest.commands.lines("setsid"));
    }

    @Test
    void commandsEndWithTheirContainer() {
        ScriptedProcess process = begin("one");

        Answer.of(
                service::removeContainer,
                RemoveContainerRequest.newBuilder().setContainerId(APP).build());

        assertTrue(process.isKilled());
    }

    @Test
    void aCommandWithoutATerminalHasNoSize() {
        ScriptedProcess process = begin("one");

        assertEquals(
                Status.Code.UNAVAILABLE,
                Answer.refusal(
                        service::ttyWinResize,
                        TtyWinResizeRequest.newBuilder()
                                .setContainerId(APP)
                                .setExecId("one")
                                .setRow(24)
                                .setColumn(80)
                                .build()));
        process.end(0);
    }
}
