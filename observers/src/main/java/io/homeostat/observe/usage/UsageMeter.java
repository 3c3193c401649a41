package io.homeostat.observe.usage;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.KernelFile;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Measures one workload by its control groups, as far as the kernel counts there, else by the processes of its tree. Their memory is the
 * resident set, which counts shared pages once per process: the proportional set would be exact, but reading it walks all pages of a
 * process and stalls it.
 *
 * <p>Used by one thread.
 */
final class UsageMeter implements Meter {
    private final Groups groups;
    private final Ticker ticker;
    private @Nullable UsageFiles files;
    private @Nullable Mark before;
    private TreeMeter tree = new TreeMeter();

    /** The last CPU reading; one of a group says nothing about the tree, and the other way round. */
    private record Mark(@Nullable Path file, long at, long nanos) {}

    /** The control groups in which a workload is. */
    private interface Groups {
        UsageFiles files(ImmutableList<Instance> launches) throws IOException;

        Observation<ImmutableSortedSet<Long>> pids();
    }

    /** One whose groups are ours, if it has any. */
    UsageMeter(WorkloadId id, CgroupLayout layout, Ticker ticker) {
        this(
                new Groups() {
                    private final LimitObserver limits = new LimitObserver(layout);

                    @Override
                    public UsageFiles files(ImmutableList<Instance> launches) throws IOException {
                        ProcessIdentity main = launches.getLast().process();
                        return main == null ? UsageFiles.NONE : UsageFiles.of(layout, id, main.pid());
                    }

                    @Override
                    public Observation<ImmutableSortedSet<Long>> pids() {
                        return limits.pids(id);
                    }
                },
                ticker);
    }

    /** One that is in the groups that drivers put tasks in; what is in none of them is not measured. */
    UsageMeter(TaskGroupName task, TaskCgroups cgroups, Ticker ticker) {
        this(
                new Groups() {
                    @Override
                    public UsageFiles files(ImmutableList<Instance> launches) {
                        return UsageFiles.in(
                                cgroups.groups(task), cgroups.version().orElse(Version.V1));
                    }

                    @Override
                    public Observation<ImmutableSortedSet<Long>> pids() {
                        return cgroups.look(task).map(TaskCgroups.Occupancy::pids);
                    }
                },
                ticker);
    }

    private UsageMeter(Groups groups, Ticker ticker) {
        this.groups = groups;
        this.ticker = ticker;
    }

    @Override
    public void moved() {
        files = null;
    }

    @Override
    public Optional<Measured> measure(ImmutableList<Instance> launches, Duration interval, Processes processes)
            throws IOException {
        boolean complete = false;
        try {
            Optional<Measured> measured = measure(located(launches), launches, processes);
            complete = measured.isPresent();
            return measured;
        } finally {
            if (!complete) {
                files = null;
                before = null;
                tree = new TreeMeter();
            }
        }
    }

    private Optional<Measured> measure(UsageFiles from, ImmutableList<Instance> launches, Processes processes)
            throws IOException {
        Path processor = from.processor();
        Path memory = from.memory();
        if (processor != null && memory != null) {
            return Optional.of(counted(processor, UsageFiles.bytes(memory)));
        }
        ImmutableSortedSet<Long> grouped = grouped(from);
        // What a group counts is what is in it, so that is all there is to add up; to read every process of the machine
        // costs far more.
        ProcessTable table = !from.grouped() ? processes.now() : processes.of(grouped);
        ImmutableCollection<Stat> members = table.members(!from.grouped() ? launches : ImmutableList.of(), grouped);
        if (members.isEmpty()) {
            return Optional.empty();
        }
        long bytes = memory == null ? resident(members) : UsageFiles.bytes(memory);
        return Optional.of(processor == null ? added(table, members, bytes) : counted(processor, bytes));
    }

    private Measured counted(Path file, long memoryBytes) throws IOException {
        long nanos = UsageFiles.nanos(file);
        Mark last = before;
        before = new Mark(file, ticker.read(), nanos);
        if (last == null || !file.equals(last.file())) {
            return new Measured(0, null, memoryBytes);
        }
        // A recreated group counts from 0.
        long used = nanos < last.nanos() ? nanos : nanos - last.nanos();
        return new Measured(before.at() - last.at(), used, memoryBytes);
    }

    private Measured added(ProcessTable table, ImmutableCollection<Stat> members, long memoryBytes) {
        Mark last = before;
        long nanos = last == null ? 0 : table.readAt() - last.at();
        long used = tree.used(members, table, nanos);
        before = new Mark(null, table.readAt(), 0);
        return last == null || last.file() != null
                ? new Measured(0, null, memoryBytes)
                : new Measured(nanos, used, memoryBytes);
    }

