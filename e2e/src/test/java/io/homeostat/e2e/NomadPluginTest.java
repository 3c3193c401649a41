package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.homeostat.proto.goplugin.Empty;
import io.homeostat.proto.nomad.base.ConfigSchemaRequest;
import io.homeostat.proto.nomad.base.PluginInfoRequest;
import io.homeostat.proto.nomad.base.PluginType;
import io.homeostat.proto.nomad.base.SetConfigRequest;
import io.homeostat.proto.nomad.driver.CPUUsage;
import io.homeostat.proto.nomad.driver.CapabilitiesRequest;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.ExitResult;
import io.homeostat.proto.nomad.driver.FingerprintRequest;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.driver.InspectTaskResponse;
import io.homeostat.proto.nomad.driver.LinuxResources;
import io.homeostat.proto.nomad.driver.Resources;
import io.homeostat.proto.nomad.driver.StartTaskRequest;
import io.homeostat.proto.nomad.driver.StopTaskRequest;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskResourceUsage;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatsRequest;
import io.homeostat.proto.nomad.driver.WaitTaskRequest;
import io.homeostat.proto.nomad.structs.RecoverableError;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

/** That a Nomad client gets from {@code homeostat nomad-driver} what it expects of a driver, and what Homeostat promises. */
class NomadPluginTest {
    private static final int SIGKILL = 9;
    private static final int BY_SIGNAL = 128;
    private static final String ENTRY_POINT = "bin/run";
    private static final String FOREVER = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private NomadPlugin nomad;

    @BeforeEach
    void launch() {
        nomad = new NomadPlugin(homeostat);
    }

    @AfterEach
    void end() {
        nomad.close();
    }

    /** Whose script has set its traps. */
    private static void awaitReady(TaskConfig task) {
        eventually().until(() -> DriverTasks.stdout(task).contains("ready"));
    }

    private static void awaitOutput(TaskConfig task, String all) {
        eventually().until(() -> DriverTasks.stdout(task).equals(all));
    }

    private boolean isPaused(String workload) {
        return Homeostat.condition(homeostat.status(workload), "Paused").equals("True");
    }

    private static String refusal(Executable call) {
        return String.valueOf(assertThrows(StatusRuntimeException.class, call).getMessage());
    }

    @Test
    void itSaysWhoItIs() {
        var info = nomad.process().base().pluginInfo(PluginInfoRequest.getDefaultInstance());
        assertEquals(PluginType.DRIVER, info.getType());
        assertEquals("homeostat", info.getName());
        assertEquals(List.of("v0.1.0"), info.getPluginApiVersionsList());
        assertTrue(info.getPluginVersion().matches("[0-9]+\\.[0-9]+\\.[0-9]+.*"), info.getPluginVersion());
        var capabilities = nomad.process()
                .driver()
                .capabilities(CapabilitiesRequest.getDefaultInstance())
                .getCapabilities();
        assertTrue(capabilities.getSendSignals() && capabilities.getExec());
        var fingerprint = nomad.process()
                .driver()
                .fingerprint(FingerprintRequest.getDefaultInstance())
                .next();
        assertEquals(HealthState.HEALTHY, fingerprint.getHealth());
        assertEquals(
                info.getPluginVersion(),
                fingerprint.getAttributesOrThrow("driver.homeostat.version").getStringVal());
    }

    @Test
    void aTaskRunsAndItsEndIsTold() {
        TaskConfig task = nomad.script("echo out; echo $WHO >&2; pwd; exit 3").toBuilder()
                .putEnv("WHO", "me")
                .build();
        nomad.start(task);

        ExitResult result = nomad.await(task).getResult();

        assertEquals(3, result.getExitCode());
        assertEquals(0, result.getSignal());
        assertEquals(result, nomad.await(task).getResult(), "who asks again gets the same");
        assertEquals(TaskState.EXITED, nomad.inspect(task).getTask().getState());
        awaitOutput(task, "out\nme\n" + DriverTasks.directory(task) + "\n");
        assertEquals(
                "nomad", homeostat.status(nomad.workload(task)).get("source").asText());
        nomad.destroy(task.getId(), false);
        assertEquals(
                Status.Code.UNKNOWN,
                assertThrows(StatusRuntimeException.class, () -> nomad.inspect(task))
                        .getStatus()
                        .getCode());
        assertTrue(homeostat.statuses().get("workloads").isEmpty());
    }

