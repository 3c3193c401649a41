package io.homeostat.desired.model.guest;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.Key;
import io.homeostat.desired.model.schema.Fields.Keys;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import io.homeostat.desired.model.schema.Size;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What runs in a sandbox, and how it is kept apart from what else runs there. */
public record ContainerSettings(
        @Doc("The Sandbox that it runs in, of this machine.")
        @Matches(value = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}", words = "the name of a Sandbox")
        String sandbox,

        @Doc(
                "The revision to run. Another revision is an upgrade. A hash of what the container consists of, when left out.")
        @Key("revision")
        @Matches(
                value = "[A-Za-z0-9._-]{1,64}",
                words = "1 to 64 letters, digits, '.', '_' or '-'",
                anyInMessages = true)
        @Nullable
        String namedRevision,

        @Doc("Its root file system, where it is in the guest already.")
        RootFs rootfs,

        @Inline Program program,

        @Doc("Whether it is paused: its processes are there and do nothing. Changed in place.") @Default("false")
        boolean frozen) {
    private static final String ABSOLUTE = "(/(?!\\.\\.(/|$))[^/\\u0000]*)+";
    static final String BELOW_ROOT = "(?=/*[^/])" + ABSOLUTE;
    static final String BELOW_ROOT_WORDS = "an absolute path without '..', and not /";

    private static final String PREFIX = "CAP_";

    /** Where its root file system is: exactly one of path and storage, and neither where it is copied into the guest. */
    public record RootFs(
            @Doc("A directory of the guest, absolute and no link.")
            @Matches(value = BELOW_ROOT, words = BELOW_ROOT_WORDS)
            @Nullable
            String path,

            @Doc("What the agent mounts for it; its mountPoint is the root file system.") @Nullable
            Storage storage,

            @Doc("Whether nothing in it can be changed.") @Default("false")
            boolean readonly) {
        /** The directory of the guest that it is; empty when it is to be copied there. */
        public Optional<String> directory() {
            return Optional.ofNullable(storage != null ? storage.mountPoint() : path);
        }

        String words() {
            return directory().orElse("") + "\u0000" + (storage == null ? "" : storage.words()) + "\u0000" + readonly;
        }
    }

    /** Its first process, and what it may do and see. */
    public record Program(
            @Doc("The program and its arguments; no shell reads them. A name without '/' is looked for in PATH.")
            @Range(min = 1)
            ImmutableList<String> command,

            @Doc("Environment variables; PATH is the usual one when it is not among them.")
            @Keys(value = "[A-Za-z_][A-Za-z0-9_]*", words = "a letter or '_', then letters, digits or '_'")
            ImmutableSortedMap<String, String> env,

            @Doc("The working directory in the container; absolute. It is made when it is not there.")
            @Default("/")
            @Matches(value = ABSOLUTE, words = "an absolute path without '..'")
            String workingDirectory,

            @Doc("Who runs it; the numbers of nobody when left out.")
            User user,

            @Doc("Whether it has a terminal, so that its output is one stream.") @Default("false")
            boolean terminal,

            @Doc(
                    "Capabilities of Linux that it has, such as CAP_NET_BIND_SERVICE (CAP_ may be left out); none but these.")
            @Matches(
                    value = "(CAP_)?(AUDIT_CONTROL|AUDIT_READ|AUDIT_WRITE|BLOCK_SUSPEND|BPF|CHECKPOINT_RESTORE|CHOWN"
                            + "|DAC_OVERRIDE|DAC_READ_SEARCH|FOWNER|FSETID|IPC_LOCK|IPC_OWNER|KILL|LEASE"
                            + "|LINUX_IMMUTABLE|MAC_ADMIN|MAC_OVERRIDE|MKNOD|NET_ADMIN|NET_BIND_SERVICE|NET_BROADCAST"
                            + "|NET_RAW|PERFMON|SETFCAP|SETGID|SETPCAP|SETUID|SYSLOG|SYS_ADMIN|SYS_BOOT|SYS_CHROOT"
                            + "|SYS_MODULE|SYS_NICE|SYS_PACCT|SYS_PTRACE|SYS_RAWIO|SYS_RESOURCE|SYS_TIME"
                            + "|SYS_TTY_CONFIG|WAKE_ALARM)",
                    words = "a capability of Linux in capital letters, such as CAP_NET_BIND_SERVICE")
            ImmutableList<String> capabilities,

            @Doc("What is mounted in it, beside /proc, /dev, /sys and the like.")
            ImmutableList<Mount> mounts,

            @Doc("Devices that it may use, beside /dev/null and the like.")
            ImmutableList<Device> devices,

            @Doc("Parameters of the kernel in its namespaces, such as net.core.somaxconn.")
            @Keys(value = "[A-Za-z0-9_][A-Za-z0-9_./-]*", words = "the name of a parameter, such as net.core.somaxconn")
            ImmutableSortedMap<String, String> sysctl) {}

    /** Who a process runs as, by the numbers of the guest. */
    public record User(
            @Doc("The user.") @Default("65534") @Range(min = 0, max = 4_294_967_294L)
            long uid,

            @Doc("The group.") @Default("65534") @Range(min = 0, max = 4_294_967_294L)
            long gid,

            @Doc("Further groups.") @Range(max = 4_294_967_294L)
            ImmutableList<Long> additionalGids) {}

    /** Something that is mounted in a container. */
    public record Mount(
            @Doc("Where, in the container; absolute.") @Matches(value = BELOW_ROOT, words = BELOW_ROOT_WORDS)
            String destination,

            @Doc("What: for type bind a path in the guest.") @Nullable
            String source,

            @Doc("The type of the file system, or bind.") @Default("bind") @Range(min = 1)
            String type,

            @Doc("Options of the mount, such as rbind or ro.")
            ImmutableList<String> options) {
        String words() {
            return String.join("\u0000", destination, String.valueOf(source), type, String.join("\u0000", options));
        }
    }

    /** A device of the guest. */
    public record Device(
            @Doc("Its path in the container, below /dev.")
            @Matches(
                    value = "/dev/(?!\\.{1,2}(/|$))[^/\\u0000\\n]+(/(?!\\.{1,2}(/|$))[^/\\u0000\\n]+)*",
                    words = "a path below /dev, such as /dev/fuse")
            String path,

            @Doc("b: of blocks. c or u: of characters. p: a named pipe.")
            @Matches(value = "[bcup]", words = "b, c, u or p")
            String type,

            @Doc("The major number; 0 for a named pipe.") @Default("0") @Range(min = 0, max = 4095)
            int major,

            @Doc("The minor number; 0 for a named pipe.") @Default("0") @Range(min = 0, max = 1_048_575)
            int minor) {}

    /**
     * What a container was given that it can be given anew while it runs.
     *
     * @param memory null when it is not limited, as the others
     */
    public record InPlace(
            @Nullable Size memory,
            @Nullable Cpu cpu,
            @Nullable Integer pids,
            boolean frozen) {
        /** The same, paused or not. */
        public InPlace withFrozen(boolean paused) {
            return new InPlace(memory, cpu, pids, paused);
        }

        /** Which limits it has, by their fields. */
        public ImmutableSortedSet<String> limits() {
            ImmutableSortedSet.Builder<String> limits = ImmutableSortedSet.naturalOrder();
            if (memory != null) {
                limits.add("limits.memory");
            }
            if (cpu != null) {
                limits.add("limits.cpu");
            }
            if (pids != null) {
                limits.add("limits.pids");
            }
            return limits.build();
        }

        /** Whether the next one lacks a limit that this one has: no agent lifts one. */
        public boolean isLiftedBy(InPlace next) {
            return !next.limits().containsAll(limits());
        }
    }

    /** The capabilities with their full names. */
    public ImmutableList<String> capabilityNames() {
        return program.capabilities().stream()
                .map(name -> name.startsWith(PREFIX) ? name : PREFIX + name)
                .collect(ImmutableList.toImmutableList());
    }

    /** All but its command and environment that takes another container, without who it is. */
    public ImmutableList<String> parts() {
        return ImmutableList.of(
                rootfs.words(),
                program.workingDirectory(),
                String.valueOf(program.terminal()),
                String.join("\u0000", capabilityNames()),
                program.mounts().stream().map(Mount::words).collect(Collectors.joining("\u0001")),
                program.devices().toString(),
                program.sysctl().toString());
    }
}
