package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import io.grpc.StatusRuntimeException;
import io.homeostat.proto.nomad.driver.ExecTaskRequest;
import io.homeostat.proto.nomad.driver.ExecTaskResponse;
import io.homeostat.proto.nomad.driver.LinuxResources;
import io.homeostat.proto.nomad.driver.Resources;
import io.homeostat.proto.nomad.driver.TaskConfig;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a Nomad client executes beside a task: as whom, and for how long. */
@Tag("nightly")
class NomadExecTest {
    private static final String FOREVER = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
    private static final int MOST_OUTPUT = 2 << 20;

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

    private static ExecTaskRequest request(TaskConfig task, int seconds, String script) {
        return ExecTaskRequest.newBuilder()
                .setTaskId(task.getId())
                .setTimeout(Duration.newBuilder().setSeconds(seconds))
                .addAllCommand(List.of("sh", "-c", script))
                .build();
    }

    private ExecTaskResponse execute(TaskConfig task, int seconds, String script) {
        return nomad.process().driver().execTask(request(task, seconds, script));
    }

    private static long noted(Path file) throws IOException {
        eventually().until(() -> Files.exists(file) && Files.readString(file).endsWith("\n"));
        return Long.parseLong(Files.readString(file).strip());
    }

    /** Another user may pass. */
    private static void open(Path directory) throws IOException {
        Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
        for (Path at = directory;
                at != null && at.startsWith(temporary) && !at.equals(temporary);
                at = at.getParent()) {
            Files.setPosixFilePermissions(at, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
    }

    @Test
    void commandsAreInTheTasksControlGroups() throws Exception {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root may make control groups");
        Path pid = homeostat.directory().resolve("pid");
        TaskConfig task = nomad.script("echo $$ > " + pid + "; " + FOREVER).toBuilder()
                .setResources(Resources.newBuilder()
                        .setLinuxResources(LinuxResources.newBuilder().setMemoryLimitBytes(256 << 20)))
                .build();
        nomad.start(task);
        List<String> groups = memoryGroups(Files.readString(Path.of("/proc/" + noted(pid) + "/cgroup")));
        assumeTrue(
                groups.stream().anyMatch(line -> line.contains("process-nomad-")),
                "this machine has no control groups for memory");

        assertEquals(
                groups,
                memoryGroups(
                        execute(task, 0, "cat /proc/self/cgroup").getStdout().toStringUtf8()));
        nomad.destroy(task.getId(), true);
    }

    /** Of version 2 there is one for all. */
    private static List<String> memoryGroups(String membership) {
        return membership
                .lines()
                .filter(line -> line.contains(":memory:") || line.startsWith("0::"))
                .toList();
    }

    @Test
    void commandsAreTheTasksUserBeforeTheyHaveItsEnvironment() throws Exception {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root runs tasks as another user");
        open(homeostat.directory());
        open(homeostat.stateDir());
        // The dynamic loader complains of one that it can't load, in each program that has it.
        TaskConfig task = nomad.script(FOREVER).toBuilder()
                .setUser("nobody")
                .putEnv("LD_PRELOAD", "/none.so")
                .putEnv("WHO", "me and\nyou")
                .build();
        nomad.start(task);

        ExecTaskResponse answer = execute(task, 0, "echo \"$WHO\"");

        String ids = execute(
                        task,
                        0,
                        "while read -r a; do case $a in Uid:*|Gid:*|Groups:*) echo $a;; esac; done"
                                + " < /proc/self/status")
                .getStdout()
                .toStringUtf8();
        String of = new String(
                new ProcessBuilder("sh", "-c", "id -u nobody; id -g nobody")
                        .start()
                        .getInputStream()
                        .readAllBytes(),
                StandardCharsets.UTF_8);
        List<String> numbers = of.lines().toList();
        assertEquals("me and\nyou\n", answer.getStdout().toStringUtf8());
        String uid = numbers.getFirst();
        String gid = numbers.getLast();
        assertTrue(ids.contains("Uid: " + uid + " " + uid + " " + uid), ids);
        assertTrue(ids.contains("Gid: " + gid + " " + gid + " " + gid), ids);
        assertTrue(ids.contains("Groups: " + gid + "\n"), ids);
        ExecTaskResponse nothing = nomad.process()
                .driver()
                .execTask(ExecTaskRequest.newBuilder()
                        .setTaskId(task.getId())
                        .addCommand("true")
                        .build());
        assertEquals(
                1,
                nothing.getStderr().toStringUtf8().lines().count(),
                () -> "no program of ours may load it: " + nothing.getStderr().toStringUtf8());
        nomad.destroy(task.getId(), true);
    }

    @Test
    void aCommandThatIsNotThereIsRefused() {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        ExecTaskRequest request = ExecTaskRequest.newBuilder()
                .setTaskId(task.getId())
                .addCommand("no-such-command")
                .build();
        String why = String.valueOf(assertThrows(
                        StatusRuntimeException.class,
                        () -> nomad.process().driver().execTask(request))
                .getMessage());
        assertTrue(why.contains("no-such-command"), why);
        nomad.destroy(task.getId(), true);
    }

    @Test
    void whatIsLeftInTheBackgroundIsNotWaitedFor() throws IOException {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        Path noted = DriverTasks.directory(task).resolve("pid");

        ExecTaskResponse answer = execute(task, 60, "sleep 1000 & echo $! > pid; echo hi; exit 3");

        assertEquals("hi\n", answer.getStdout().toStringUtf8());
        assertEquals(3, answer.getResult().getExitCode());
        long pid = noted(noted);
        assertTrue(Processes.isAlive(pid));
        Processes.kill(pid);
        nomad.destroy(task.getId(), true);
    }

    @Test
    void whoGivesUpACommandEndsIt() throws IOException {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        Path noted = DriverTasks.directory(task).resolve("pid");
        var call = nomad.process().futures().execTask(request(task, 0, "echo $$ > pid; exec sleep 1000"));
        long pid = noted(noted);
        assertTrue(Processes.isAlive(pid));

        call.cancel(true);

        eventually().until(() -> !Processes.isAlive(pid));
        nomad.destroy(task.getId(), true);
    }

    @Test
    void whatDoesNotEndInTimeIsKilled() throws IOException {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        Path noted = DriverTasks.directory(task).resolve("pid");

        String why = String.valueOf(
                assertThrows(StatusRuntimeException.class, () -> execute(task, 1, "echo $$ > pid; exec sleep 1000"))
                        .getMessage());

        assertTrue(why.contains("1000 ms"), why);
        long pid = noted(noted);
        eventually().until(() -> !Processes.isAlive(pid));
        nomad.destroy(task.getId(), true);
    }

    @Test
    void ofTooMuchOutputTheBeginningIsKept() {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);

        ExecTaskResponse answer = execute(task, 60, "echo begin; head -c 20000000 /dev/zero; exit 4");

        assertEquals(MOST_OUTPUT, answer.getStdout().size());
        assertTrue(answer.getStdout().startsWith(ByteString.copyFromUtf8("begin\n")));
        assertEquals(4, answer.getResult().getExitCode());
        nomad.destroy(task.getId(), true);
    }

    @Test
    void whatIsTypedAfterTheEndIsLost() throws InterruptedException {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        for (boolean terminal : new boolean[] {true, false}) {
            try (ExecClient exec = new ExecClient(nomad, task, terminal, "sh", "-c", "read a; exit 5")) {
                for (int i = 0; i < 50; i++) {
                    exec.type("x\n");
                    exec.resize(10 + i, 20);
                }
                assertEquals(5, exec.await().getExitCode());
            }
        }
        assertFalse(nomad.process().log().stream().anyMatch(line -> line.contains("defect")));
        nomad.destroy(task.getId(), true);
    }

    @Test
    void longInputReachesACommandThatReadsSlowly() throws InterruptedException {
        TaskConfig task = nomad.script(FOREVER);
        nomad.start(task);
        try (ExecClient exec = new ExecClient(nomad, task, false, "sh", "-c", "sleep 1; wc -c")) {
            for (int i = 0; i < 200; i++) {
                exec.type("x".repeat(10000));
            }
            exec.endOfInput();
            assertEquals(0, exec.await().getExitCode());
            assertEquals("2000000", exec.stdout().strip());
        }
        nomad.destroy(task.getId(), true);
    }
}
