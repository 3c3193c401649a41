package io.homeostat.reconcile.agent.nomad;

import static io.homeostat.reconcile.agent.nomad.NomadBench.flag;
import static io.homeostat.reconcile.agent.nomad.NomadBench.text;
import static io.homeostat.reconcile.agent.nomad.NomadBench.texts;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.EnvValue;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.proto.nomad.driver.AllocatedMemoryResources;
import io.homeostat.proto.nomad.driver.AllocatedTaskResources;
import io.homeostat.proto.nomad.driver.LinuxResources;
import io.homeostat.proto.nomad.driver.Resources;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.reconcile.Written;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.msgpack.value.Value;
import org.msgpack.value.ValueFactory;

/** Tests the declaration of a task, read as an agent reads it. */
class TaskDocumentTest {
    private static final Duration STOP = Duration.ofSeconds(7);

    private static Workload declared(TaskConfig config) {
        return Written.workload(
                TaskDocument.of(config, TaskSettings.read(config.getMsgpackDriverConfig()), STOP, "SIGUSR1"));
    }

    private static TaskConfig config(Map<String, Value> more) {
        Map<String, Value> all = new HashMap<>(Map.of("entry_point", text("bin/web")));
        all.putAll(more);
        return NomadBench.config(NomadBench.ID, all);
    }

    private static ProcessSpec process(Map<String, Value> more) {
        return (ProcessSpec) declared(config(more)).spec();
    }

    private static ProcessSpec process(TaskConfig config) {
        return (ProcessSpec) declared(config).spec();
    }

    private static TaskConfig with(Resources resources) {
        return config(Map.of()).toBuilder().setResources(resources).build();
    }

    private static Value map(String key, Value value) {
        return ValueFactory.newMap(ValueFactory.newString(key), value);
    }

    @Test
    void aLocalProgramRunsInTheDirectoryOfTheTask() {
        Workload declared = declared(config(Map.of("arguments", texts("-v", "x"))));
        Program program = ((ProcessSpec) declared.spec()).program();

        assertEquals(TaskDocument.workload(NomadBench.ID, false), declared.id());
        assertEquals("/alloc/web/bin/web", program.entryPoint());
        assertEquals("/alloc/web", program.settings().workingDirectory());
        assertEquals(ImmutableList.of("-v", "x"), program.arguments());
        assertNull(program.source());
        assertEquals(STOP, declared.lifecycle().stop().timeout());
        assertEquals("SIGUSR1", declared.lifecycle().stop().signal());
    }

    @Test
    void aProgramThatIsFetchedHasItsHashForARevision() {
        String sha256 = "0123456789abcdef".repeat(4);
        ProcessSpec spec = process(Map.of("url", text("https://host/a.tar.gz"), "sha256", text(sha256)));

        assertEquals("0123456789abcdef", spec.revision());
        assertEquals("bin/web", spec.program().entryPoint());
        assertTrue(Objects.requireNonNull(spec.program().source()).toString().contains("https://host/a.tar.gz"));
    }

    @Test
    void withoutRestartHowItEndsIsTheBusinessOfNomad() {
        Workload once = declared(config(Map.of()));
        assertEquals(Restart.Policy.NEVER, once.lifecycle().restart().policy());
        assertEquals(1, once.lifecycle().start().attempts());

        Workload restarted = declared(config(Map.of("restart", flag(true))));
        assertEquals(Restart.Policy.ON_FAILURE, restarted.lifecycle().restart().policy());
        assertNotEquals(1, restarted.lifecycle().start().attempts());
    }

    @Test
    void variablesOfTheJobWinOverThoseOfDevicesAndOfNomad() {
        TaskConfig config = config(Map.of("env", map("A", text("job")))).toBuilder()
                .putEnv("A", "nomad")
                .putEnv("B", "nomad")
                .putEnv("C", "nomad")
                .putEnv("not-a-name", "x")
                .putDeviceEnv("A", "device")
                .putDeviceEnv("B", "device")
                .build();

        assertEquals(
                ImmutableMap.of(
                        "A", new EnvValue.Text("job"),
                        "B", new EnvValue.Text("device"),
                        "C", new EnvValue.Text("nomad")),
                ImmutableMap.copyOf(process(config).program().env()));
    }

    @Test
    void onlyNamesOfAShellAreVariables() {
        assertTrue(TaskDocument.isVariable("A_1"));
        assertTrue(TaskDocument.isVariable("_a"));
        assertFalse(TaskDocument.isVariable("1A"));
        assertFalse(TaskDocument.isVariable("A-B"));
        assertFalse(TaskDocument.isVariable(""));
    }

