package io.homeostat.reconcile.runtime.task;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.task.Isolation;
import io.homeostat.actuate.task.TaskEnvironment;
import io.homeostat.actuate.task.TaskEnvironment.Facts;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.HostTopology;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.proto.nomad.driver.AllocatedCpuResources;
import io.homeostat.proto.nomad.driver.AllocatedMemoryResources;
import io.homeostat.proto.nomad.driver.AllocatedTaskResources;
import io.homeostat.proto.nomad.driver.LinuxResources;
import io.homeostat.proto.nomad.driver.NetworkIsolationSpec;
import io.homeostat.proto.nomad.driver.NetworkPort;
import io.homeostat.proto.nomad.driver.NetworkResource;
import io.homeostat.proto.nomad.driver.PortMapping;
import io.homeostat.proto.nomad.driver.Resources;
import io.homeostat.proto.nomad.driver.TaskConfig;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** What a driver is told of a task that it has to start. */
final class TaskConfigs {
    private static final String NAMESPACE = "default";
    private static final String DATACENTER = "homeostat";
    private static final String REGION = "global";
    private static final String LOOPBACK = "127.0.0.1";
    private static final double PERCENT = 100.0;

    private final Layout layout;
    private final TaskCgroups cgroups;
    private final Supplier<HostTopology> topology;

    /** @param topology read again for each task, because the clock rate of the processors changes */
    TaskConfigs(Layout layout, TaskCgroups cgroups, Supplier<HostTopology> topology) {
        this.layout = layout;
        this.cgroups = cgroups;
        this.topology = topology;
    }

    /** What of a declaration this machine can't do, whichever driver it has, with a remedy; empty when there is nothing. */
    static String unsupported(TaskSpec spec) {
        if (spec.lifecycle().limits().pids() != null) {
            return "spec.limits.pids: only a Container can have it; remove it";
        }
        int cores = cores(spec.lifecycle().limits());
        int all = cores == 0 ? 1 : HostTopology.read().message().getCoresCount();
        return cores < all
                ? ""
                : "spec.limits.cores: it wants " + cores + " processors for itself, of which this machine has " + all
                        + ", and one stays with the tasks that reserve none; "
                        + (all > 1 ? "ask for " + (all - 1) + " at most" : "remove it");
    }

    /** How many processors are to be its own. */
    static int cores(Limits limits) {
        return limits.cores() == null ? 0 : limits.cores();
    }

    TaskConfig of(
            Instance instance,
            String taskId,
            TaskPlace place,
            TaskSpec spec,
            Isolation isolation,
            ByteString config,
            Optional<NetworkIsolationSpec> network)
            throws IOException {
        String name = place.task();
        HostTopology host = topology.get();
        // Those that its groups were made with.
        String processors = cgroups.processors(place.groups()).orElse("");
        Path launch = layout.launch(instance.workload(), instance.launchId());
        TaskConfig.Builder task = TaskConfig.newBuilder()
                .setId(taskId)
                .setName(name)
                .setMsgpackDriverConfig(config)
                .putAllEnv(TaskEnvironment.of(place, isolation, facts(name, spec, host, processors)))
                .putAllEnv(spec.env())
                .setResources(resources(place, spec, host, processors))
                .setAllocDir(place.root().toString())
                .setStdoutPath(TaskOutputs.out(launch).toString())
                .setStderrPath(TaskOutputs.err(launch).toString())
                .setTaskGroupName(name)
                .setJobName(name)
                .setJobId(name)
                .setAllocId(place.allocation())
                .setNamespace(NAMESPACE)
                .setNodeName(layout.instanceId())
                .setNodeId(layout.instanceId());
        if (!spec.env().containsKey("PATH")) {
            // Drivers add none.
            task.putEnv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        }
        if (spec.user() != null) {
            task.setUser(spec.user());
        }
        network.ifPresent(task::setNetworkIsolationSpec);
        return task.build();
    }

    private static Facts facts(String name, TaskSpec spec, HostTopology host, String processors) {
        Limits limits = spec.lifecycle().limits();
        return new Facts(
                name,
                name,
                0,
                DATACENTER,
                REGION,
                NAMESPACE,
                limits.memory() == null
                        ? OptionalLong.empty()
                        : OptionalLong.of(limits.memory().bytes() >> 20),
                limits.cpu() == null && cores(limits) == 0 ? OptionalLong.empty() : OptionalLong.of(mhz(limits, host)),
                processors,
                ImmutableMap.of(),
                spec.ports().stream()
                        .map(port -> new TaskEnvironment.Port(port.label(), LOOPBACK, port.inside(), port.port()))
                        .collect(ImmutableList.toImmutableList()));
    }

    /** What it may use: a share of all, or what it has for itself, or all. */
    private static long mhz(Limits limits, HostTopology host) {
        Cpu cpu = limits.cpu();
        if (cpu != null) {
            return Math.max(1, Math.round(host.mhz() * cpu.percentOfOneCore() / PERCENT));
        }
        return cores(limits) > 0 ? host.mhz() * cores(limits) : host.totalMhz();
    }

    /** Without limits of its own a task may use what the machine has: drivers take 0 for a limit, too. */
    private Resources resources(TaskPlace place, TaskSpec spec, HostTopology host, String processors) {
        Limits limits = spec.lifecycle().limits();
        Size memory = limits.memory();
        Size most = limits.memoryMax();
        long all = host.memory();
        long bytes = most != null ? most.bytes() : memory != null ? memory.bytes() : all;
        long shares = mhz(limits, host);
        LinuxResources.Builder linux = LinuxResources.newBuilder()
                .setCpuShares(shares)
                .setMemoryLimitBytes(bytes)
                .setCpusetCpus(processors)
                .setPercentTicks((double) shares / host.totalMhz());
        cgroups.cpuset(place.groups()).ifPresent(path -> linux.setCpusetCgroup(path.toString()));
        AllocatedMemoryResources.Builder allocated =
                AllocatedMemoryResources.newBuilder().setMemoryMb((memory == null ? all : memory.bytes()) >> 20);
        if (most != null) {
            allocated.setMemoryMaxMb(most.bytes() >> 20);
        }
        AllocatedTaskResources.Builder task = AllocatedTaskResources.newBuilder()
                .setCpu(AllocatedCpuResources.newBuilder().setCpuShares(shares))
                .setMemory(allocated);
        Resources.Builder resources = Resources.newBuilder().setLinuxResources(linux);
        if (!spec.ports().isEmpty()) {
            NetworkResource.Builder network = NetworkResource.newBuilder().setIp(LOOPBACK);
            for (TaskSpec.Port port : spec.ports()) {
                network.addReservedPorts(
                        NetworkPort.newBuilder().setLabel(port.label()).setValue(port.port()));
                resources.addPorts(PortMapping.newBuilder()
                        .setLabel(port.label())
                        .setValue(port.port())
                        .setTo(port.inside())
                        .setHostIp(LOOPBACK));
            }
            task.addNetworks(network);
        }
        return resources.setAllocatedResources(task).build();
    }
}
