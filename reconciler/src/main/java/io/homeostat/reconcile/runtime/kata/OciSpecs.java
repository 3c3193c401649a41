package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.guest.ContainerSettings;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.model.guest.ContainerSettings.Program;
import io.homeostat.desired.model.guest.Storage;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.Linux;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.LinuxDevice;
import io.homeostat.proto.kata.LinuxDeviceCgroup;
import io.homeostat.proto.kata.LinuxNamespace;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.Mount;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.Root;
import io.homeostat.proto.kata.Spec;
import io.homeostat.proto.kata.User;
import java.util.List;

/** Declarations as the agent of a guest takes them: the specification of the Open Container Initiative, with the defaults that are safe. */
final class OciSpecs {
    private static final String VERSION = "1.1.0";
    private static final String PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    /** Microseconds; each percent of a processor is a hundredth of it. */
    private static final int PERIOD = 100_000;

    private static final int PERCENT = 100;

    /** For everybody: who may use it at all is said by the container's control group and its user. */
    private static final int DEVICE_MODE = 0666;

    /** What tells of the kernel, or of other containers. */
    private static final ImmutableList<String> MASKED = ImmutableList.of(
            "/proc/acpi",
            "/proc/asound",
            "/proc/kcore",
            "/proc/keys",
            "/proc/latency_stats",
            "/proc/timer_list",
            "/proc/timer_stats",
            "/proc/sched_debug",
            "/proc/scsi",
            "/sys/firmware");

    /** What changes the kernel. */
    private static final ImmutableList<String> READONLY =
            ImmutableList.of("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger");

    private OciSpecs() {}

    /**
     * All that an agent is told of a container.
     *
     * @param rootfs the directory of the guest that is its root file system
     * @param sharesPids whether all containers of its sandbox see each other's processes
     */
    static CreateContainerRequest request(String id, ContainerSpec spec, String rootfs, boolean sharesPids) {
        ContainerSettings container = spec.container();
        CreateContainerRequest.Builder request = CreateContainerRequest.newBuilder()
                .setContainerId(id)
                .setExecId(id)
                .setSandboxPidns(sharesPids)
                .setOCI(Spec.newBuilder()
                        .setVersion(VERSION)
                        .setProcess(process(container))
                        .setRoot(Root.newBuilder()
                                .setPath(rootfs)
                                .setReadonly(container.rootfs().readonly()))
                        .addAllMounts(mounts(container.program()))
                        .setLinux(linux(container.program(), spec.inPlace())));
        Storage storage = container.rootfs().storage();
        if (storage != null) {
            request.addStorages(storage(storage));
        }
        return request.build();
    }

    static io.homeostat.proto.kata.Storage storage(Storage storage) {
        return io.homeostat.proto.kata.Storage.newBuilder()
                .setDriver(storage.driver())
                .setSource(storage.source() == null ? "" : storage.source())
                .setFstype(storage.fstype() == null ? "" : storage.fstype())
                .setMountPoint(storage.mountPoint())
                .addAllOptions(storage.options())
                .build();
    }

    static Process process(ContainerSettings container) {
        Program program = container.program();
        ImmutableList<String> capabilities = container.capabilityNames();
        Process.Builder process = Process.newBuilder()
                .setTerminal(program.terminal())
                .setUser(User.newBuilder()
                        // As unsigned numbers of 32 bits.
                        .setUID((int) program.user().uid())
                        .setGID((int) program.user().gid())
                        .addAllAdditionalGids(program.user().additionalGids().stream()
                                .map(Long::intValue)
                                .toList()))
                .addAllArgs(program.command())
                .setCwd(program.workingDirectory())
                // There even where it names none. Without the last two, one that is not root would have none of them.
                .setCapabilities(LinuxCapabilities.newBuilder()
                        .addAllBounding(capabilities)
                        .addAllPermitted(capabilities)
                        .addAllEffective(capabilities)
                        .addAllInheritable(capabilities)
                        .addAllAmbient(capabilities))
                .setNoNewPrivileges(true);
        if (!program.env().containsKey("PATH")) {
            process.addEnv(PATH);
        }
        program.env().forEach((name, value) -> process.addEnv(name + "=" + value));
        return process.build();
    }

