package io.homeostat.reconcile.agent.guest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.primitives.UnsignedLong;
import io.homeostat.proto.kata.Linux;
import io.homeostat.proto.kata.LinuxBlockIO;
import io.homeostat.proto.kata.LinuxCPU;
import io.homeostat.proto.kata.LinuxCapabilities;
import io.homeostat.proto.kata.LinuxDevice;
import io.homeostat.proto.kata.LinuxDeviceCgroup;
import io.homeostat.proto.kata.LinuxHugepageLimit;
import io.homeostat.proto.kata.LinuxIDMapping;
import io.homeostat.proto.kata.LinuxMemory;
import io.homeostat.proto.kata.LinuxNamespace;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.LinuxSeccomp;
import io.homeostat.proto.kata.LinuxSeccompArg;
import io.homeostat.proto.kata.LinuxSyscall;
import io.homeostat.proto.kata.LinuxThrottleDevice;
import io.homeostat.proto.kata.Mount;
import io.homeostat.proto.kata.POSIXRlimit;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.Spec;
import io.homeostat.reconcile.command.output.Json;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * Specifications of the Open Container Initiative, as a runtime reads them: config.json, process.json, and the resources of an update. In
 * the messages what is not given is 0, and left out here.
 */
final class OciJson {
    private static final String VERSION = "1.0.2";

    private OciJson() {}

    /**
     * The configuration of a container.
     *
     * @param cgroups the path of its control groups
     * @param ipc the namespace that it shares with the others of its sandbox
     * @param uts the same for the host's name
     */
    static ObjectNode config(Spec spec, GuestPaths paths, String cgroups, Path ipc, Path uts) {
        ObjectNode json = Json.object().put("ociVersion", VERSION);
        json.set("process", process(spec.getProcess()));
        json.putObject("root")
                .put("path", paths.real(spec.getRoot().getPath()).toString())
                .put("readonly", spec.getRoot().getReadonly());
        ArrayNode mounts = json.putArray("mounts");
        spec.getMountsList().forEach(mount -> mounts.add(mount(mount, paths)));
        ObjectNode annotations = json.putObject("annotations");
        spec.getAnnotationsMap().forEach(annotations::put);
        json.set("linux", linux(spec.getLinux(), cgroups, ipc, uts));
        return json;
    }

    private static ObjectNode mount(Mount mount, GuestPaths paths) {
        ObjectNode json = Json.object().put("destination", mount.getDestination());
        text(json, "type", mount.getType());
        text(
                json,
                "source",
                mount.getSource().startsWith("/")
                        ? paths.real(mount.getSource()).toString()
                        : mount.getSource());
        json.set("options", Json.texts(mount.getOptionsList()));
        return json;
    }

    /** Of the first process of a container, or of another one in it. */
    static ObjectNode process(Process process) {
        ObjectNode json = Json.object().put("terminal", process.getTerminal());
        if (process.hasConsoleSize()) {
            json.putObject("consoleSize")
                    .put("height", unsigned(process.getConsoleSize().getHeight()))
                    .put("width", unsigned(process.getConsoleSize().getWidth()));
        }
        ObjectNode user = json.putObject("user")
                .put("uid", unsigned(process.getUser().getUID()))
                .put("gid", unsigned(process.getUser().getGID()));
        ArrayNode groups = user.putArray("additionalGids");
        process.getUser().getAdditionalGidsList().forEach(gid -> groups.add(unsigned(gid)));
        json.set("args", Json.texts(process.getArgsList()));
        json.set("env", Json.texts(process.getEnvList()));
        json.put("cwd", process.getCwd().isEmpty() ? "/" : process.getCwd());
        json.set("capabilities", capabilities(process.getCapabilities()));
        ArrayNode rlimits = json.putArray("rlimits");
        for (POSIXRlimit one : process.getRlimitsList()) {
            rlimits.addObject()
                    .put("type", one.getType())
                    .put("hard", unsigned(one.getHard()))
                    .put("soft", unsigned(one.getSoft()));
        }
        json.put("noNewPrivileges", process.getNoNewPrivileges());
        text(json, "apparmorProfile", process.getApparmorProfile());
        text(json, "selinuxLabel", process.getSelinuxLabel());
        number(process.getOOMScoreAdj(), value -> json.put("oomScoreAdj", value));
        return json;
    }