    @Test
    void theUserIsThatOfTheTask() {
        assertNull(process(Map.of()).program().user());
        assertEquals(
                "nobody",
                process(config(Map.of()).toBuilder().setUser("nobody").build())
                        .program()
                        .user());
    }

    @Test
    void theMemoryIsTheLimitOfLinuxOrTheMostThatIsAllocated() {
        Resources allocated = Resources.newBuilder()
                .setAllocatedResources(AllocatedTaskResources.newBuilder()
                        .setMemory(AllocatedMemoryResources.newBuilder()
                                .setMemoryMb(32)
                                .setMemoryMaxMb(64)))
                .build();
        Resources linux = allocated.toBuilder()
                .setLinuxResources(LinuxResources.newBuilder().setMemoryLimitBytes(5 << 20))
                .build();

        assertEquals(
                new Size(64L << 20),
                process(with(allocated)).lifecycle().limits().memory());
        assertEquals(
                new Size(5L << 20), process(with(linux)).lifecycle().limits().memory());
        assertNull(process(Map.of()).lifecycle().limits().memory());
    }

    @Test
    void theShareOfTheProcessorsIsALimitOnlyWhenItIsHard() {
        int half = 50 * Runtime.getRuntime().availableProcessors();
        Resources resources = Resources.newBuilder()
                .setLinuxResources(LinuxResources.newBuilder().setPercentTicks(0.5))
                .build();
        TaskConfig hard = config(Map.of("cpu_hard_limit", flag(true)));

        assertNull(process(with(resources)).lifecycle().limits().cpu());
        assertNull(process(hard).lifecycle().limits().cpu());
        assertEquals(
                half,
                Objects.requireNonNull(
                                process(hard.toBuilder().setResources(resources).build())
                                        .lifecycle()
                                        .limits()
                                        .cpu())
                        .percentOfOneCore());
    }

    private static Probe probe(String key, Value value) {
        return Objects.requireNonNull(process(Map.of("probe", map(key, value))).probe());
    }

    @Test
    void aProbeIsTheQuestionOfTheJob() {
        assertEquals(
                "http://a/",
                Objects.requireNonNull(probe("http", text("http://a/")).http()).url());
        assertEquals(
                "a:1", Objects.requireNonNull(probe("tcp", text("a:1")).tcp()).address());
        assertEquals(
                "a:1", Objects.requireNonNull(probe("grpc", text("a:1")).grpc()).address());
        assertEquals(
                ImmutableList.of("/bin/a", "b"),
                Objects.requireNonNull(probe("exec", texts("/bin/a", "b")).exec())
                        .command());
        assertNull(process(Map.of()).probe());
    }

    @Test
    void aPluginHasTheConfigurationOfTheJob() {
        Workload declared = declared(config(Map.of("plugin", flag(true), "config", text("level=3"))));

        assertEquals(Kind.PLUGIN, declared.id().kind());
        assertTrue(TaskDocument.of(
                        config(Map.of("plugin", flag(true), "config", text("level=3"))),
                        TaskSettings.read(config(Map.of("plugin", flag(true), "config", text("level=3")))
                                .getMsgpackDriverConfig()),
                        STOP,
                        "SIGTERM")
                .contains("\"config\":{\"string\":\"level=3\"}"));
        assertEquals(PluginSpec.class, declared.spec().getClass());
    }

    @Test
    void whatJsonTakesAndYamlDoesNotIsEscaped() {
        String odd = "a\u007f\u0085\u2028\u2029\ufeff\uffffb";
        ProcessSpec spec = process(Map.of("arguments", texts(odd)));

        assertEquals(ImmutableList.of(odd), spec.program().arguments());
    }

    @Test
    void aStopTakesAtLeastAMillisecond() {
        TaskConfig config = config(Map.of());
        Workload declared = Written.workload(
                TaskDocument.of(config, TaskSettings.read(config.getMsgpackDriverConfig()), Duration.ZERO, "SIGKILL"));

        assertEquals(Duration.ofMillis(1), declared.lifecycle().stop().timeout());
    }

    @Test
    void aWorkloadIsNamedAfterItsTaskAndItsWholeId() {
        WorkloadId web = TaskDocument.workload("alloc/web/1", false);

        assertTrue(web.name().contains("-web-"), web.name());
        assertEquals(Kind.PROCESS, web.kind());
        assertNotEquals(web, TaskDocument.workload("alloc/web/2", false));
        assertNotEquals(
                web.name(), TaskDocument.workload("alloc/other/1", false).name());
        assertTrue(TaskDocument.workload("only", true).name().contains("-only-"));
        assertEquals(Kind.PLUGIN, TaskDocument.workload("only", true).kind());
    }
}