    private static ImmutableList<Mount> mounts(Program program) {
        ImmutableList.Builder<Mount> mounts = ImmutableList.builder();
        mounts.add(mount("/proc", "proc", "proc", List.of("nosuid", "noexec", "nodev")))
                .add(mount("/dev", "tmpfs", "tmpfs", List.of("nosuid", "strictatime", "mode=755", "size=65536k")))
                .add(mount(
                        "/dev/pts",
                        "devpts",
                        "devpts",
                        List.of("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620")))
                .add(mount(
                        "/dev/shm", "shm", "tmpfs", List.of("nosuid", "noexec", "nodev", "mode=1777", "size=65536k")))
                .add(mount("/dev/mqueue", "mqueue", "mqueue", List.of("nosuid", "noexec", "nodev")))
                .add(mount("/sys", "sysfs", "sysfs", List.of("nosuid", "noexec", "nodev", "ro")));
        for (ContainerSettings.Mount one : program.mounts()) {
            String source = one.source() == null ? one.type() : one.source();
            mounts.add(mount(one.destination(), source, one.type(), options(one)));
        }
        return mounts.build();
    }

    /** Agents go by the options alone whether a mount binds. */
    private static List<String> options(ContainerSettings.Mount mount) {
        return !mount.type().equals("bind")
                        || mount.options().contains("bind")
                        || mount.options().contains("rbind")
                ? mount.options()
                : ImmutableList.<String>builder()
                        .add("rbind")
                        .addAll(mount.options())
                        .build();
    }

    private static Mount mount(String destination, String source, String type, List<String> options) {
        return Mount.newBuilder()
                .setDestination(destination)
                .setSource(source)
                .setType(type)
                .addAllOptions(options)
                .build();
    }

    /** Network and time are the machine's own; its agent adds the namespace of processes itself. */
    private static Linux linux(Program program, InPlace given) {
        Linux.Builder linux = Linux.newBuilder()
                .putAllSysctl(program.sysctl())
                .addAllMaskedPaths(MASKED)
                .addAllReadonlyPaths(READONLY);
        for (String type : List.of("mount", "ipc", "uts")) {
            linux.addNamespaces(LinuxNamespace.newBuilder().setType(type));
        }
        LinuxResources.Builder resources = resources(given).toBuilder();
        for (ContainerSettings.Device device : program.devices()) {
            // The same to the kernel, and agents know no u.
            String type = device.type().equals("u") ? "c" : device.type();
            linux.addDevices(LinuxDevice.newBuilder()
                    .setPath(device.path())
                    .setType(type)
                    .setMajor(device.major())
                    .setMinor(device.minor())
                    .setFileMode(DEVICE_MODE));
            if (!type.equals("p")) {
                resources.addDevices(LinuxDeviceCgroup.newBuilder()
                        .setAllow(true)
                        .setType(type)
                        .setMajor(device.major())
                        .setMinor(device.minor())
                        .setAccess("rwm"));
            }
        }
        return linux.setResources(resources).build();
    }

    /** What is not limited is absent: no agent takes a limit away. */
    static LinuxResources resources(InPlace given) {
        LinuxResources.Builder resources = LinuxResources.newBuilder();
        if (given.memory() != null) {
            resources.getMemoryBuilder().setLimit(given.memory().bytes());
        }
        if (given.cpu() != null) {
            resources
                    .getCPUBuilder()
                    .setPeriod(PERIOD)
                    .setQuota((long) given.cpu().percentOfOneCore() * PERIOD / PERCENT);
        }
        if (given.pids() != null) {
            resources.getPidsBuilder().setLimit(given.pids());
        }
        return resources.build();
    }
}
