package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.benmanes.caffeine.cache.Ticker;
import io.grpc.StatusRuntimeException;
import io.homeostat.proto.kata.CgroupStats;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OciRuntimeTest {
    @TempDir
    private Path directory;

    private Path root;

    @BeforeEach
    void prepare() throws IOException {
        root = Files.createDirectory(directory.resolve("root"));
    }

    /**
     * A runtime that behaves as a script says. A shell reads the script, because a file that this process has written can't be executed
     * while a process that another test starts still has it open.
     */
    private OciRuntime runtime(String script) throws IOException, InterruptedException {
        Path program = Files.writeString(directory.resolve("runtime"), "shift 4\n" + script);
        return new OciRuntime(
                program,
                root,
                builder -> {
                    List<String> command = new ArrayList<>(builder.command());
                    command.addFirst("/bin/sh");
                    return builder.command(command).start();
                },
                Ticker.systemTicker());
    }

    private OciRuntime answering(String script) throws IOException, InterruptedException {
        return runtime("""
                if [ "$1" = features ]; then
                    echo '{"linux": {"capabilities": ["CAP_CHOWN"], "seccomp": {"enabled": true}}}'
                    exit
                fi
                """ + script);
    }

    private void exists(String id) throws IOException {
        Files.createDirectory(root.resolve(id));
    }

    @Test
    void itTellsWhatItCanDo() throws IOException, InterruptedException {
        OciRuntime runtime = answering("");

        assertTrue(runtime.knowsCapability("CAP_CHOWN"));
        assertFalse(runtime.knowsCapability("CAP_NONSENSE"));
        assertTrue(runtime.filtersCalls());
    }

    @Test
    void whatTellsNoFeaturesIsNone() {
        IOException none = assertThrows(IOException.class, () -> runtime("exit 3"));

        assertTrue(String.valueOf(none.getMessage()).contains("from version 1.1 on"), none::toString);
    }

    @Test
    void whatItSaysOfAFailureIsThatOfTheCall() throws IOException, InterruptedException {
        OciRuntime runtime = answering("""
                echo '{"level": "warning", "msg": "so what"}' >&2
                echo '{"level": "error", "msg": "no such thing"}' >&2
                echo '{"level": "info", "msg": "bye"}' >&2
                exit 1
                """);
        exists("app");

        StatusRuntimeException failed = assertThrows(StatusRuntimeException.class, () -> runtime.pause("app"));

        assertEquals("INTERNAL: no such thing", failed.getMessage());
    }

    @Test
    void anEndWithoutAWordIsAFailureToo() throws IOException, InterruptedException {
        StatusRuntimeException failed = assertThrows(
                StatusRuntimeException.class, () -> answering("exit 7").resume("app"));

        assertEquals("INTERNAL: runtime has ended with exit status 7", failed.getMessage());
        assertEquals(Optional.of("no JSON"), OciRuntime.failure("{\"level\": \"info\"}\nno JSON"));
        assertEquals(Optional.empty(), OciRuntime.failure(""));
    }

    @Test
    void anAnswerThatCanNotBeReadIsAFailure() throws IOException, InterruptedException {
        exists("app");
        OciRuntime runtime = answering("echo '{nonsense'");

        StatusRuntimeException failed = assertThrows(StatusRuntimeException.class, () -> runtime.state("app"));

        assertTrue(String.valueOf(failed.getMessage()).contains("no JSON"), failed::toString);
    }

    @Test
    void whatItsRuntimeHasLeftHalfMadeIsNone() throws IOException, InterruptedException {
        OciRuntime runtime = answering("""
                if [ "$1" = delete ]; then
                    rm -r "$(dirname "$0")/root/$3"
                    exit
                fi
                echo '{"level": "error", "msg": "container does not exist"}' >&2
                exit 1
                """);
        exists("app");

        assertEquals(OciRuntime.State.NONE, runtime.state("app"));
        runtime.delete("app");
        assertFalse(Files.exists(root.resolve("app")));
    }

    @Test
    void ofWhatIsNotThereNothingIsAsked() throws IOException, InterruptedException {
        OciRuntime runtime = answering("exit 1");

        assertEquals(OciRuntime.State.NONE, runtime.state("app"));
        runtime.delete("app");
        runtime.kill("app");
        assertEquals(0, runtime.outOfMemory("app"));
        assertEquals(List.of(), runtime.containers());
    }

    @Test
    void theKernelIsAskedHowOftenMemoryRanOut() throws IOException, InterruptedException {
        OciRuntime runtime = answering("exit 1");
        Path group = Files.createDirectory(directory.resolve("group"));
        for (String key : List.of("memory", "")) {
            Path container = Files.createDirectory(root.resolve("of-" + key));
            Files.writeString(
                    container.resolve("state.json"), "{\"cgroup_paths\": {\"" + key + "\": \"" + group + "\"}}");
        }
        assertEquals(0, runtime.outOfMemory("of-memory"));
        Files.writeString(group.resolve("memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
        assertEquals(3, runtime.outOfMemory("of-memory"));
        Files.delete(group.resolve("memory.oom_control"));
        Files.writeString(group.resolve("memory.events"), "oom 5\noom_kill 2\noom_group_kill 1\n");
        assertEquals(2, runtime.outOfMemory("of-"));
    }

    @Test
    void itsStatisticsAreAnAgents() throws IOException {
        CgroupStats stats = RuntimeStatistics.of(new ObjectMapper().readTree("""
                        {"cpu": {"usage": {"total": 9, "percpu": [4, 5], "kernel": 1, "user": 8},
                                 "throttling": {"periods": 3, "throttledPeriods": 2, "throttledTime": 7}},
                         "memory": {"cache": 6, "usage": {"limit": 18446744073709551615, "usage": 11, "max": 12, "failcnt": 13},
                                    "raw": {"rss": 14}},
                         "pids": {"current": 2, "limit": 20}}
                        """));

        assertEquals(9, stats.getCpuStats().getCpuUsage().getTotalUsage());
        assertEquals(List.of(4L, 5L), stats.getCpuStats().getCpuUsage().getPercpuUsageList());
        assertEquals(7, stats.getCpuStats().getThrottlingData().getThrottledTime());
        assertEquals(-1, stats.getMemoryStats().getUsage().getLimit());
        assertEquals(12, stats.getMemoryStats().getUsage().getMaxUsage());
        assertEquals(14, stats.getMemoryStats().getStatsOrThrow("rss"));
        assertEquals(20, stats.getPidsStats().getLimit());
    }
}
