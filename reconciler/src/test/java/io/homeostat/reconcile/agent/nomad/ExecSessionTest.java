package io.homeostat.reconcile.agent.nomad;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest.Setup;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest.TerminalSize;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests commands beside a task: how they are built, and what is exchanged with the client. */
class ExecSessionTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    Path root;

    private final FakeCall<ExecTaskStreamingResponse> call = new FakeCall<>();
    private final AtomicInteger more = new AtomicInteger();
    private final List<ProcessBuilder> launched = new CopyOnWriteArrayList<>();
    private final ScriptedProcess process = new ScriptedProcess();
    private @Nullable IOException launchFails;
    private NomadBench bench;
    private DrivenTask task;
    private ExecSession session;

    @BeforeEach
    void open() throws Exception {
        bench = new NomadBench(root);
        bench.agent.on("declare", () -> bench.agent.change(bench.look(false, ourselves(), null, false, "")));
        task = bench.tasks.start(
                NomadBench.config().toBuilder().putEnv("COLOR", "blue").build());
        session = new ExecSession(bench.tasks, new Outlet<>(call), more::incrementAndGet, builder -> {
            launched.add(builder);
            if (launchFails != null) {
                throw launchFails;
            }
            return process;
        });
    }

    /** The process of these tests, as that of a task. */
    private static ProcessIdentity ourselves() {
        try {
            ProcFs procFs = new ProcFs();
            long pid = ProcessHandle.current().pid();
            return new ProcessIdentity(pid, procFs.stat(pid).orElseThrow().startTicks(), procFs.bootId());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static ExecTaskStreamingRequest setup(String... command) {
        return ExecTaskStreamingRequest.newBuilder()
                .setSetup(Setup.newBuilder().setTaskId(NomadBench.ID).addAllCommand(List.of(command)))
                .build();
    }

    private static ExecTaskStreamingRequest input(String text, boolean close) {
        return ExecTaskStreamingRequest.newBuilder()
                .setStdin(ExecTaskStreamingIOOperation.newBuilder()
                        .setData(ByteString.copyFromUtf8(text))
                        .setClose(close))
                .build();
    }

    private String text(boolean stdout) {
        return call.answers.stream()
                .map(answer -> (stdout ? answer.getStdout() : answer.getStderr())
                        .getData()
                        .toStringUtf8())
                .collect(Collectors.joining());
    }

    private boolean isClosed(boolean stdout) {
        return call.answers.stream().anyMatch(answer -> (stdout ? answer.getStdout() : answer.getStderr()).getClose());
    }

    @Test
    void whatTheCommandWritesComesBeforeTheEndsOfItsOutputsAndItsExit() {
        session.onNext(setup("ls", "-l"));
        process.print("out");
        process.printError("err");
        await().atMost(LONG).until(() -> text(true).equals("out") && text(false).equals("err"));
        assertFalse(isClosed(true) || isClosed(false));

        process.end(3);

        await().atMost(LONG).until(call::isOver);
        assertTrue(call.completed);
        assertTrue(isClosed(true) && isClosed(false));
        ExecTaskStreamingResponse last = call.answers.getLast();
        assertTrue(last.getExited());
        assertEquals(3, last.getResult().getExitCode());
        int before = more.get();
        session.onNext(ExecTaskStreamingRequest.getDefaultInstance());
        assertEquals(before, more.get());
    }

    @Test
    void whatIsTypedIsGivenToTheCommandAndThenMoreIsAskedFor() {
        session.onNext(setup("cat"));
        assertEquals(1, more.get());

        session.onNext(input("typed", false));
        await().atMost(LONG).until(() -> process.input().equals("typed") && more.get() == 2);
        assertFalse(process.isInputClosed());

        session.onNext(input(" more", true));
        await().atMost(LONG).until(process::isInputClosed);
        assertEquals("typed more", process.input());

        session.onNext(input("too late", false));
        await().atMost(LONG).until(() -> more.get() == 4);
        assertFalse(call.isOver());
    }

    @Test
    void signsOfLifeAndSizesOfNoTerminalChangeNothing() {
        session.onNext(setup("cat"));
        session.onNext(ExecTaskStreamingRequest.getDefaultInstance());
        session.onNext(ExecTaskStreamingRequest.newBuilder()
                .setTtySize(TerminalSize.newBuilder().setHeight(24).setWidth(80))
                .build());

        assertEquals(3, more.get());
        assertEquals(List.of(), call.answers);
    }

    @Test
    void aClientThatWritesNoMoreEndsTheInput() {
        session.onNext(setup("cat"));

        session.onCompleted();

        await().atMost(LONG).until(process::isInputClosed);
        assertFalse(call.isOver());
    }

    @Test
    void aClientThatAsksForNothingGetsNothing() {
        session.onCompleted();

        assertTrue(call.completed);
        assertEquals(List.of(), call.answers);
        session.onCompleted();
        session.onNext(setup("ls"));
        assertEquals(List.of(), launched);
    }

    @Test
    void aClientThatGoesAwayTakesTheCommandWithIt() {
        session.onNext(setup("cat"));
        call.cancel();
        assertTrue(process.isKilled());
    }

    @Test
    void aConnectionThatBreaksTakesTheCommandWithIt() {
        session.onError(Status.CANCELLED.asException());
        assertFalse(process.isKilled());

        session = new ExecSession(bench.tasks, new Outlet<>(call), more::incrementAndGet, builder -> process);
        session.onNext(setup("cat"));
        session.onError(Status.CANCELLED.asException());
        assertTrue(process.isKilled());
    }

    @Test
    void anOutputThatBreaksHasEnded() {
        session.onNext(setup("cat"));
        process.breakOutputs();
        process.end(0);

        await().atMost(LONG).until(call::isOver);
        assertTrue(call.completed);
        assertTrue(isClosed(true) && isClosed(false));
    }

    private void assertFails(Status.Code code, ExecTaskStreamingRequest request) {
        session.onNext(request);
        assertEquals(code, call.code());
        session.onNext(setup("ls"));
        assertTrue(launched.size() < 2);
    }

    @Test
    void theFirstMessageIsTheSetup() {
        assertFails(Status.Code.INVALID_ARGUMENT, input("typed", false));
        assertEquals(List.of(), launched);
    }

    @Test
    void aCommandNeedsATask() {
        assertFails(
                Status.Code.UNKNOWN,
                ExecTaskStreamingRequest.newBuilder()
                        .setSetup(Setup.newBuilder().setTaskId("alloc/other/1").addCommand("ls"))
                        .build());
    }

    @Test
    void aCommandNeedsAProcessOfTheTask() {
        bench.agent.change(bench.pending());

        assertFails(Status.Code.UNKNOWN, setup("ls"));
    }

    @Test
    void anAgentThatDoesNotSayWhichProcessItIsIsAFailure() {
        bench.agent.failNext("look", FakeAgent.refused());

        assertFails(Status.Code.UNKNOWN, setup("ls"));
    }

    @Test
    void aCommandThatCannotBeStartedIsAFailure() {
        launchFails = new IOException("no memory");

        assertFails(Status.Code.UNKNOWN, setup("ls"));
    }

    private ProcessBuilder command(boolean terminal, String... words) throws Exception {
        return TaskExec.command(task, ourselves(), List.of(words), terminal);
    }

    @Test
    void aCommandHasASessionOfItsOwnAndNothingOfOurEnvironment() throws Exception {
        ProcessBuilder builder = command(false, "ls", "-l");

        List<String> words = builder.command();
        int setsid = words.indexOf("--wait");
        assertTrue(words.get(setsid - 1).endsWith("/setsid"), words.toString());
        assertFalse(words.contains("--ctty"));
        assertTrue(words.get(words.size() - 2).endsWith("/ls"), words.toString());
        assertEquals("-l", words.getLast());
        assertEquals("/alloc/web", words.get(words.size() - 3));
        assertEquals(new File("/"), builder.directory());
        assertTrue(builder.environment().keySet().stream().allMatch(name -> name.startsWith("HOMEOSTAT_")));
        assertTrue(builder.environment().containsValue("PATH=" + Executables.DEFAULT_PATH));
        assertTrue(builder.environment().containsValue("COLOR=blue"));
    }

    @Test
    void aCommandIsRunAsTheDeclaredUserWhoeverItsProcessHasBecome() throws Exception {
        assumeTrue(TrustedPath.isRoot(), "only root becomes somebody else");
        Account nobody = Account.find("nobody").orElseThrow();
        task = new DrivenTask(
                task.config().toBuilder().setUser("nobody").build(), task.settings(), Instant.EPOCH, task.last());

        assertTrue(command(false, "ls").command().contains("--reuid=" + nobody.uid()));
    }

    @Test
    void aUserWhoIsGoneIsAFailure() {
        task = new DrivenTask(
                task.config().toBuilder().setUser("no-such-user").build(), task.settings(), Instant.EPOCH, task.last());

        assertEquals(
                "there is no user no-such-user any more",
                assertThrows(IOException.class, () -> command(false, "ls")).getMessage());
    }

    @Test
    void aCommandOfTheSameUserNeedsNoOther() throws Exception {
        assertFalse(command(false, "ls").command().toString().contains("setpriv"));
    }

    @Test
    void aCommandWithATerminalControlsItAndKnowsItsKind() throws Exception {
        ProcessBuilder builder = command(true, "ls");

        assertTrue(builder.command().contains("--ctty"));
        assertTrue(builder.environment().containsValue("TERM=xterm"));
    }

    @Test
    void aCommandThatIsNotThereIsAFailure() {
        assertThrows(IOException.class, () -> command(false, "/no/such/program"));
        assertThrows(IOException.class, () -> command(false, "no-such-program-anywhere"));
        assertEquals(
                Status.Code.INVALID_ARGUMENT,
                assertThrows(
                                StatusRuntimeException.class,
                                () -> TaskExec.command(task, ourselves(), ImmutableList.of(), false))
                        .getStatus()
                        .getCode());
        assertThrows(StatusRuntimeException.class, () -> command(false, ""));
    }

    @Test
    void anotherProcessWithTheSameNumberIsNotThatOfTheTask() {
        ProcessIdentity other =
                new ProcessIdentity(ourselves().pid(), 1, ourselves().bootId());

        assertThrows(IOException.class, () -> TaskExec.command(task, other, List.of("ls"), false));
        assertThrows(IOException.class, () -> TaskExec.command(task, NomadBench.PROCESS, List.of("ls"), false));
    }
}
