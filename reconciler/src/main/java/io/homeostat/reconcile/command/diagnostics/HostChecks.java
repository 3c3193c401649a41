package io.homeostat.reconcile.command.diagnostics;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.MountTable;
import io.homeostat.desired.platform.MountTable.Mount;
import io.homeostat.desired.platform.Sysctl;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.Pidfd;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the kernel and the system around it can do. */
final class HostChecks {
    private static final int JAVA = 25;
    private static final long LEAST_HEAP = 24L << 20;
    private static final long LEAST_FILES = 1024;
    private static final long LEAST_WATCHES = 8192;
    private static final Instant BEFORE_US = Instant.parse("2026-01-01T00:00:00Z");
    private static final Instant AFTER_ALL_CERTIFICATES = Instant.parse("2100-01-01T00:00:00Z");

    private static final Path PROC = Path.of("/proc");

    /** Options of /proc by which processes of others are seen. */
    private static final ImmutableSet<String> SHOWN = ImmutableSet.of("hidepid=0", "hidepid=off");

    private final Path proc;
    private final boolean isRoot;
    private final Clock clock;

    /** @param isRoot whether whoever looks, and would run the agent, is root */
    HostChecks(Path proc, boolean isRoot, Clock clock) {
        this.proc = proc;
        this.isRoot = isRoot;
        this.clock = clock;
    }

    Finding java() {
        long heap = Runtime.getRuntime().maxMemory();
        String words = "Java " + Runtime.version() + ", " + (heap >> 20) + " MiB for objects";
        if (Runtime.version().feature() < JAVA) {
            return Finding.fail("java", words, "install Java " + JAVA);
        }
        return heap < LEAST_HEAP
                ? Finding.warn("java", words, "give the program at least " + (LEAST_HEAP >> 20) + " MiB with -Xmx")
                : Finding.ok("java", words);
    }

    Finding clock() {
        Instant now = clock.instant();
        return now.isBefore(BEFORE_US) || now.isAfter(AFTER_ALL_CERTIFICATES)
                ? Finding.fail(
                        "clock",
                        "it is said to be " + now,
                        "set the clock: certificates are judged and pauses end by it")
                : Finding.ok("clock", now.toString());
    }

    /** The commands that only some workloads need, and which these are. */
    private static final ImmutableMap<String, String> FOR_SETTINGS = ImmutableMap.of(
            "setpriv", "spec.user",
            "id", "spec.group",
            "getent", "spec.group by name",
            "prlimit", "spec.rlimits",
            "choom", "spec.oomScoreAdjust",
            "nice", "spec.nice");

    Finding tools() {
        List<String> missing = new ArrayList<>();
        for (String tool : ImmutableList.of("sh", "setsid")) {
            if (Executables.find(tool).isEmpty()) {
                missing.add(tool);
            }
        }
        if (!missing.isEmpty()) {
            return Finding.fail(
                    "tools",
                    "not in PATH: " + String.join(", ", missing) + "; without them nothing can be launched",
                    "install coreutils and util-linux");
        }
        ImmutableList<String> lacking = FOR_SETTINGS.entrySet().stream()
                .filter(tool -> Executables.find(tool.getKey()).isEmpty())
                .map(tool -> tool.getKey() + " for " + tool.getValue())
                .collect(ImmutableList.toImmutableList());
        return lacking.isEmpty()
                ? Finding.ok("tools", "all that launching needs is there")
                : Finding.warn(
                        "tools",
                        "not in PATH: " + String.join(", ", lacking) + "; what has these can't be launched",
                        "install coreutils, util-linux 2.31.1 or newer, and libc-bin (glibc-common)");
    }

    Finding pidfd() {
        return Pidfd.problem()
                .map(why -> Finding.warn(
                        "pidfd",
                        "processes can't be watched: " + why + "; that one has ended is seen at the next resync",
                        "use Linux 5.3 or newer, and allow pidfd_open where system calls are filtered"))
                .orElseGet(() -> Finding.ok("pidfd", "the end of a process is noticed at once"));
    }

    /** Root's processes are seen by root, whatever hidepid says. */
    Finding proc() throws IOException {
        Optional<Mount> mount = MountTable.read(proc.resolve("self/mountinfo"))
                .of(PROC)
                .filter(on -> on.point().equals(PROC));
        if (mount.isEmpty()) {
            return Finding.fail("proc", "/proc is not mounted", "mount it: nothing is known of a process without it");
        }
        Optional<String> hidden = mount.get().fileSystemOptions().stream()
                .filter(option -> option.startsWith("hidepid=") && !SHOWN.contains(option))
                .findFirst();
        return hidden.isPresent() && !Files.isReadable(proc.resolve("1/environ"))
                ? Finding.warn(
                        "proc",
                        "/proc hides the processes of other users (" + hidden.get() + ")",
                        isRoot
                                ? "mount /proc without hidepid, or give root the capability CAP_SYS_PTRACE"
                                : "run as root, or mount /proc with gid= of a group that this user is in")
                : Finding.ok("proc", "/proc shows the processes");
    }

