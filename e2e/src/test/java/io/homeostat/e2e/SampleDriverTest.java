package io.homeostat.e2e;

import static io.homeostat.e2e.DriverProcess.seconds;
import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.PluginType;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.CreateNetworkRequest;
import io.homeostat.proto.nomad.driver.DestroyTaskRequest;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingIOOperation;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingRequest;
import io.homeostat.proto.nomad.driver.ExecTaskStreamingResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.InitRequest;
import io.homeostat.proto.nomad.driver.InspectTaskRequest;
import io.homeostat.proto.nomad.driver.InspectTaskResponse;
import io.homeostat.proto.nomad.driver.RecoverTaskRequest;
import io.homeostat.proto.nomad.driver.SignalTaskRequest;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskConfigSchemaRequest;
import io.homeostat.proto.nomad.driver.TaskEventsRequest;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.TaskStatsResponse;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.driver.WaitTaskResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.msgpack.value.ValueFactory;

/** That the sample driver, well-behaved, does what drivers of Nomad do: only then do tests with it mean something. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SampleDriverTest {
    private static final int SIGKILL = 9;
    private static final int BY_SIGNAL = 128;

    @TempDir
    static Path directory;

    private SampleDriver sample;
    private DriverTasks tasks;
    private DriverProcess driver;

    @BeforeAll
    void launch() throws IOException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        sample = SampleDriver.in(directory);
        tasks = new DriverTasks(Files.createDirectories(directory.resolve("alloc")));
        driver = sample.launch();
    }

    @AfterAll
    void end() {
        driver.close();
        try {
            eventually().until(() -> Processes.of("none", directory).isEmpty());
        } finally {
            Processes.of("none", directory).forEach(process -> Processes.kill(process.pid()));
        }
    }

    @Test
    void whoStartsItByHandIsToldThatItIsAPlugin() throws IOException {
        Process byHand = DriverProcess.builder(
                        directory, Map.of(), sample.program().toString())
                .start();
        String said = new String(byHand.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        eventually().until(() -> !byHand.isAlive());
        assertEquals(1, byHand.exitValue());
        assertTrue(said.contains("NOMAD_PLUGIN_MAGIC_COOKIE"), said);
    }

    @Test
    void itSaysWhoItIsAndWhatItTakes() {
        assertTrue(driver.handshake().matches("1\\|2\\|unix\\|/.*\\|grpc\\|"), driver.handshake());
        assertEquals(sample.sockets(), driver.socket().getParent());
        var info = driver.base().pluginInfo(PluginInfoRequest.getDefaultInstance());
        assertEquals(PluginType.DRIVER, info.getType());
        assertEquals("runner", info.getName());
        assertEquals(List.of("v0.1.0"), info.getPluginApiVersionsList());
        assertEquals(
                Set.of("enabled", "faults", "greeting"),
                driver.base()
                        .configSchema(ConfigSchemaRequest.getDefaultInstance())
                        .getSpec()
                        .getObject()
                        .getAttributesMap()
                        .keySet());
        assertEquals(
                Set.of("command", "args", "labels", "limits_hint", "faults"),
                driver.driver()
                        .taskConfigSchema(TaskConfigSchemaRequest.getDefaultInstance())
                        .getSpec()
                        .getObject()
                        .getAttributesMap()
                        .keySet());
        assertEquals(
                ServingStatus.SERVING,
                driver.health()
                        .check(HealthCheckRequest.newBuilder()
                                .setService("plugin")
                                .build())
                        .getStatus());
        driver.driver().init(InitRequest.getDefaultInstance());
        assertEquals(
                Status.Code.UNIMPLEMENTED,
                refusal(() -> driver.driver().createNetwork(CreateNetworkRequest.getDefaultInstance()))
                        .getCode());
        assertEquals(
                List.of(),
                driver.log().stream()
                        .filter(line -> !line.matches("\\{\"@level\":.*\"@module\":\"runner\".*}"))
                        .toList());
    }

    @Test
    void ctrlCIsNotForIt() {
        Processes.signal("INT", driver.process().pid());
        driver.driver().init(InitRequest.getDefaultInstance());
        assertTrue(driver.process().isAlive());
    }

    @Test
    void itIsHealthyUntilItIsDisabledAndEndsWhenToldTo() {
        try (DriverProcess other = sample.launch()) {
            Iterator<FingerprintResponse> prints = other.driver().fingerprint(FingerprintRequest.getDefaultInstance());
            FingerprintResponse first = prints.next();
            assertEquals(HealthState.HEALTHY, first.getHealth());
            assertEquals("1", first.getAttributesOrThrow("driver.runner").getStringVal());
            other.base()
                    .setConfig(SetConfigRequest.newBuilder()
                            .setMsgpackConfig(DriverTasks.msgpack(ValueFactory.newMap(
                                    ValueFactory.newString("enabled"), ValueFactory.newBoolean(false))))
                            .build());
            assertEquals(HealthState.UNDETECTED, prints.next().getHealth());
            Status refused = refusal(() -> other.base()
                    .setConfig(SetConfigRequest.newBuilder()
                            .setMsgpackConfig(DriverTasks.msgpack(ValueFactory.newMap(
                                    ValueFactory.newString("enabled"), ValueFactory.newString("perhaps"))))
                            .build()));
            assertTrue(String.valueOf(refused.getDescription()).contains("enabled is not a bool"));
            assertThrows(
                    StatusRuntimeException.class,
                    () -> other.controller().shutdown(io.homeostat.proto.goplugin.Empty.getDefaultInstance()));
            assertEquals(0, other.awaitEnd());
            assertFalse(Files.exists(other.socket()));
        }
    }

    @Test
    void aTaskOutlivesItsDriverAndTheNextOneKnowsItsEnd() {
        TaskConfig task = tasks.script("until [ -e local/go ]; do sleep 0.05; done; exit 5")
                .build();
        TaskHandle handle;
        InspectTaskResponse before;
        try (DriverProcess first = sample.launch()) {
            handle = start(first, task);
            before = inspect(first, task);
            first.kill();
        }
        assertTrue(Processes.isAlive(pid(before)));
        // As Nomad has it after a restart: the configuration for the driver is not kept.
        TaskHandle kept = handle.toBuilder()
                .setConfig(handle.getConfig().toBuilder().clearMsgpackDriverConfig())
                .build();
        try (DriverProcess second = sample.launch()) {
            assertNotFound(() -> inspect(second, task));
            recover(second, kept);
            recover(second, kept);
            assertEquals(before, inspect(second, task));
            Future<WaitTaskResponse> one = second.futures().waitTask(wait(task));
            Future<WaitTaskResponse> two = second.futures().waitTask(wait(task));
            touch(DriverTasks.directory(task).resolve("local/go"));
            assertEquals(exited(5), result(one));
            assertEquals(exited(5), result(two));
            second.kill();
        }
        try (DriverProcess third = sample.launch()) {
            recover(third, kept);
            assertEquals(exited(5), waitFor(third, task), "what ended meanwhile is taken up with its end");
            destroy(third, task, false);
            assertRefused("executor is gone", () -> recover(third, kept));
        }
        assertEquals(Set.of("local"), entries(DriverTasks.directory(task)));
    }

    @Test
    void anExitStatusAndASignalAreTwoThings() {
        assertEquals(exited(0), run(tasks.script("true").build()));
        assertEquals(exited(137), run(tasks.script("exit 137").build()));
        assertEquals(signalled(SIGKILL), run(tasks.script("kill -9 $$").build()));
        assertEquals(
                signalled(2),
                run(tasks.script("kill -INT $$; sleep 60").build()),
                "it doesn't ignore what its driver does");
    }

    @Test
    void aTaskHasItsEnvironmentItsDirectoryAndItsFilesAndNoOther() throws IOException {
        TaskConfig task = tasks.task()
                .setMsgpackDriverConfig(DriverTasks.msgpack(
                        ValueFactory.newMap(ValueFactory.newString("command"), ValueFactory.newString("env"))))
                .putEnv("NOMAD_META_a-b", "c d")
                .build();
        assertEquals(exited(0), run(task));
        assertEquals(
                List.of("NOMAD_META_a-b=c d", "PATH=/usr/local/bin:/usr/bin:/bin"),
                DriverTasks.stdout(task).lines().sorted().toList());
        TaskConfig placed = tasks.script("pwd >&2; printf new").build();
        Files.writeString(Path.of(placed.getStdoutPath()), "older output");
        assertEquals(exited(0), run(placed));
        assertEquals("newer output", DriverTasks.stdout(placed), "written from the beginning, and never emptied");
        assertEquals(DriverTasks.directory(placed) + "\n", Files.readString(Path.of(placed.getStderrPath())));
    }

    @Test
    void aTaskRunsAsItsUserAndInTheGroupsOfItsHost() throws IOException {
        assumeTrue(Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0), "needs root");
        TaskConfig task = tasks.script("id -un; sleep 600").setUser("nobody").build();
        List<Path> made = makeGroups(task);
        List<Path> groups = made.stream()
                .filter(group -> group.getFileName().toString().startsWith(task.getAllocId()))
                .toList();
        assumeTrue(!groups.isEmpty(), "needs control groups that can be written to");
        try {
            TaskHandle handle = start(driver, task);
            eventually().until(() -> DriverTasks.stdout(task).equals("nobody\n"));
            String pid = Long.toString(pid(inspect(driver, handle.getConfig())));
            for (Path group : groups) {
                assertTrue(members(group).contains(pid), group::toString);
            }
            destroy(driver, task, true);
        } finally {
            removeGroups(made);
        }
    }

    @Test
    void whatCanNotBeRunIsRefusedAndLeavesNothing() {
        TaskConfig unknown = tasks.task()
                .setMsgpackDriverConfig(DriverTasks.msgpack(ValueFactory.newMap(
                        ValueFactory.newString("command"), ValueFactory.newString("no-such-program"))))
                .build();
        assertRefused("there is no program no-such-program", () -> start(driver, unknown));
        TaskConfig empty = tasks.task().build();
        assertRefused("lacks command", () -> start(driver, empty));
        TaskConfig blind =
                tasks.script("true").setStdoutPath(directory + "/nowhere").build();
        assertRefused("cannot open " + directory + "/nowhere", () -> start(driver, blind));
        assertFalse(Files.exists(directory.resolve("nowhere")));
        assertEquals(Set.of("local"), entries(DriverTasks.directory(blind)));
        assertNotFound(() -> inspect(driver, blind));
        TaskConfig nobody = tasks.script("true").setUser("no-such-user").build();
        assumeTrue("root".equals(System.getProperty("user.name")), "only root becomes others");
        assertRefused("there is no user no-such-user", () -> start(driver, nobody));
    }

    @Test
    void aTaskIsStartedOnceAndDestroyedOnlyWhenItHasEndedUnlessForced() {
        TaskConfig task = tasks.script("setsid sleep 600 & sleep 600").build();
        TaskHandle handle = start(driver, task);
        assertRefused("task with ID \"" + task.getId() + "\" already started", () -> start(driver, task));
        eventually().until(() -> sleepers(handle) == 2);
        assertRefused("cannot destroy a running task", () -> destroy(driver, task, false));
        assertEquals(2, sleepers(handle));
        destroy(driver, task, true);
        assertEquals(0, sleepers(handle));
        assertNotFound(() -> inspect(driver, task));
        destroy(driver, task, true);
    }

    @Test
    void whatDoesNotHeedItsSignalIsKilledWithAllItHasStarted() {
        TaskConfig task = tasks.script("trap '' TERM; sleep 600 & echo ready; while :; do sleep 600; done")
                .build();
        TaskHandle handle = start(driver, task);
        eventually().until(() -> DriverTasks.stdout(task).contains("ready"));
        assertRefused("unknown signal: TERM", () -> stop(task, "TERM", 1));
        assertRefused("unknown signal: SIGNONE", () -> stop(task, "SIGNONE", 1));
        assertEquals(TaskState.RUNNING, inspect(driver, task).getTask().getState());
        stop(task, "SIGTERM", 1);
        assertEquals(signalled(SIGKILL), waitFor(driver, task));
        assertEquals(0, sleepers(handle));
        assertEquals(TaskState.EXITED, inspect(driver, task).getTask().getState());
        stop(task, "SIGTERM", 1);
        destroy(driver, task, false);
        stop(task, "SIGTERM", 1);
    }

    @Test
    void aSignalReachesTheTask() {
        TaskConfig task = tasks.script("trap 'exit 7' USR1; echo ready; while :; do sleep 0.05; done")
                .build();
        start(driver, task);
        eventually().until(() -> DriverTasks.stdout(task).contains("ready"));
        driver.driver().signalTask(signal(task, "SIGUSR1"));
        assertEquals(exited(7), waitFor(driver, task));
        assertRefused("unknown signal: 10", () -> driver.driver().signalTask(signal(task, "10")));
        destroy(driver, task, false);
        assertNotFound(() -> driver.driver().signalTask(signal(task, "SIGUSR1")));
    }

    @Test
    void whoNoLongerWaitsLeavesTheTaskAlone() {
        TaskConfig task = tasks.script("sleep 600").build();
        start(driver, task);
        Future<WaitTaskResponse> waiting = driver.futures().waitTask(wait(task));
        assertTrue(waiting.cancel(true));
        assertEquals(TaskState.RUNNING, inspect(driver, task).getTask().getState());
        Future<WaitTaskResponse> again = driver.futures().waitTask(wait(task));
        stop(task, "", 60);
        assertEquals(signalled(15), result(again));
        destroy(driver, task, false);
    }

    @Test
    void withItsExecutorKilledNobodyKnowsHowATaskEnded() {
        TaskConfig task = tasks.script("sleep 600").build();
        TaskHandle handle = start(driver, task);
        InspectTaskResponse before = inspect(driver, task);
        Processes.kill(Long.parseLong(before.getDriver().getAttributesOrThrow("executor")));
        WaitTaskResponse end = driver.driver().waitTask(wait(task));
        assertEquals(exited(-1), end.getResult());
        assertEquals("the executor is gone", end.getErr());
        assertTrue(Processes.isAlive(pid(before)), "its own process goes on");
        try (DriverProcess other = sample.launch()) {
            assertRefused("the task's executor is gone", () -> recover(other, handle));
        }
        destroy(driver, task, true);
        assertFalse(Processes.isAlive(pid(before)));
    }

    @Test
    void whatHappensToATaskAndWhatItUsesIsTold() {
        List<DriverTaskEvent> events = Collections.synchronizedList(new ArrayList<>());
        TaskConfig task = tasks.script("sleep 600").build();
        driver.streams().taskEvents(TaskEventsRequest.getDefaultInstance(), new Collected<>(events));
        eventually().until(() -> driver.log().stream().anyMatch(line -> line.contains("TaskEvents")));
        start(driver, task);
        List<TaskStatsResponse> stats = Collections.synchronizedList(new ArrayList<>());
        driver.streams()
                .taskStats(
                        TaskStatsRequest.newBuilder()
                                .setTaskId(task.getId())
                                .setCollectionInterval(seconds(3600))
                                .build(),
                        new Collected<>(stats));
        eventually().until(() -> !stats.isEmpty());
        assertTrue(stats.get(0).getStats().getAggResourceUsage().getMemory().getRss() > 0);
        assertEquals("5", inspect(driver, task).getDriver().getAttributesOrThrow("nice"));
        assertEquals("front", inspect(driver, task).getDriver().getAttributesOrThrow("label.tier"));
        destroy(driver, task, true);
        eventually()
                .untilAsserted(() -> assertEquals(
                        List.of("Started", "Ended by signal 9"),
                        List.copyOf(events).stream()
                                .filter(event -> event.getTaskId().equals(task.getId()))
                                .map(DriverTaskEvent::getMessage)
                                .toList()));
    }

    @Test
    void anotherCommandRunsInTheSurroundingsOfATask() {
        TaskConfig task = tasks.script("sleep 600").putEnv("COLOUR", "green").build();
        start(driver, task);
        ExecTaskResponse done = exec(task, 60, "sh", "-c", "echo $COLOUR; pwd; echo no >&2; exit 3");
        assertEquals(
                "green\n" + DriverTasks.directory(task) + "\n", done.getStdout().toStringUtf8());
        assertEquals("no\n", done.getStderr().toStringUtf8());
        assertEquals(3, done.getResult().getExitCode());
        assertRefused("has not ended after 1000 ms", () -> exec(task, 1, "sleep", "600"));
        destroy(driver, task, true);
        assertNotFound(() -> exec(task, 60, "true"));
    }

    @Test
    void oneCanTalkWithACommandBesideATask() {
        TaskConfig task = tasks.script("sleep 600").build();
        start(driver, task);
        Conversation cat = new Conversation(task, false, "sh", "-c", "cat; echo end >&2; exit 4");
        cat.requests.onNext(ExecTaskStreamingRequest.getDefaultInstance());
        cat.type("hello\n");
        eventually().until(() -> cat.stdout().equals("hello\n"));
        cat.requests.onNext(ExecTaskStreamingRequest.newBuilder()
                .setStdin(ExecTaskStreamingIOOperation.newBuilder().setClose(true))
                .build());
        eventually().until(() -> cat.said.isOver());
        assertEquals("end\n", cat.stderr());
        List<ExecTaskStreamingResponse> answers = cat.answers;
        assertTrue(answers.stream().anyMatch(answer -> answer.getStdout().getClose()));
        assertTrue(answers.stream().anyMatch(answer -> answer.getStderr().getClose()));
        ExecTaskStreamingResponse last = answers.get(answers.size() - 1);
        assertTrue(last.getExited());
        assertEquals(4, last.getResult().getExitCode());
        destroy(driver, task, true);
    }

    @Test
    void aCommandBesideATaskCanHaveATerminal() {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/script")), "needs script(1)");
        TaskConfig task = tasks.script("sleep 600").build();
        start(driver, task);
        Conversation shell = new Conversation(
                task,
                true,
                "sh",
                "-c",
                "tty; until [ \"$(stty size)\" = '33 77' ]; do sleep 0.05; done; read line; echo got $line; exit 6");
        shell.requests.onNext(ExecTaskStreamingRequest.newBuilder()
                .setTtySize(ExecTaskStreamingRequest.TerminalSize.newBuilder()
                        .setHeight(33)
                        .setWidth(77))
                .build());
        eventually().until(() -> shell.stdout().contains("/dev/pts/"));
        shell.type("x\n");
        eventually().until(() -> shell.said.isOver());
        assertEquals(6, shell.answers.get(shell.answers.size() - 1).getResult().getExitCode());
        assertTrue(shell.stdout().contains("got x"), shell.stdout());
        destroy(driver, task, true);
    }

    /** A command beside a task, and what it has said. */
    private final class Conversation {
        final List<ExecTaskStreamingResponse> answers = Collections.synchronizedList(new ArrayList<>());
        final Collected<ExecTaskStreamingResponse> said = new Collected<>(answers);
        final StreamObserver<ExecTaskStreamingRequest> requests =
                driver.streams().execTaskStreaming(said);

        Conversation(TaskConfig task, boolean tty, String... command) {
            requests.onNext(ExecTaskStreamingRequest.newBuilder()
                    .setSetup(ExecTaskStreamingRequest.Setup.newBuilder()
                            .setTaskId(task.getId())
                            .setTty(tty)
                            .addAllCommand(List.of(command)))
                    .build());
        }

        void type(String text) {
            requests.onNext(ExecTaskStreamingRequest.newBuilder()
                    .setStdin(ExecTaskStreamingIOOperation.newBuilder().setData(ByteString.copyFromUtf8(text)))
                    .build());
        }

        String stdout() {
            return List.copyOf(answers).stream()
                    .map(answer -> answer.getStdout().getData().toStringUtf8())
                    .collect(Collectors.joining());
        }

        String stderr() {
            return List.copyOf(answers).stream()
                    .map(answer -> answer.getStderr().getData().toStringUtf8())
                    .collect(Collectors.joining());
        }
    }

    private interface Asking {
        void ask();
    }

    private static Status refusal(Asking asking) {
        return assertThrows(StatusRuntimeException.class, asking::ask).getStatus();
    }

    private static void assertRefused(String words, Asking asking) {
        Status refused = refusal(asking);
        assertEquals(Status.Code.UNKNOWN, refused.getCode());
        assertTrue(String.valueOf(refused.getDescription()).contains(words), refused.toString());
    }

    private static void assertNotFound(Asking asking) {
        assertRefused("task not found for given id", asking);
    }

    private static TaskHandle start(DriverProcess driver, TaskConfig task) {
        return driver.driver()
                .startTask(StartTaskRequest.newBuilder().setTask(task).build())
                .getHandle();
    }

    /** From its start to its destruction. */
    private ExitResult run(TaskConfig task) {
        start(driver, task);
        ExitResult result = waitFor(driver, task);
        destroy(driver, task, false);
        return result;
    }

    private static void recover(DriverProcess driver, TaskHandle handle) {
        var _ = driver.driver()
                .recoverTask(RecoverTaskRequest.newBuilder().setHandle(handle).build());
    }

    private static WaitTaskRequest wait(TaskConfig task) {
        return WaitTaskRequest.newBuilder().setTaskId(task.getId()).build();
    }

    private static ExitResult waitFor(DriverProcess driver, TaskConfig task) {
        return driver.driver().waitTask(wait(task)).getResult();
    }

    private static ExitResult result(Future<WaitTaskResponse> waiting) {
        try {
            return waiting.get(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS).getResult();
        } catch (Exception e) {
            throw new IllegalStateException("the call failed", e);
        }
    }

    private static InspectTaskResponse inspect(DriverProcess driver, TaskConfig task) {
        return driver.driver()
                .inspectTask(
                        InspectTaskRequest.newBuilder().setTaskId(task.getId()).build());
    }

    private static long pid(InspectTaskResponse seen) {
        return Long.parseLong(seen.getDriver().getAttributesOrThrow("pid"));
    }

    private void stop(TaskConfig task, String signal, int timeout) {
        var _ = driver.driver()
                .stopTask(StopTaskRequest.newBuilder()
                        .setTaskId(task.getId())
                        .setSignal(signal)
                        .setTimeout(seconds(timeout))
                        .build());
    }

    private static SignalTaskRequest signal(TaskConfig task, String signal) {
        return SignalTaskRequest.newBuilder()
                .setTaskId(task.getId())
                .setSignal(signal)
                .build();
    }

    private static void destroy(DriverProcess driver, TaskConfig task, boolean force) {
        var _ = driver.driver()
                .destroyTask(DestroyTaskRequest.newBuilder()
                        .setTaskId(task.getId())
                        .setForce(force)
                        .build());
    }

    private ExecTaskResponse exec(TaskConfig task, int timeout, String... command) {
        return driver.driver()
                .execTask(ExecTaskRequest.newBuilder()
                        .setTaskId(task.getId())
                        .addAllCommand(List.of(command))
                        .setTimeout(seconds(timeout))
                        .build());
    }

    private static ExitResult exited(int code) {
        return ExitResult.newBuilder().setExitCode(code).build();
    }

    private static ExitResult signalled(int signal) {
        return ExitResult.newBuilder()
                .setExitCode(BY_SIGNAL + signal)
                .setSignal(signal)
                .build();
    }

    /** How many of its processes are the sleep of 600 s: all of them write to the task's file. */
    private static long sleepers(TaskHandle handle) {
        return Processes.of("none", Path.of(handle.getConfig().getAllocDir())).stream()
                .filter(process -> process.command().equals("sleep 600 "))
                .count();
    }

    private static Set<String> entries(Path of) {
        try (Stream<Path> entries = Files.list(of)) {
            return entries.map(entry -> entry.getFileName().toString()).collect(Collectors.toCollection(TreeSet::new));
        } catch (IOException e) {
            throw new IllegalStateException("cannot list " + of, e);
        }
    }

    private static void touch(Path file) {
        try {
            Files.createFile(file);
        } catch (IOException e) {
            throw new IllegalStateException("cannot make " + file, e);
        }
    }

    /** Made as a host makes them, parents first; none where that is not possible. */
    private static List<Path> makeGroups(TaskConfig task) {
        String name = task.getAllocId() + "." + task.getName();
        Path root = Path.of("/sys/fs/cgroup");
        List<Path> made = new ArrayList<>();
        for (String hierarchy : List.of("freezer", "cpu", "memory")) {
            make(root.resolve(hierarchy), List.of("nomad", name), made);
        }
        if (Files.exists(root.resolve("cgroup.controllers"))) {
            make(root, List.of("nomad.slice", "share", name + ".scope"), made);
        }
        return made;
    }

    private static void make(Path hierarchy, List<String> names, List<Path> made) {
        Path group = hierarchy;
        for (String name : names) {
            group = group.resolve(name);
            try {
                if (!Files.exists(group)) {
                    made.add(Files.createDirectory(group));
                }
            } catch (IOException e) {
                // No such hierarchy, or not writable here: the test says so when there is none.
                return;
            }
        }
    }

    /** A group can be removed a moment after its last process has gone. Parents that others use by now stay. */
    private static void removeGroups(List<Path> made) {
        for (Path group : made.reversed()) {
            try {
                eventually().until(() -> members(group).isEmpty());
                Files.delete(group);
            } catch (IOException e) {
                assertTrue(
                        entries(group).stream().anyMatch(entry -> Files.isDirectory(group.resolve(entry))),
                        e::toString);
            }
        }
    }

    private static List<String> members(Path group) throws IOException {
        return Files.readAllLines(group.resolve("cgroup.procs"));
    }

    /** What a stream has brought so far. */
    private static final class Collected<T> implements StreamObserver<T> {
        private final List<T> messages;
        private volatile boolean isOver;

        Collected(List<T> messages) {
            this.messages = messages;
        }

        @Override
        public void onNext(T message) {
            messages.add(message);
        }

        @Override
        public void onError(Throwable error) {
            isOver = true;
        }

        @Override
        public void onCompleted() {
            isOver = true;
        }

        boolean isOver() {
            return isOver;
        }
    }
}