    private static ObjectNode capabilities(LinuxCapabilities given) {
        ObjectNode json = Json.object();
        json.set("bounding", names(given.getBoundingList()));
        json.set("effective", names(given.getEffectiveList()));
        json.set("inheritable", names(given.getInheritableList()));
        json.set("permitted", names(given.getPermittedList()));
        json.set("ambient", names(given.getAmbientList()));
        return json;
    }

    private static ArrayNode names(List<String> capabilities) {
        return Json.texts(capabilities.stream()
                .map(name -> name.startsWith("CAP_") ? name : "CAP_" + name)
                .toList());
    }

    private static ObjectNode linux(Linux linux, String cgroups, Path ipc, Path uts) {
        ObjectNode json = Json.object().put("cgroupsPath", cgroups);
        ObjectNode sysctl = json.putObject("sysctl");
        linux.getSysctlMap().forEach(sysctl::put);
        json.set("resources", resources(linux.getResources()));
        ArrayNode namespaces = json.putArray("namespaces");
        Set<String> types = new HashSet<>();
        for (LinuxNamespace one : linux.getNamespacesList()) {
            if (types.add(one.getType())) {
                ObjectNode namespace = namespaces.addObject().put("type", one.getType());
                switch (one.getType()) {
                    case "ipc" -> namespace.put("path", ipc.toString());
                    case "uts" -> namespace.put("path", uts.toString());
                    // Those of whoever asks are no namespaces of this machine.
                    default -> {}
                }
            }
        }
        if (types.add("pid")) {
            namespaces.addObject().put("type", "pid");
        }
        mappings(json, "uidMappings", linux.getUIDMappingsList());
        mappings(json, "gidMappings", linux.getGIDMappingsList());
        ArrayNode devices = json.putArray("devices");
        linux.getDevicesList().forEach(device -> devices.add(device(device)));
        if (linux.hasSeccomp()) {
            json.set("seccomp", seccomp(linux.getSeccomp()));
        }
        text(json, "rootfsPropagation", linux.getRootfsPropagation());
        text(json, "mountLabel", linux.getMountLabel());
        json.set("maskedPaths", Json.texts(linux.getMaskedPathsList()));
        json.set("readonlyPaths", Json.texts(linux.getReadonlyPathsList()));
        return json;
    }

    private static void mappings(ObjectNode linux, String name, List<LinuxIDMapping> mappings) {
        if (!mappings.isEmpty()) {
            ArrayNode json = linux.putArray(name);
            for (LinuxIDMapping one : mappings) {
                json.addObject()
                        .put("containerID", unsigned(one.getContainerID()))
                        .put("hostID", unsigned(one.getHostID()))
                        .put("size", unsigned(one.getSize()));
            }
        }
    }

    private static ObjectNode device(LinuxDevice device) {
        ObjectNode json = Json.object()
                .put("path", device.getPath())
                .put("type", device.getType())
                .put("uid", unsigned(device.getUID()))
                .put("gid", unsigned(device.getGID()));
        if (!device.getType().equals("p")) {
            json.put("major", device.getMajor()).put("minor", device.getMinor());
        }
        number(device.getFileMode(), value -> json.put("fileMode", value));
        return json;
    }

    private static ObjectNode seccomp(LinuxSeccomp seccomp) {
        ObjectNode json = Json.object().put("defaultAction", seccomp.getDefaultAction());
        json.set("architectures", Json.texts(seccomp.getArchitecturesList()));
        json.set("flags", Json.texts(seccomp.getFlagsList()));
        ArrayNode syscalls = json.putArray("syscalls");
        for (LinuxSyscall one : seccomp.getSyscallsList()) {
            ObjectNode syscall = syscalls.addObject().put("action", one.getAction());
            syscall.set("names", Json.texts(one.getNamesList()));
            if (one.hasErrnoret()) {
                syscall.put("errnoRet", unsigned(one.getErrnoret()));
            }
            ArrayNode arguments = syscall.putArray("args");
            for (LinuxSeccompArg argument : one.getArgsList()) {
                arguments
                        .addObject()
                        .put("index", argument.getIndex())
                        .put("value", unsigned(argument.getValue()))
                        .put("valueTwo", unsigned(argument.getValueTwo()))
                        .put("op", argument.getOp());
            }
        }
        return json;
    }