    private UsageFiles located(ImmutableList<Instance> launches) throws IOException {
        UsageFiles known = files;
        if (known == null) {
            known = groups.files(launches);
            files = known;
        }
        return known;
    }

    private ImmutableSortedSet<Long> grouped(UsageFiles from) throws IOException {
        return switch (groups.pids()) {
            case Observation.Seen<ImmutableSortedSet<Long>>(ImmutableSortedSet<Long> pids) -> pids;
            case Observation.Unseen<ImmutableSortedSet<Long>>(String why) -> {
                if (!from.grouped()) {
                    // Its tree is measured.
                    yield ImmutableSortedSet.of();
                }
                throw new IOException(why);
            }
        };
    }

    private static long resident(ImmutableCollection<Stat> members) {
        return members.stream()
                        .filter(Stat::alive)
                        .mapToLong(Stat::residentPages)
                        .sum()
                * Libc.pageSize();
    }

    /** Adds up the CPU time of one process tree from look to look. */
    static final class TreeMeter {
        private Map<ProcessKey, Stat> before = Map.of();

        /**
         * CPU time that the tree used since the last look, in nanoseconds; never negative.
         *
         * <p>The time of a process that ended in between is counted with its parent if the parent has waited for it; what had been
         * counted for it before is subtracted. If nobody in the tree waited for it, its last share is lost.
         *
         * @param nanos since the last look. An older process that was not seen then joined the tree from elsewhere: what it used there is
         *     not counted
         */
        long used(Collection<Stat> members, ProcessTable table, long nanos) {
            Map<ProcessKey, Stat> now = new HashMap<>();
            long own = 0;
            long collected = 0;
            for (Stat stat : members) {
                now.put(ProcessKey.of(stat), stat);
                Stat last = before.get(ProcessKey.of(stat));
                if (last != null) {
                    own += Math.max(0, stat.ownTicks() - last.ownTicks());
                    collected += Math.max(0, stat.childTicks() - last.childTicks());
                } else if (table.age(stat) <= nanos + ProcFs.NANOS_PER_TICK) {
                    own += stat.ownTicks();
                    collected += stat.childTicks();
                }
            }
            Set<ProcessKey> ended = new HashSet<>(before.keySet());
            ended.removeAll(now.keySet());
            for (ProcessKey key : ended) {
                Stat last = before.get(key);
                collected -= last == null ? 0 : last.ownTicks() + last.childTicks();
            }
            before = now;
            return (own + Math.max(0, collected)) * ProcFs.NANOS_PER_TICK;
        }
    }

    /**
     * The files in which the kernel counts what a control group and everything below it uses: cpu.stat and memory.current of version 2,
     * cpuacct.usage and memory.usage_in_bytes of version 1; null where no group is counted.
     *
     * @param grouped whether what is in the groups is all there is of the workload
     */
    private record UsageFiles(
            @Nullable Path processor, @Nullable Path memory, boolean grouped) {
        static final UsageFiles NONE = new UsageFiles(null, null, false);

        private static final String V2_PROCESSOR = "cpu.stat";
        private static final String USAGE = "usage_usec ";

        /** The files of the groups that a process is in; a workload may have a group without its process. */
        static UsageFiles of(CgroupLayout layout, WorkloadId id, long pid) throws IOException {
            UsageFiles found = NONE;
            for (CgroupHierarchy hierarchy : layout.hierarchies()) {
                for (Path group : hierarchy.existing(id)) {
                    if (hierarchy.isIn(ImmutableList.of(group), pid)) {
                        found = found.with(group, hierarchy.version());
                    }
                }
            }
            return new UsageFiles(found.processor, found.memory, found.processor != null || found.memory != null);
        }

        /** The files of groups that a workload is in with all of its processes. */
        static UsageFiles in(Iterable<Path> groups, Version version) {
            UsageFiles found = new UsageFiles(null, null, true);
            for (Path group : groups) {
                found = found.with(group, version);
            }
            return found;
        }

        /** Those that were found first stay. */
        private UsageFiles with(Path group, Version version) {
            boolean first = version == Version.V1;
            Path time = group.resolve(first ? "cpuacct.usage" : V2_PROCESSOR);
            Path bytes = group.resolve(first ? "memory.usage_in_bytes" : "memory.current");
            return new UsageFiles(
                    processor == null && Files.exists(time) ? time : processor,
                    memory == null && Files.exists(bytes) ? bytes : memory,
                    grouped);
        }

        /** Reads a file of CPU time, in nanoseconds. */
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
            return new String(KernelFile.bytes(file), StandardCharsets.US_ASCII);
        }
    }
}
