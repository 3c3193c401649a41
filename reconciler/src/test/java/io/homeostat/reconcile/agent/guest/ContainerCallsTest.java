package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.LinuxMemory;
import io.homeostat.proto.kata.LinuxPids;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.PauseContainerRequest;
import io.homeostat.proto.kata.ResumeContainerRequest;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.StatsContainerRequest;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.WaitProcessRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Signals, pauses, limits, statistics and events of containers that are there. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ContainerCallsTest extends SandboxTestBed {
    private static final String APP = "app";
    private static final long MEBIBYTE = 1 << 20;

    private void start() throws IOException {
        guest.start(service, APP);
        guest.commands.forgetLines();
    }

    private void createOnly() throws IOException {
        io.homeostat.proto.kata.CreateContainerRequest request =
                guest.container(APP).build();
        Answer.of(service::createContainer, request);
    }

    private void end() {
        guest.exit(APP, 0);
        Answer.of(
                service::waitProcess,
                WaitProcessRequest.newBuilder().setContainerId(APP).build());
    }

    /** The subcommands of the runtime that change something. */
    private List<String> changes() {
        int options = String.join(" ", FakeRuntime.PROGRAM.toString(), "--root", guest.paths.runtime() + "", "")
                        .length()
                + "--log-format json ".length();
        return guest.commands.lines(FakeRuntime.PROGRAM.toString()).stream()
                .map(line -> line.substring(options))
                .filter(line -> !line.startsWith("state ") && !line.startsWith("features"))
                .toList();
    }

    private static SignalProcessRequest signal(int number, String exec) {
        return SignalProcessRequest.newBuilder()
                .setContainerId(APP)
                .setExecId(exec)
                .setSignal(number)
                .build();
    }

    private void send(int number, String exec) {
        Answer.of(service::signalProcess, signal(number, exec));
    }

    private Status.Code refused(int number) {
        return Answer.refusal(service::signalProcess, signal(number, ""));
    }

    private void handles(long mask) throws IOException {
        guest.write("proc/" + TestGuest.PID + "/status", "SigCgt:\t" + Long.toHexString(mask) + "\n");
    }

    @ParameterizedTest
    @CsvSource({"1, kill app 1", "9, kill --all app KILL", "64, kill app 64"})
    void aSignalGoesToTheFirstProcessAndSigkillToAll(int number, String change) throws IOException {
        start();

        send(number, "");

        assertEquals(List.of(change), changes());
    }

    @Test
    void sigkillForTheFirstProcessAloneIsForNoOther() throws IOException {
        start();

        send(9, APP);

        assertEquals(List.of("kill app 9"), changes());
    }

    @Test
    void aProcessWithoutAHandlerForSigtermIsKilled() throws IOException {
        start();
        handles(0);

        send(15, "");

        assertEquals(List.of("kill app 9"), changes());
    }

    @Test
    void aProcessWithAHandlerGetsItsSigterm() throws IOException {
        start();
        handles(1L << 14);

        send(15, "");

        assertEquals(List.of("kill app 15"), changes());
    }

    @Test
    void whatIsPausedIsResumedToDie() throws IOException {
        start();
        guest.runtime.set(APP, "paused");
        handles(0);

        send(15, "");
        assertEquals(List.of("kill app 9", "resume app"), changes());

        guest.runtime.set(APP, "paused");
        guest.commands.forgetLines();
        send(9, APP);
        assertEquals(List.of("kill app 9", "resume app"), changes());

        guest.runtime.set(APP, "paused");
        guest.commands.forgetLines();
        send(9, "");
        assertEquals(List.of("kill --all app KILL", "resume app"), changes());
    }

    @Test
    void otherSignalsDoNotResumeWhatIsPaused() throws IOException {
        start();
        guest.runtime.set(APP, "paused");
        handles(1L << 14);

        send(15, "");
        send(10, "");

        assertEquals(List.of("kill app 15", "kill app 10"), changes());
    }

    @Test
    void signalZeroOnlyAsks() throws IOException {
        start();

        send(0, "");
        assertEquals(List.of(), changes());

        end();
        assertEquals(Status.Code.NOT_FOUND, refused(0));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 65})
    void thereIsNoSuchSignal(int number) throws IOException {
        start();

        assertEquals(Status.Code.INTERNAL, refused(number));
        assertEquals(List.of(), changes());
    }

    @Test
    void whatDoesNotRunGetsNoSignal() throws IOException {
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(1));
        createOnly();
        assertEquals(Status.Code.INTERNAL, refused(1), "it was not started");
        start();
        guest.runtime.set(APP, "stopped");
        assertEquals(Status.Code.NOT_FOUND, refused(1), "it has ended, and nobody has noticed");
        end();
        assertEquals(Status.Code.NOT_FOUND, refused(1));
    }

    @Test
    void whatIsBeingStartedGetsNoSignalYet() throws IOException {
        start();
        Files.delete(guest.paths.runtime().resolve(APP).resolve("status"));
        Files.delete(guest.paths.runtime().resolve(APP));

        assertEquals(Status.Code.UNAVAILABLE, refused(1));
    }

    @Test
    void aCommandThatIsNotThereGetsNoSignal() throws IOException {
        start();

        assertEquals(Status.Code.NOT_FOUND, Answer.refusal(service::signalProcess, signal(1, "other")));
    }

    @Test
    void aRuntimeThatRefusesOrHangsIsAFailureOfTheCall() throws IOException {
        start();
        guest.commands.failNext("kill app 1", "{\"level\": \"error\", \"msg\": \"no such process\"}");
        Status failed = Answer.failure(service::signalProcess, signal(1, ""));
        guest.commands.hangNext("kill app 1");
        Status hung = Answer.failure(service::signalProcess, signal(1, ""));

        assertEquals(Status.Code.INTERNAL, failed.getCode());
        assertEquals("no such process", failed.getDescription());
        assertEquals(Status.Code.INTERNAL, hung.getCode());
        assertTrue(guest.commands.hanging().getFirst().isKilled());
    }

    private void pause() {
        Answer.of(
                service::pauseContainer,
                PauseContainerRequest.newBuilder().setContainerId(APP).build());
    }

    private void resume() {
        Answer.of(
                service::resumeContainer,
                ResumeContainerRequest.newBuilder().setContainerId(APP).build());
    }

    private Status.Code refusedToPause() {
        return Answer.refusal(
                service::pauseContainer,
                PauseContainerRequest.newBuilder().setContainerId(APP).build());
    }

    private Status.Code refusedToResume() {
        return Answer.refusal(
                service::resumeContainer,
                ResumeContainerRequest.newBuilder().setContainerId(APP).build());
    }

    @Test
    void aContainerIsPausedAndResumedOnce() throws IOException {
        start();

        pause();
        pause();
        assertEquals("paused", guest.runtime.state(APP));
        resume();
        resume();

        assertEquals("running", guest.runtime.state(APP));
        assertEquals(List.of("pause app", "resume app"), changes());
    }

    @ParameterizedTest
    @ValueSource(strings = {"created", "stopped"})
    void whatDoesNotRunIsNeitherPausedNorResumed(String state) throws IOException {
        start();
        guest.runtime.set(APP, state);

        assertEquals(Status.Code.INTERNAL, refusedToPause());
        assertEquals(Status.Code.INTERNAL, refusedToResume());
        assertEquals(List.of(), changes());
    }

    @Test
    void whatIsNotThereIsNeitherPausedNorResumed() {
        assertEquals(Status.Code.INVALID_ARGUMENT, refusedToPause());
        assertEquals(Status.Code.INVALID_ARGUMENT, refusedToResume());
    }

    private CgroupStats statistics() {
        return Answer.of(
                        service::statsContainer,
                        StatsContainerRequest.newBuilder().setContainerId(APP).build())
                .getCgroupStats();
    }

    @Test
    void statisticsAreThoseOfTheRuntimeWhileItRuns() throws IOException {
        guest.runtime.statistics("{\"pids\": {\"current\": 3}}");
        createOnly();
        assertEquals(CgroupStats.getDefaultInstance(), statistics());
        start();
        assertEquals(3, statistics().getPidsStats().getCurrent());
        pause();
        assertEquals(3, statistics().getPidsStats().getCurrent());
        guest.runtime.set(APP, "stopped");
        assertEquals(CgroupStats.getDefaultInstance(), statistics());
    }

    private static UpdateContainerRequest update(LinuxResources.Builder resources) {
        return UpdateContainerRequest.newBuilder()
                .setContainerId(APP)
                .setResources(resources)
                .build();
    }

    private static LinuxResources.Builder limits(long memory, long pids) {
        return LinuxResources.newBuilder()
                .setMemory(LinuxMemory.newBuilder().setLimit(memory))
                .setPids(LinuxPids.newBuilder().setLimit(pids));
    }

    private void has(long memory, long pids) {
        guest.runtime.statistics(
                "{\"memory\": {\"usage\": {\"limit\": " + memory + "}}, \"pids\": {\"limit\": " + pids + "}}");
    }

    private Status.Code refusedToUpdate(LinuxResources.Builder resources) {
        return Answer.refusal(service::updateContainer, update(resources));
    }

    @Test
    void limitsAreSetByTheRuntimeAndChecked() throws IOException {
        start();
        has(MEBIBYTE - 65_535, 7);
        guest.commands.replaceNext("update", command -> {
            String file = command.get(command.indexOf("--resources") + 1);
            assertEquals("{\"memory\":{\"limit\":1048576},\"pids\":{\"limit\":7}}", Files.readString(Path.of(file)));
            return guest.runtime.run(command);
        });

        Answer.of(service::updateContainer, update(limits(MEBIBYTE, 7)));

        assertEquals(2, changes().size());
        assertTrue(changes().getFirst().endsWith(" app"), changes()::toString);
        try (Stream<Path> files = Files.list(guest.paths.container(APP))) {
            assertTrue(files.noneMatch(file -> file.getFileName().toString().startsWith("resources")));
        }
    }

    @ParameterizedTest
    @CsvSource({"983040, 7", "1114112, 7", "1048576, 6", "1048576, 8"})
    void aLimitThatTheKernelDidNotTakeIsAFailure(long memory, long pids) throws IOException {
        start();
        has(memory, pids);

        assertEquals(Status.Code.INTERNAL, refusedToUpdate(limits(MEBIBYTE, 7)));
    }

    @Test
    void whatIsNotLimitedIsNotChecked() throws IOException {
        start();
        has(MEBIBYTE, 7);

        Answer.of(service::updateContainer, update(limits(-1, -1)));

        assertEquals(2, changes().size());
    }

    @Test
    void aLimitThatIsNotAskedForIsNotChecked() throws IOException {
        start();
        has(MEBIBYTE, 7);
        LinuxResources.Builder memory =
                LinuxResources.newBuilder().setMemory(LinuxMemory.newBuilder().setLimit(MEBIBYTE));

        Answer.of(service::updateContainer, update(memory));

        assertEquals(2, changes().size());
    }

    @Test
    void anUpdateWithoutResourcesOnlyAsksForTheContainer() throws IOException {
        assertEquals(Status.Code.INVALID_ARGUMENT, refusedToUpdate(LinuxResources.newBuilder()));
        start();

        Answer.of(service::updateContainer, update(LinuxResources.newBuilder()));

        assertEquals(List.of(), changes());
    }

    @Test
    void aPausedContainerIsUpdatedAndOneThatDoesNotRunIsNot() throws IOException {
        start();
        has(MEBIBYTE, 7);
        guest.runtime.set(APP, "paused");
        Answer.of(service::updateContainer, update(limits(MEBIBYTE, 7)));
        guest.runtime.set(APP, "stopped");

        assertEquals(Status.Code.INTERNAL, refusedToUpdate(limits(MEBIBYTE, 7)));
    }

    @Test
    void aFileOfLimitsThatTheRuntimeRefusesIsDeleted() throws IOException {
        start();
        guest.commands.failNext("update", "no");

        assertEquals(Status.Code.INTERNAL, refusedToUpdate(limits(MEBIBYTE, 7)));

        try (Stream<Path> files = Files.list(guest.paths.container(APP))) {
            assertTrue(files.noneMatch(file -> file.getFileName().toString().startsWith("resources")));
        }
    }
}
