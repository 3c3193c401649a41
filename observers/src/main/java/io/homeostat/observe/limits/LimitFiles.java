package io.homeostat.observe.limits;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes limits in the files of a control group: memory.max and cpu.max of version 2, memory.limit_in_bytes, cpu.cfs_quota_us
 * and cpu.cfs_period_us of version 1 (the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1).
 */
public final class LimitFiles {
    private static final long PERIOD = 100_000;
    private static final long QUOTA_OF_ONE_PERCENT = PERIOD / 100;

    /** Version 1 says "no limit" with the largest number of whole pages; the largest pages are 64 KiB. */
    private static final long NO_MEMORY_LIMIT = Long.MAX_VALUE - (64 << 10);

    /** Kill all of a group together when it runs out of memory; missing on kernels before 4.19. */
    public static final String OOM_GROUP = "memory.oom.group";

    private LimitFiles() {}

    /** What to write into which file of a group, in this order; also for what is not limited. */
    public static ImmutableMap<String, String> contents(Version version, Controller controller, Limits limits) {
        return switch (controller) {
            case MEMORY -> memory(version, limits.memory(), limits.oomGroup());
            case CPU -> cpu(version, limits.cpu());
        };
    }

    private static ImmutableMap<String, String> memory(Version version, @Nullable Size limit, boolean oomGroup) {
        return switch (version) {
            case V1 -> ImmutableMap.of("memory.limit_in_bytes", limit == null ? "-1" : Long.toString(limit.bytes()));
            case V2 ->
                ImmutableMap.of(
                        "memory.max",
                        limit == null ? "max" : Long.toString(limit.bytes()),
                        OOM_GROUP,
                        oomGroup ? "1" : "0");
        };
    }

    private static ImmutableMap<String, String> cpu(Version version, @Nullable Cpu limit) {
        String quota = limit == null ? null : Long.toString(limit.percentOfOneCore() * QUOTA_OF_ONE_PERCENT);
        return switch (version) {
            case V1 ->
                ImmutableMap.of(
                        "cpu.cfs_period_us", Long.toString(PERIOD), "cpu.cfs_quota_us", quota == null ? "-1" : quota);
            case V2 -> ImmutableMap.of("cpu.max", (quota == null ? "max" : quota) + " " + PERIOD);
        };
    }

    /** The memory limit of a group; null when there is none. The kernel keeps whole pages, so it may be lower than what was written. */
    static @Nullable Size memory(Version version, Path group) throws IOException {
        return switch (version) {
            case V1 -> {
                long bytes = number(group.resolve("memory.limit_in_bytes"));
                yield bytes >= NO_MEMORY_LIMIT ? null : new Size(bytes);
            }
            case V2 -> {
                String text = read(group.resolve("memory.max"));
                yield text.equals("max") ? null : new Size(number(group.resolve("memory.max"), text));
            }
        };
    }

    /** Whether all of a group is killed together. */
    static boolean oomGroup(Version version, Path group) throws IOException {
        Path file = group.resolve(OOM_GROUP);
        return version == Version.V2 && Files.exists(file) && read(file).equals("1");
    }

    /** The CPU limit of a group, rounded down to whole percent but at least 1; null when there is none. */
    static @Nullable Cpu cpu(Version version, Path group) throws IOException {
        return switch (version) {
            case V1 -> {
                long quota = number(group.resolve("cpu.cfs_quota_us"));
                yield quota < 0 ? null : percent(quota, number(group.resolve("cpu.cfs_period_us")));
            }
            case V2 -> {
                Path file = group.resolve("cpu.max");
                List<String> words = Splitter.on(' ').splitToList(read(file));
                if (words.getFirst().equals("max")) {
                    yield null;
                }
                yield percent(number(file, words.getFirst()), words.size() < 2 ? PERIOD : number(file, words.get(1)));
            }
        };
    }

    /** How many processes of a group the OOM killer has killed; 0 on kernels that do not count. */
    static long oomKills(Version version, Path group) throws IOException {
        Path file = group.resolve(version == Version.V1 ? "memory.oom_control" : "memory.events");
        for (String line : Splitter.on('\n').split(read(file))) {
            if (line.startsWith("oom_kill ")) {
                return number(file, line.substring("oom_kill ".length()).strip());
            }
        }
        return 0;
    }

    private static Cpu percent(long quota, long period) {
        return new Cpu(Math.clamp(quota * 100 / Math.max(1, period), 1, Integer.MAX_VALUE));
    }

    private static long number(Path file) throws IOException {
        return number(file, read(file));
    }

    private static long number(Path file, String text) throws IOException {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new IOException(file + " has '" + text + "' where a number should be", e);
        }
    }

    private static String read(Path file) throws IOException {
        try {
            return new String(KernelFile.bytes(file), StandardCharsets.US_ASCII).strip();
        } catch (NoSuchFileException e) {
            throw new IOException(file + " is not there: the kernel does not offer it, or the group is gone", e);
        }
    }
}