    /** The limits of a container. */
    static ObjectNode resources(LinuxResources resources) {
        ObjectNode json = Json.object();
        if (resources.getDevicesCount() > 0) {
            ArrayNode devices = json.putArray("devices");
            resources.getDevicesList().forEach(rule -> devices.add(rule(rule)));
        }
        if (resources.hasMemory()) {
            memory(json.putObject("memory"), resources.getMemory());
        }
        if (resources.hasCPU()) {
            processors(json.putObject("cpu"), resources.getCPU());
        }
        if (resources.getPids().getLimit() != 0) {
            json.putObject("pids").put("limit", resources.getPids().getLimit());
        }
        if (resources.hasBlockIO()) {
            blocks(json.putObject("blockIO"), resources.getBlockIO());
        }
        if (resources.getHugepageLimitsCount() > 0) {
            ArrayNode limits = json.putArray("hugepageLimits");
            for (LinuxHugepageLimit one : resources.getHugepageLimitsList()) {
                limits.addObject().put("pageSize", one.getPagesize()).put("limit", unsigned(one.getLimit()));
            }
        }
        return json;
    }

    private static ObjectNode rule(LinuxDeviceCgroup rule) {
        ObjectNode json = Json.object().put("allow", rule.getAllow());
        text(json, "type", rule.getType());
        text(json, "access", rule.getAccess());
        number(rule.getMajor(), value -> json.put("major", value));
        number(rule.getMinor(), value -> json.put("minor", value));
        return json;
    }

    private static void memory(ObjectNode json, LinuxMemory memory) {
        number(memory.getLimit(), value -> json.put("limit", value));
        number(memory.getReservation(), value -> json.put("reservation", value));
        number(memory.getSwap(), value -> json.put("swap", value));
        number(memory.getKernel(), value -> json.put("kernel", value));
        number(memory.getKernelTCP(), value -> json.put("kernelTCP", value));
        number(memory.getSwappiness(), value -> json.put("swappiness", value));
        if (memory.getDisableOOMKiller()) {
            json.put("disableOOMKiller", true);
        }
    }

    private static void processors(ObjectNode json, LinuxCPU cpu) {
        number(cpu.getShares(), value -> json.put("shares", value));
        number(cpu.getQuota(), value -> json.put("quota", value));
        number(cpu.getPeriod(), value -> json.put("period", value));
        number(cpu.getRealtimeRuntime(), value -> json.put("realtimeRuntime", value));
        number(cpu.getRealtimePeriod(), value -> json.put("realtimePeriod", value));
        text(json, "cpus", cpu.getCpus());
        text(json, "mems", cpu.getMems());
    }

    private static void blocks(ObjectNode json, LinuxBlockIO blocks) {
        number(blocks.getWeight(), value -> json.put("weight", value));
        number(blocks.getLeafWeight(), value -> json.put("leafWeight", value));
        throttles(json, "throttleReadBpsDevice", blocks.getThrottleReadBpsDeviceList());
        throttles(json, "throttleWriteBpsDevice", blocks.getThrottleWriteBpsDeviceList());
        throttles(json, "throttleReadIOPSDevice", blocks.getThrottleReadIOPSDeviceList());
        throttles(json, "throttleWriteIOPSDevice", blocks.getThrottleWriteIOPSDeviceList());
    }

    private static void throttles(ObjectNode json, String name, List<LinuxThrottleDevice> devices) {
        if (!devices.isEmpty()) {
            ArrayNode array = json.putArray(name);
            for (LinuxThrottleDevice one : devices) {
                array.addObject()
                        .put("major", one.getMajor())
                        .put("minor", one.getMinor())
                        .put("rate", unsigned(one.getRate()));
            }
        }
    }

    private static void text(ObjectNode json, String name, String value) {
        if (!value.isEmpty()) {
            json.put(name, value);
        }
    }

    private static void number(long value, LongConsumer put) {
        if (value != 0) {
            put.accept(value);
        }
    }

    private static long unsigned(int value) {
        return Integer.toUnsignedLong(value);
    }

    private static BigInteger unsigned(long value) {
        return UnsignedLong.fromLongBits(value).bigIntegerValue();
    }
}
