package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.homeostat.actuate.task.Isolation;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.HostTopology;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.NetworkPort;
import io.homeostat.proto.nomad.driver.NetworkResource;
import io.homeostat.proto.nomad.driver.PortMapping;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.reconcile.runtime.TaskControlGroups;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the description of a task in the request to start it. */
class TaskConfigsTest {
    private static final Instance LAUNCH = TaskBench.intended();
    private static final HostTopology HOST = HostTopology.read();
    private static final int PROCESSORS = HOST.message().getCoresCount();

    @TempDir
    Path root;

    private Layout layout;
    private TaskPlace place;
    private TaskControlGroups groups;

    @BeforeEach
    void open() throws Exception {
        layout = new Layout(root.resolve("s"), root.resolve("r"), "node");
        place = TaskPlace.of(layout, TaskBench.WEB);
        groups = new TaskControlGroups(root.resolve("cgroup"));
    }

    private TaskConfig config(String spec, Optional<NetworkIsolationSpec> network) throws Exception {
        return new TaskConfigs(layout, groups.cgroups(), () -> HOST)
                .of(
                        LAUNCH,
                        "id",
                        place,
                        TaskBench.spec(spec),
                        Isolation.NONE,
                        ByteString.copyFromUtf8("config"),
                        network);
    }

    private TaskConfig config(String spec) throws Exception {
        return config(spec, Optional.empty());
    }

    private static String unsupported(String limits) {
        return TaskConfigs.unsupported(TaskBench.spec("limits: " + limits));
    }

    @Test
    void itHasTheNamesByWhichTheDriverCallsTheTask() throws Exception {
        TaskConfig config = config("");

        assertEquals("id", config.getId());
        assertEquals(
                List.of("web", "web", "web", "web"),
                List.of(config.getName(), config.getTaskGroupName(), config.getJobName(), config.getJobId()));
        assertEquals(place.allocation(), config.getAllocId());
        assertEquals(place.root().toString(), config.getAllocDir());
        assertEquals(List.of("node", "node"), List.of(config.getNodeName(), config.getNodeId()));
        assertEquals("default", config.getNamespace());
        assertEquals("config", config.getMsgpackDriverConfig().toStringUtf8());
        Path launch = layout.launch(TaskBench.WEB, TaskBench.LAUNCH);
        assertEquals(launch.resolve("stdout").toString(), config.getStdoutPath());
        assertEquals(launch.resolve("stderr").toString(), config.getStderrPath());
        assertFalse(config.hasNetworkIsolationSpec());
        assertEquals("", config.getUser());
    }

    @Test
    void theUserAndTheNetworkAreThoseThatAreDeclared() throws Exception {
        NetworkIsolationSpec network =
                NetworkIsolationSpec.newBuilder().setPath("/network").build();

        TaskConfig config = config("user: nobody", Optional.of(network));

        assertEquals("nobody", config.getUser());
        assertEquals(network, config.getNetworkIsolationSpec());
    }

    @Test
    void declaredVariablesWinAndThereIsAPath() throws Exception {
        TaskConfig usual = config("env: {NOMAD_REGION: mine, A: b}");
        assertEquals("mine", usual.getEnvOrThrow("NOMAD_REGION"));
        assertEquals("b", usual.getEnvOrThrow("A"));
        assertTrue(usual.getEnvOrThrow("PATH").contains("/usr/bin"));

        assertEquals("/opt", config("env: {PATH: /opt}").getEnvOrThrow("PATH"));
    }

    @Test
    void withoutLimitsATaskMayUseAllOfTheMachine() throws Exception {
        TaskConfig config = config("");

        assertEquals(HOST.memory(), config.getResources().getLinuxResources().getMemoryLimitBytes());
        assertEquals(HOST.totalMhz(), config.getResources().getLinuxResources().getCpuShares());
        assertEquals(1.0, config.getResources().getLinuxResources().getPercentTicks());
        assertEquals(
                HOST.memory() >> 20,
                config.getResources().getAllocatedResources().getMemory().getMemoryMb());
        assertEquals(
                0, config.getResources().getAllocatedResources().getMemory().getMemoryMaxMb());
        assertEquals(
                HOST.totalMhz(),
                config.getResources().getAllocatedResources().getCpu().getCpuShares());
        assertFalse(config.containsEnv("NOMAD_MEMORY_LIMIT"));
        assertFalse(config.containsEnv("NOMAD_CPU_LIMIT"));
        assertFalse(config.getResources().getAllocatedResources().getNetworksCount() > 0);
    }

