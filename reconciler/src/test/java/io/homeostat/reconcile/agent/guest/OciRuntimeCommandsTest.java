package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.reconcile.agent.frontend.ManualTicker;
import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Command lines of a runtime, and what is made of its answers. */
class OciRuntimeCommandsTest {
    @TempDir
    private Path directory;

    private final ManualTicker ticker = new ManualTicker();
    private final FakeCommands commands = new FakeCommands(ticker);
    private FakeRuntime fake;
    private OciRuntime runtime;

    @BeforeEach
    void prepare() throws IOException, InterruptedException {
        fake = new FakeRuntime(directory);
        commands.install(FakeRuntime.PROGRAM.toString(), fake);
        runtime = new OciRuntime(FakeRuntime.PROGRAM, directory, commands, ticker);
        commands.forgetLines();
    }

    private List<String> lines() {
        String options = FakeRuntime.PROGRAM + " --root " + directory + " --log-format json ";
        return commands.lines().stream()
                .map(line -> line.substring(options.length()))
                .toList();
    }

    private static Status.Code refused(Executable call) {
        return assertThrows(StatusRuntimeException.class, call).getStatus().getCode();
    }

    @Test
    void aProgramThatHangsCanNotBeStartedOrFailsIsNoRuntime() {
        commands.hangNext("features");
        assertThrows(IOException.class, () -> new OciRuntime(FakeRuntime.PROGRAM, directory, commands, ticker));
        commands.refuseNext("features");
        assertThrows(IOException.class, () -> new OciRuntime(FakeRuntime.PROGRAM, directory, commands, ticker));
        commands.failNext("features", "no such command");
        assertThrows(IOException.class, () -> new OciRuntime(FakeRuntime.PROGRAM, directory, commands, ticker));
        commands.replaceNext("features", command -> ScriptedProcess.ended(0, "usage:", ""));
        assertThrows(IOException.class, () -> new OciRuntime(FakeRuntime.PROGRAM, directory, commands, ticker));

        assertTrue(commands.hanging().getFirst().isKilled());
    }

    @Test
    void aRuntimeWithoutFiltersSaysSo() throws IOException, InterruptedException {
        commands.replaceNext("features", command -> ScriptedProcess.ended(0, "{\"linux\": {}}", ""));

        OciRuntime other = new OciRuntime(FakeRuntime.PROGRAM, directory, commands, ticker);

        assertFalse(other.filtersCalls());
        assertFalse(other.knowsCapability("CAP_CHOWN"));
        assertTrue(runtime.filtersCalls());
        assertTrue(runtime.knowsCapability("CAP_CHOWN"));
    }

    @ParameterizedTest
    @CsvSource({
        "creating, CREATED",
        "created, CREATED",
        "running, RUNNING",
        "paused, PAUSED",
        "stopped, STOPPED",
        "nonsense, STOPPED"
    })
    void statesAreThoseOfTheRuntime(String status, OciRuntime.State state) throws InterruptedException {
        fake.set("app", status);

        assertEquals(state, runtime.state("app"));
        assertEquals(List.of("state app"), lines());
    }

    @Test
    void aContainerWithoutADirectoryIsNone() throws InterruptedException {
        assertEquals(OciRuntime.State.NONE, runtime.state("app"));
        assertEquals(List.of(), lines());
    }

    @Test
    void aContainerThatTheRuntimeDoesNotKnowIsNoneAndOtherFailuresAreFailures() throws IOException {
        Files.createDirectory(directory.resolve("app"));
        assertEquals(OciRuntime.State.NONE, assertDoesNotInterrupt(() -> runtime.state("app")));

        commands.failNext("state", "{\"level\": \"error\", \"msg\": \"permission denied\"}");
        assertEquals(Status.Code.INTERNAL, refused(() -> runtime.state("app")));
        commands.replaceNext("state", command -> ScriptedProcess.ended(0, "no JSON", ""));
        assertEquals(Status.Code.INTERNAL, refused(() -> runtime.state("app")));
    }

    private interface Asking {
        OciRuntime.State ask() throws InterruptedException;
    }

