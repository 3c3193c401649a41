package io.homeostat.observe.usage;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Where the kernel counts what a control group uses, with all groups below it: cpu.stat and memory.current of version 2,
 * cpuacct.usage and memory.usage_in_bytes of version 1.
 *
 * @param processor null when no group of the workload is counted
 * @param memory null when no group of the workload is counted
 */
record UsageFiles(@Nullable Path processor, @Nullable Path memory) {
    private static final String V2_PROCESSOR = "cpu.stat";
    private static final String USAGE = "usage_usec ";

    /** Those of the groups that a process is in; a workload may have a group that its process is not in. */
    static UsageFiles of(CgroupLayout layout, WorkloadId id, long pid) throws IOException {
        Path processor = null;
        Path memory = null;
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            for (Path group : hierarchy.existing(id)) {
                if (!hierarchy.isIn(ImmutableList.of(group), pid)) {
                    continue;
                }
                boolean first = hierarchy.version() == Version.V1;
                Path time = group.resolve(first ? "cpuacct.usage" : V2_PROCESSOR);
                Path bytes = group.resolve(first ? "memory.usage_in_bytes" : "memory.current");
                processor = processor == null && Files.exists(time) ? time : processor;
                memory = memory == null && Files.exists(bytes) ? bytes : memory;
            }
        }
        return new UsageFiles(processor, memory);
    }

    /** Reads a file of processor time, in nanoseconds. */
    static long nanos(Path file) throws IOException {
        String text = read(file);
        if (!file.endsWith(V2_PROCESSOR)) {
            return number(file, text);
        }
        int start = text.indexOf(USAGE);
        if (start < 0) {
            throw new IOException(file + " has no line " + USAGE.strip());
        }
        int end = text.indexOf('\n', start);
        return number(file, text.substring(start + USAGE.length(), end < 0 ? text.length() : end)) * 1000;
    }

    /** Reads a file of memory, in bytes. */
    static long bytes(Path file) throws IOException {
        return number(file, read(file));
    }

    private static long number(Path file, String text) throws IOException {
        try {
            return Long.parseLong(text.strip());
        } catch (NumberFormatException e) {
            throw new IOException(file + " has '" + text.strip() + "' where a number should be", e);
        }
    }

    private static String read(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.US_ASCII);
    }
}