    @Test
    void limitsAreToldToTheDriverAndToTheTask() throws Exception {
        TaskConfig config = config("limits: {memory: 32Mi, memoryMax: 64Mi, cpu: 50%}");

        long half = Math.round(HOST.mhz() / 2.0);
        assertEquals(64 << 20, config.getResources().getLinuxResources().getMemoryLimitBytes());
        assertEquals(
                32, config.getResources().getAllocatedResources().getMemory().getMemoryMb());
        assertEquals(
                64, config.getResources().getAllocatedResources().getMemory().getMemoryMaxMb());
        assertEquals(half, config.getResources().getLinuxResources().getCpuShares());
        assertEquals(
                (double) half / HOST.totalMhz(),
                config.getResources().getLinuxResources().getPercentTicks());
        assertEquals("32", config.getEnvOrThrow("NOMAD_MEMORY_LIMIT"));
        assertEquals(Long.toString(half), config.getEnvOrThrow("NOMAD_CPU_LIMIT"));
    }

    @Test
    void aTaskWithOnlyOneMemoryLimitHasThatOne() throws Exception {
        TaskConfig config = config("limits: {memory: 32Mi}");

        assertEquals(32 << 20, config.getResources().getLinuxResources().getMemoryLimitBytes());
        assertEquals(
                0, config.getResources().getAllocatedResources().getMemory().getMemoryMaxMb());
    }

    @Test
    void aTaskThatSharesProcessorsIsInTheGroupOfThose() throws Exception {
        TaskConfig config = config("");

        assertEquals("", config.getResources().getLinuxResources().getCpusetCpus());
        assertEquals(
                groups.group(place.groups()).toString(),
                config.getResources().getLinuxResources().getCpusetCgroup());
    }

    @Test
    void aTaskWithProcessorsOfItsOwnIsToldWhich() throws Exception {
        Path own = groups.cgroups().reserved(place.groups()).orElseThrow();
        Files.createDirectories(own);
        Files.writeString(own.resolve("cpuset.cpus"), "2-3\n");

        TaskConfig config = config("limits: {cores: 2}");

        assertEquals("2-3", config.getResources().getLinuxResources().getCpusetCpus());
        assertEquals(own.toString(), config.getResources().getLinuxResources().getCpusetCgroup());
        assertEquals(2 * HOST.mhz(), config.getResources().getLinuxResources().getCpuShares());
        assertEquals("2-3", config.getEnvOrThrow("NOMAD_CPU_CORES"));
        assertEquals(Long.toString(2 * HOST.mhz()), config.getEnvOrThrow("NOMAD_CPU_LIMIT"));
    }

    @Test
    void portsAreMappedOnLoopback() throws Exception {
        TaskConfig config = config("ports: [{label: http, port: 8080, to: 80}, {label: admin, port: 9000}]");

        assertEquals(
                List.of(
                        PortMapping.newBuilder()
                                .setLabel("http")
                                .setValue(8080)
                                .setTo(80)
                                .setHostIp("127.0.0.1")
                                .build(),
                        PortMapping.newBuilder()
                                .setLabel("admin")
                                .setValue(9000)
                                .setTo(9000)
                                .setHostIp("127.0.0.1")
                                .build()),
                config.getResources().getPortsList());
        assertEquals(
                List.of(NetworkResource.newBuilder()
                        .setIp("127.0.0.1")
                        .addReservedPorts(
                                NetworkPort.newBuilder().setLabel("http").setValue(8080))
                        .addReservedPorts(
                                NetworkPort.newBuilder().setLabel("admin").setValue(9000))
                        .build()),
                config.getResources().getAllocatedResources().getNetworksList());
        assertEquals("80", config.getEnvOrThrow("NOMAD_PORT_http"));
        assertEquals("8080", config.getEnvOrThrow("NOMAD_HOST_PORT_http"));
        assertEquals("127.0.0.1:8080", config.getEnvOrThrow("NOMAD_ADDR_http"));
    }

    @Test
    void aLimitOfProcessesIsNotForTasks() {
        assertTrue(unsupported("{pids: 1}").startsWith("spec.limits.pids: "));
        assertEquals("", unsupported("{memory: 1Mi}"));
    }

    @Test
    void oneProcessorStaysWithTheTasksThatReserveNone() {
        assertTrue(unsupported("{cores: " + PROCESSORS + "}").startsWith("spec.limits.cores: "));
        if (PROCESSORS > 1) {
            assertEquals("", unsupported("{cores: " + (PROCESSORS - 1) + "}"));
            assertTrue(unsupported("{cores: " + PROCESSORS + "}").contains(Integer.toString(PROCESSORS - 1)));
        }
    }

    @Test
    void aTaskWithoutCoresReservesNone() {
        assertEquals(
                0,
                TaskConfigs.cores(
                        Objects.requireNonNull(TaskBench.spec("").lifecycle().limits())));
        assertEquals(
                3,
                TaskConfigs.cores(
                        TaskBench.spec("limits: {cores: 3}").lifecycle().limits()));
    }
}