    private static OciRuntime.State assertDoesNotInterrupt(Asking asking) {
        try {
            return asking.ask();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void whatStoppedIsKilledToo() throws InterruptedException {
        fake.set("app", "stopped");

        runtime.kill("app");

        assertEquals(List.of("state app", "kill --all app KILL", "state app"), lines());
    }

    @Test
    void whatIsPausedDiesWhenItIsResumed() throws InterruptedException {
        fake.set("app", "paused");

        runtime.kill("app");

        assertEquals(List.of("state app", "kill --all app KILL", "state app", "resume app"), lines());
        assertEquals("stopped", fake.state("app"));
    }

    @Test
    void whatIsNotThereIsNeitherKilledNorDeleted() throws InterruptedException {
        runtime.kill("app");
        runtime.delete("app");

        assertEquals(List.of(), lines());
    }

    @Test
    void aDeletionKillsFirst() throws InterruptedException {
        fake.set("app", "running");

        runtime.delete("app");

        assertEquals(List.of("state app", "kill --all app KILL", "state app", "delete --force app"), lines());
    }

    @Test
    void signalsPausesAndLimitsAreCommands() throws InterruptedException {
        fake.set("app", "running");

        runtime.signal("app", 15);
        runtime.pause("app");
        runtime.resume("app");
        runtime.update("app", Path.of("/file"));

        assertEquals(List.of("kill app 15", "pause app", "resume app", "update --resources /file app"), lines());
    }

    @Test
    void statisticsAreTheDataOfAnEvent() throws InterruptedException {
        fake.set("app", "running");
        fake.statistics("{\"pids\": {\"current\": 4}}");

        assertEquals(4, runtime.statistics("app").at("/pids/current").asInt());
        assertEquals(List.of("events --stats app"), lines());
        commands.replaceNext("events", command -> ScriptedProcess.ended(0, "no JSON", ""));
        assertEquals(Status.Code.INTERNAL, refused(() -> runtime.statistics("app")));
    }

    @Test
    void aCommandThatHangsOrCanNotBeStartedIsAFailureOfTheCall() {
        fake.set("app", "running");
        commands.hangNext("pause");
        assertEquals(Status.Code.INTERNAL, refused(() -> runtime.pause("app")));
        commands.refuseNext("pause");
        assertEquals(Status.Code.INTERNAL, refused(() -> runtime.pause("app")));

        assertTrue(commands.hanging().getFirst().isKilled());
    }

    @ParameterizedTest
    @ValueSource(strings = {"pause", "resume", "kill", "update", "events"})
    void aCommandThatNobodyWaitsForIsGivenUp(String verb) {
        fake.set("app", "running");
        ScriptedProcess process = new ScriptedProcess(() -> {});
        commands.replaceNext(verb, command -> process);

        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);
        call.run(() -> assertEquals(Status.Code.CANCELLED, refused(() -> {
            switch (verb) {
                case "pause" -> runtime.pause("app");
                case "resume" -> runtime.resume("app");
                case "kill" -> runtime.signal("app", 1);
                case "update" -> runtime.update("app", Path.of("/file"));
                default -> runtime.statistics("app");
            }
        })));

        assertTrue(process.isKilled());
    }

    @Test
    void whoAsksOrEndsDoesNotGiveUpWithTheCaller() {
        fake.set("app", "running");
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);
        for (String verb : List.of("state", "kill --all", "delete --force")) {
            commands.replaceNext(verb, command -> {
                ScriptedProcess[] slow = new ScriptedProcess[1];
                ScriptedProcess _ = fake.run(command);
                slow[0] = new ScriptedProcess(() -> slow[0].end(0));
                slow[0].print("{\"status\": \"running\"}");
                return slow[0];
            });
        }

        call.run(() -> assertDoesNotInterrupt(() -> {
            runtime.delete("app");
            return OciRuntime.State.NONE;
        }));

        assertEquals("", fake.state("app"));
    }

    @Test
    void theContainersAreThoseThatHaveADirectory() throws IOException, InterruptedException {
        fake.set("one", "running");
        fake.set("two", "stopped");

        assertEquals(Set.of("one", "two"), Set.copyOf(runtime.containers()));
        OciRuntime other = new OciRuntime(FakeRuntime.PROGRAM, directory, commands, ticker);
        assertEquals(2, other.containers().size());
    }

    @ParameterizedTest
    @ValueSource(strings = {"error", "fatal"})
    void theLastMessageOfAFailureCounts(String level) {
        String line = "{\"level\": \"" + level + "\", \"msg\": \"%s\"}\n";
        String log = line.formatted("first") + line.formatted("last") + "{\"level\": \"info\", \"msg\": \"bye\"}\n";

        assertEquals(Optional.of("last"), OciRuntime.failure(log));
    }

    @Test
    void memoryThatRanOutIsCountedWhereTheKernelCounts() throws IOException {
        fake.set("app", "running");
        Path state = directory.resolve("app").resolve("state.json");
        assertEquals(0, runtime.outOfMemory("app"));
        Path memory = Files.createDirectory(directory.resolve("memory-group"));
        Path unified = Files.createDirectory(directory.resolve("unified-group"));
        Files.writeString(
                state,
                "{\"cgroup_paths\": {\"memory\": \"" + memory + "\", \"\": \"" + unified + "\", \"cpu\": \"/x\"}}");
        assertEquals(0, runtime.outOfMemory("app"));
        Files.writeString(unified.resolve("memory.events"), "low 0\nOOM_KILL 4\n".replace("OOM_KILL", "oom_kill"));
        assertEquals(4, runtime.outOfMemory("app"));
        Files.writeString(memory.resolve("memory.oom_control"), "under_oom 0\noom_kill 7\n");
        assertEquals(7, runtime.outOfMemory("app"));
    }
}