    @Tag("nightly")
    @Test
    void startingItAgainIsTheSameTask() {
        TaskConfig task = nomad.script(FOREVER);
        TaskHandle handle = nomad.start(task);
        long pid = nomad.pid(task);

        assertEquals(handle, nomad.start(task));
        nomad.crash();
        assertEquals(handle, nomad.start(task), "the answer to the first one was lost");

        assertEquals(pid, nomad.pid(task));
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void itsTasksSurviveItAndAreRecoveredFromTheHandleAlone() {
        TaskConfig task = nomad.script(FOREVER);
        TaskHandle handle = nomad.start(task);
        InspectTaskResponse before = nomad.inspect(task);
        long pid = nomad.pid(task);

        nomad.crash();
        nomad.recover(handle.toBuilder()
                .setConfig(handle.getConfig().toBuilder().clearMsgpackDriverConfig())
                .build());

        assertEquals(before, nomad.inspect(task));
        assertEquals(pid, nomad.pid(task));
        Processes.kill(pid);
        ExitResult result = nomad.await(task).getResult();
        assertEquals(SIGKILL, result.getSignal());
        assertEquals(BY_SIGNAL + SIGKILL, result.getExitCode());
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void whatHasEndedIsNotRecoveredNorStarted() {
        TaskConfig task = nomad.script("echo once; exit 5");
        TaskHandle handle = nomad.start(task);
        nomad.await(task);
        awaitOutput(task, "once\n");

        nomad.crash();

        String why = refusal(() -> nomad.recover(handle));
        assertTrue(why.contains("exit code 5"), why);
        nomad.destroy(task.getId(), true);
        assertEquals("once\n", DriverTasks.stdout(task));
    }

    @Tag("nightly")
    @Test
    void anAgentThatIsKilledIsStartedAgainAndTheTaskStays() {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        long pid = nomad.pid(task);
        long agent = nomad.agent();

        Processes.kill(agent);

        eventually().until(() -> nomad.agent() != agent && Processes.isAlive(nomad.agent()));
        assertEquals(pid, nomad.pid(task));
        Processes.kill(pid);
        assertEquals(SIGKILL, nomad.await(task).getResult().getSignal());
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void afterAllWasKilledTheEndIsKnown() {
        TaskConfig task = nomad.script(FOREVER);
        TaskHandle handle = nomad.start(task);
        long pid = nomad.pid(task);
        long agent = nomad.agent();

        nomad.process().kill();
        Processes.kill(agent);
        Processes.kill(pid);
        nomad.crash();

        nomad.recover(handle);
        assertEquals(SIGKILL, nomad.await(task).getResult().getSignal());
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void theEndOfWhatEndedWhileNobodyWasThereIsToldOnce() {
        TaskConfig task = nomad.script("echo once; sleep 1; exit 5");
        TaskHandle handle = nomad.start(task);
        String workload = nomad.workload(task);
        nomad.process().kill();
        eventually().until(() -> homeostat.status(workload).get("pid").isNull());

        nomad.crash();
        nomad.recover(handle);
        assertEquals(5, nomad.await(task).getResult().getExitCode());
        awaitOutput(task, "once\n");

        nomad.crash();
        String why = refusal(() -> nomad.recover(handle));
        assertTrue(why.contains("exit code 5"), why);
        nomad.destroy(task.getId(), true);
        assertEquals(handle.getConfig().getId(), nomad.start(task).getConfig().getId(), "nothing of it is left");
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void anotherStartOfATaskTakesThePlaceOfTheFormer() {
        TaskConfig first = nomad.script(FOREVER);
        nomad.start(first);
        long pid = nomad.pid(first);
        String same = first.getId().substring(0, first.getId().lastIndexOf('/') + 1);
        TaskConfig second = first.toBuilder().setId(same + "another").build();

        nomad.crash();
        nomad.start(second);

        assertFalse(Processes.isAlive(pid));
        assertEquals(1, homeostat.statuses().get("workloads").size());
        nomad.destroy(second.getId(), true);
    }

    @Tag("nightly")
    @Test
    void anAgentThatDiesWhileATaskIsStartedChangesNothing() throws IOException {
        Path archive = Files.write(homeostat.directory().resolve("a.tar.gz"), TarGz.ofScript(FOREVER));
        TaskConfig task = nomad.task(Map.of(
                "url",
                archive.toUri().toString(),
                "sha256",
                Hashes.sha256(Files.readAllBytes(archive)),
                "entry_point",
                ENTRY_POINT));
        TaskConfig other = nomad.script(FOREVER);
        nomad.start(other);
        long agent = nomad.agent();
        var start = nomad.process()
                .futures()
                .startTask(StartTaskRequest.newBuilder().setTask(task).build());
        eventually().until(() -> homeostat.statuses().get("workloads").size() == 2 || start.isDone());

        Processes.kill(agent);

        eventually().until(start::isDone);
        assertTrue(Processes.isAlive(nomad.pid(task)));
        nomad.destroy(task.getId(), true);
        nomad.destroy(other.getId(), true);
    }

    @Tag("nightly")
    @Test
    void whoGivesUpStartingLeavesNothing() throws IOException {
        try (ServerSocket silent = new ServerSocket(0)) {
            TaskConfig task = nomad.task(Map.of(
                    "url",
                    "http://127.0.0.1:" + silent.getLocalPort() + "/a.tar.gz",
                    "sha256",
                    Hashes.sha256(new byte[0]),
                    "entry_point",
                    ENTRY_POINT));
            var start = nomad.process()
                    .futures()
                    .startTask(StartTaskRequest.newBuilder().setTask(task).build());
            eventually()
                    .until(() -> Files.exists(homeostat.stateDir().resolve("agent"))
                            && homeostat.statuses().get("workloads").size() == 1);

            start.cancel(true);

            eventually().until(() -> homeostat.statuses().get("workloads").isEmpty());
        }
    }

    @Tag("nightly")
    @Test
    void aStopThatWasBrokenOffIsOver() {
        TaskConfig task = nomad.script("trap '' TERM; echo ready; while :; do sleep 0.1; done");
        TaskHandle handle = nomad.start(task);
        awaitReady(task);
        String workload = nomad.workload(task);
        long pid = nomad.pid(task);
        for (boolean recovered : List.of(true, false)) {
            var _ = nomad.process()
                    .futures()
                    .stopTask(StopTaskRequest.newBuilder()
                            .setTaskId(task.getId())
                            .setTimeout(DriverProcess.seconds(60))
                            .build());
            eventually().until(() -> isPaused(workload));
            nomad.crash();
            if (recovered) {
                nomad.recover(handle);
                assertFalse(isPaused(workload));
                assertEquals(pid, nomad.pid(task));
            }
        }
        Processes.kill(pid);

        nomad.recover(handle);

        assertEquals(SIGKILL, nomad.await(task).getResult().getSignal());
        nomad.destroy(task.getId(), true);
        assertTrue(homeostat.statuses().get("workloads").isEmpty());
    }

    @Tag("nightly")
    @Test
    void itIsStoppedAsNomadSays() {
        TaskConfig task = nomad.script("trap 'exit 7' USR1; trap '' TERM; echo ready; while :; do sleep 0.1; done");
        nomad.start(task);
        awaitReady(task);

        nomad.stop(task.getId(), 30, "SIGUSR1");

        assertEquals(7, nomad.await(task).getResult().getExitCode());
        nomad.stop(task.getId(), 30, "SIGUSR1");
        nomad.destroy(task.getId(), false);
        nomad.stop(task.getId(), 1, "");
        nomad.destroy(task.getId(), false);
    }

    @Tag("nightly")
    @Test
    void whatDoesNotEndInTimeIsKilled() {
        TaskConfig task = nomad.script("trap '' TERM; echo ready; while :; do sleep 0.1; done");
        nomad.start(task);
        awaitReady(task);

        nomad.stop(task.getId(), 1, "");

        assertEquals(SIGKILL, nomad.await(task).getResult().getSignal());
        nomad.destroy(task.getId(), false);
    }

    @Tag("nightly")
    @Test
    void whatRunsIsDestroyedByForceOnly() {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        long pid = nomad.pid(task);

        String why = refusal(() -> nomad.destroy(task.getId(), false));

        assertTrue(why.contains("by force"), why);
        assertTrue(Processes.isAlive(pid));
        nomad.crash();
        String unknown = refusal(() -> nomad.destroy(task.getId(), false));
        assertTrue(unknown.contains("by force"), "not recovered: " + unknown);
        assertTrue(Processes.isAlive(pid));
        nomad.destroy(task.getId(), true);
        assertFalse(Processes.isAlive(pid));
    }

    @Tag("nightly")
    @Test
    void whoGivesUpWaitingLeavesItRunning() {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        WaitTaskRequest request =
                WaitTaskRequest.newBuilder().setTaskId(task.getId()).build();
        var first = nomad.process().futures().waitTask(request);
        var second = nomad.process().futures().waitTask(request);

        first.cancel(true);

        assertEquals(TaskState.RUNNING, nomad.inspect(task).getTask().getState());
        nomad.stop(task.getId(), 30, "");
        eventually().until(second::isDone);
        nomad.destroy(task.getId(), false);
    }

    @Tag("nightly")
    @Test
    void whoStartsItByHandIsToldThatItIsADriver() {
        homeostat.runProcessExactly("nomad-driver").exits(1).says("plugin_dir");
    }

    @Tag("nightly")
    @Test
    void beforeInitNothingIsTouched() {
        nomad.close();
        for (int i = 0; i < 3; i++) {
            try (DriverProcess probe = nomad.launch()) {
                assertTrue(probe.handshake().matches("1\\|2\\|unix\\|/.*\\|grpc\\|"), probe.handshake());
                var _ = probe.base().pluginInfo(PluginInfoRequest.getDefaultInstance());
                Path elsewhere = homeostat.directory().resolve("other");
                var _ = probe.base()
                        .setConfig(SetConfigRequest.newBuilder()
                                .setMsgpackConfig(NomadPlugin.converted(
                                        probe.base()
                                                .configSchema(ConfigSchemaRequest.getDefaultInstance())
                                                .getSpec(),
                                        Map.of("state_dir", elsewhere.toString())))
                                .build());
                assertFalse(Files.exists(elsewhere));
                assertThrows(
                        StatusRuntimeException.class,
                        () -> probe.controller().shutdown(Empty.getDefaultInstance()),
                        "the breaking connection is the answer");
                assertEquals(0, probe.awaitEnd());
                assertFalse(Files.exists(probe.socket()));
            }
        }
    }

    @Tag("nightly")
    @Test
    void aConfigurationThatIsNoneIsRefused() {
        ByteString relative = NomadPlugin.converted(
                nomad.process()
                        .base()
                        .configSchema(ConfigSchemaRequest.getDefaultInstance())
                        .getSpec(),
                Map.of("state_dir", "here"));

        Status refused = assertThrows(
                        StatusRuntimeException.class,
                        () -> nomad.process()
                                .base()
                                .setConfig(SetConfigRequest.newBuilder()
                                        .setMsgpackConfig(relative)
                                        .build()))
                .getStatus();

        assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
        assertTrue(String.valueOf(refused.getDescription()).contains("state_dir"), refused::toString);
    }

    @Tag("nightly")
    @Test
    void anArchiveIsVerifiedAndUnpackedByHomeostat() throws IOException {
        Path archive = Files.write(homeostat.directory().resolve("a.tar.gz"), TarGz.ofScript("echo unpacked; exit 0"));
        String hash = Hashes.sha256(Files.readAllBytes(archive));
        TaskConfig task =
                nomad.task(Map.of("url", archive.toUri().toString(), "sha256", hash, "entry_point", ENTRY_POINT));
        nomad.start(task);

        assertEquals(0, nomad.await(task).getResult().getExitCode());
        awaitOutput(task, "unpacked\n");
        nomad.destroy(task.getId(), false);

        TaskConfig wrong = nomad.task(Map.of(
                "url", archive.toUri().toString(), "sha256", Hashes.sha256(new byte[0]), "entry_point", ENTRY_POINT));
        String why = refusal(() -> nomad.start(wrong));
        assertTrue(why.contains("SHA-256") || why.contains("sha256"), why);
        assertTrue(homeostat.statuses().get("workloads").isEmpty(), "nothing of it is left");
    }

    @Tag("nightly")
    @Test
    void whatCannotBeHadNowMayBeTriedAgainByNomad() throws IOException {
        TaskConfig task = nomad.task(Map.of(
                "url",
                "http://127.0.0.1:1/a.tar.gz",
                "sha256",
                Hashes.sha256(new byte[0]),
                "entry_point",
                ENTRY_POINT));

        StatusRuntimeException failure = assertThrows(StatusRuntimeException.class, () -> nomad.start(task));

        assertEquals(Status.Code.FAILED_PRECONDITION, failure.getStatus().getCode());
        Any detail = Objects.requireNonNull(StatusProto.fromThrowable(failure)).getDetails(0);
        assertTrue(detail.unpack(RecoverableError.class).getRecoverable());
        assertTrue(homeostat.statuses().get("workloads").isEmpty(), "nothing of it is left");
    }

    @Tag("nightly")
    @Test
    void aTaskThatMakesNoSenseIsRefused() {
        for (Map<String, ?> config : List.of(
                Map.of("entry_point", "a", "url", "https://example.org/a.tar.gz"),
                Map.of("entry_point", "a", "config", "text"),
                Map.of("entry_point", "a", "probe", Map.of("tcp", "a:1", "http", "http://a")),
                Map.of("entry_point", "a", "plugin", true, "probe", Map.of("tcp", "a:1")),
                Map.of("entry_point", "a", "url", "https://example.org/a.tar.gz", "sha256", "none"),
                Map.of("entry_point", "a", "probe", Map.of("http", "none")))) {
            TaskConfig task = nomad.task(config);
            assertEquals(
                    Status.Code.INVALID_ARGUMENT,
                    assertThrows(StatusRuntimeException.class, () -> nomad.start(task))
                            .getStatus()
                            .getCode());
        }
    }

    @Tag("nightly")
    @Test
    void whatNomadLeavesToHomeostatIsRestartedAndNomadIsTold() {
        TaskConfig task =
                nomad.task(Map.of("entry_point", "/bin/sh", "arguments", List.of("-c", FOREVER), "restart", true));
        BlockingQueue<DriverTaskEvent> events = nomad.events();
        nomad.start(task);
        long pid = nomad.pid(task);
        eventually()
                .until(() -> homeostat
                        .status(nomad.workload(task))
                        .at("/state")
                        .asText()
                        .equals("RUNNING"));

        Processes.kill(pid);

        homeostat.awaitAnother(nomad.workload(task), pid);
        assertEquals(TaskState.RUNNING, nomad.inspect(task).getTask().getState());
        eventually()
                .until(() -> events.stream()
                        .anyMatch(event -> event.getTaskId().equals(task.getId())
                                && event.getMessage().contains("restarted")));
        eventually().until(() -> DriverTasks.stdout(task).equals("ready\nready\n"));
        nomad.stop(task.getId(), 30, "");
        assertEquals(0, nomad.await(task).getResult().getExitCode());
        nomad.destroy(task.getId(), false);
    }

    @Tag("nightly")
    @Test
    void itsProcessGetsSignalsThatThereAre() throws IOException {
        TaskConfig task = nomad.script("trap 'echo caught' HUP; echo ready; while :; do sleep 0.1; done");
        nomad.start(task);
        eventually().until(() -> DriverTasks.stdout(task).contains("ready"));

        nomad.signal(task, "SIGHUP");

        eventually().until(() -> DriverTasks.stdout(task).contains("caught"));
        for (String unknown : List.of("SIGNONE", "HUP", "")) {
            assertEquals(
                    Status.Code.INVALID_ARGUMENT,
                    assertThrows(StatusRuntimeException.class, () -> nomad.signal(task, unknown))
                            .getStatus()
                            .getCode());
        }
        assertEquals(TaskState.RUNNING, nomad.inspect(task).getTask().getState());
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void whatItUsesIsMeasured() {
        TaskConfig task = nomad.script("while :; do :; done");
        nomad.start(task);

        var stats = nomad.process()
                .driver()
                .taskStats(TaskStatsRequest.newBuilder()
                        .setTaskId(task.getId())
                        .setCollectionInterval(Duration.newBuilder().setNanos(200_000_000))
                        .build());
        TaskResourceUsage first = stats.next().getStats().getAggResourceUsage();
        TaskResourceUsage second = stats.next().getStats().getAggResourceUsage();

        assertTrue(first.getMemory().getRss() > 0, first::toString);
        assertTrue(second.getCpu().getPercent() > 0, second::toString);
        assertEquals(List.of(CPUUsage.Fields.PERCENT), second.getCpu().getMeasuredFieldsList());
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void whatNomadReadsIsAPipeThatMayComeAndGo() throws Exception {
        TaskConfig plain = nomad.script("i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done");
        Path pipe = homeostat.directory().resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        TaskConfig task = plain.toBuilder().setStdoutPath(pipe.toString()).build();
        nomad.start(task);

        Process reader = new ProcessBuilder("head", "-n", "3", pipe.toString()).start();
        assertEquals("line 1\nline 2\nline 3\n", output(reader));
        // One that comes at the moment in which the former is found gone reads nothing.
        eventually()
                .until(() -> output(new ProcessBuilder("head", "-n", "1", pipe.toString()).start())
                        .startsWith("line "));

        assertEquals(TaskState.RUNNING, nomad.inspect(task).getTask().getState());
        nomad.destroy(task.getId(), true);
    }

    private static String output(Process reader) throws Exception {
        try {
            assertTrue(reader.waitFor(Patience.LONGEST), "it never got its lines");
            return new String(reader.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } finally {
            reader.destroyForcibly();
        }
    }

    @Tag("nightly")
    @Test
    void anyTextIsTheValueOfAVariable() {
        String value = "\u007f\u0085\u009f\u2028é\ud83d\ude00\\u0085\"";
        TaskConfig task = nomad.script("printf %s \"$WHAT\"").toBuilder()
                .putEnv("WHAT", value)
                .build();
        nomad.start(task);

        assertEquals(0, nomad.await(task).getResult().getExitCode());
        awaitOutput(task, value);
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void commandsAreExecutedBesideIt() {
        TaskConfig task = nomad.script(FOREVER).toBuilder().putEnv("WHO", "me").build();
        nomad.start(task);

        ExecTaskResponse answer = nomad.process()
                .driver()
                .execTask(ExecTaskRequest.newBuilder()
                        .setTaskId(task.getId())
                        .addAllCommand(List.of("sh", "-c", "echo $WHO; pwd; echo oh >&2; exit 4"))
                        .build());

        assertEquals(
                "me\n" + DriverTasks.directory(task) + "\n", answer.getStdout().toStringUtf8());
        assertEquals("oh\n", answer.getStderr().toStringUtf8());
        assertEquals(4, answer.getResult().getExitCode());
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void aCommandTalksWithTheClient() throws InterruptedException {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        try (ExecClient exec = new ExecClient(nomad, task, false, "sh", "-c", "cat; echo end >&2; exit 6")) {
            exec.type("hello\n");
            exec.awaitOutput("hello");
            exec.endOfInput();
            assertEquals(6, exec.await().getExitCode());
            assertEquals("hello\n", exec.stdout());
            assertEquals("end\n", exec.stderr());
        }
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void aCommandHasATerminalWhenItIsToHaveOne() throws InterruptedException {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        try (ExecClient exec = new ExecClient(
                nomad, task, true, "sh", "-c", "tty; while read a; do echo got $a; stty size; done; exit 2")) {
            exec.awaitOutput("/dev/pts/");
            exec.resize(33, 77);
            exec.type("x\n");
            exec.awaitOutput("got x");
            exec.awaitOutput("33 77");
            exec.endOfInput();
            assertEquals(2, exec.await().getExitCode());
        }
        nomad.destroy(task.getId(), true);
    }

    @Tag("nightly")
    @Test
    void outOfMemoryIsToldAsTheCause() {
        TaskConfig task = nomad.script("sleep 0.5; exec tail /dev/zero").toBuilder()
                .setResources(Resources.newBuilder()
                        .setLinuxResources(LinuxResources.newBuilder().setMemoryLimitBytes(48 << 20)))
                .build();
        nomad.start(task);
        assumeTrue(
                Homeostat.condition(homeostat.status(nomad.workload(task)), "LimitsNotEnforced")
                        .equals("absent"),
                "this machine does not let us limit");

        ExitResult result = nomad.await(task).getResult();

        assertTrue(result.getOomKilled(), result::toString);
        assertEquals(SIGKILL, result.getSignal());
        nomad.destroy(task.getId(), false);
    }

    @Tag("nightly")
    @Test
    void aPluginIsStartedAndStoppedByItsProtocol() throws IOException {
        TaskConfig task = nomad.task(Map.of(
                "url",
                SampleProgram.GREETER.light().toUri().toString(),
                "sha256",
                Hashes.sha256(Files.readAllBytes(SampleProgram.GREETER.light())),
                "entry_point",
                "bin/greeter",
                "plugin",
                true));
        nomad.start(task);
        eventually()
                .until(() -> homeostat
                        .status(nomad.workload(task))
                        .at("/state")
                        .asText()
                        .equals("RUNNING"));
        assertTrue(nomad.workload(task).startsWith("plugin/"));

        nomad.stop(task.getId(), 30, "");

        assertEquals(0, nomad.await(task).getResult().getExitCode());
        nomad.destroy(task.getId(), false);
    }
}