    /** Says what the agent itself will find when a workload has limits. */
    Finding cgroups(CgroupLayout layout) {
        String places = layout.hierarchies().stream()
                .map(hierarchy -> (hierarchy.version() == CgroupHierarchy.Version.V2 ? "v2 " : "v1 ")
                        + hierarchy.controllers().stream()
                                .map(Controller::word)
                                .sorted()
                                .collect(Collectors.joining(", "))
                        + " at " + hierarchy.home())
                .collect(Collectors.joining("; "));
        String found = places.isEmpty() ? "no controllers for memory and processor time" : places;
        Map<Controller, String> obstacles = layout.obstacles().reasons();
        if (obstacles.isEmpty()) {
            return Finding.ok("cgroups", found);
        }
        return Finding.warn(
                "cgroups",
                found + "; not enforced: "
                        + obstacles.entrySet().stream()
                                .map(obstacle -> obstacle.getKey().word() + " (" + obstacle.getValue() + ")")
                                .collect(Collectors.joining(" and "))
                        + "; workloads that require such limits are not started",
                isRoot
                        ? "mount cgroup2 at /sys/fs/cgroup, for root to write to; in a systemd unit set Delegate=yes, and in a container"
                                + " let it have its control groups (docker run --privileged --cgroupns=private)"
                        : "run as root, or in a systemd unit with Delegate=yes");
    }

    /** Whether the agent that runs is bounded: one whose unit asks for it should be. */
    Finding ceiling(Path cgroups, Optional<Long> agent) throws IOException {
        if (agent.isEmpty()) {
            return Finding.ok("ceiling", "no agent is running");
        }
        Path process = proc.resolve(Long.toString(agent.get()));
        boolean isAsked = new ProcFs(proc)
                .variable(agent.get(), AgentGroup.OPTION)
                .filter(value -> !value.isEmpty())
                .isPresent();
        // Without a group of its own none can hold; in one that systemd has made, none has to.
        Optional<Limits> limits = AgentGroup.limits(cgroups, process).filter(found -> isAsked || found.areAny());
        if (limits.isEmpty()) {
            return Finding.ok("ceiling", "nothing but its heap bounds the agent");
        }
        Size memory = limits.get().memory();
        Cpu cpu = limits.get().cpu();
        String words = "the agent itself may take "
                + (memory == null ? "all memory" : (memory.bytes() >> 20) + " MiB of memory") + " and "
                + (cpu == null ? "all processors" : cpu.percentOfOneCore() + "% of a processor");
        return isAsked && (memory == null || cpu == null)
                ? Finding.warn("ceiling", words, "its log says why; restart it when that is mended")
                : Finding.ok("ceiling", words);
    }

    Finding inotify() throws IOException {
        Path limits = proc.resolve("sys/fs/inotify");
        long watches = Sysctl.number(limits.resolve("max_user_watches"));
        long instances = Sysctl.number(limits.resolve("max_user_instances"));
        String words = watches + " watches and " + instances + " instances a user";
        return watches < LEAST_WATCHES || instances < 16
                ? Finding.warn(
                        "inotify",
                        words + " are few; changes of files may only be seen at the next resync",
                        "sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=128")
                : Finding.ok("inotify", words);
    }

    Finding openFiles() throws IOException {
        Optional<String> line;
        try (Stream<String> lines = Files.lines(proc.resolve("self/limits"), StandardCharsets.US_ASCII)) {
            line = lines.filter(one -> one.startsWith("Max open files")).findFirst();
        }
        String soft = line.map(one ->
                        Splitter.on(' ').omitEmptyStrings().splitToList(one).get(3))
                .orElseThrow(() -> new IOException("/proc/self/limits has no line 'Max open files'"));
        String words = "a process may have " + soft + " files open";
        return !soft.equals("unlimited") && Long.parseLong(soft) < LEAST_FILES
                ? Finding.warn(
                        "open files",
                        words + ", which is few for many workloads",
                        "raise it: LimitNOFILE= of the unit, or ulimit -n")
                : Finding.ok("open files", words);
    }
}
