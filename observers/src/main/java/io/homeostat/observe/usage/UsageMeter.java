package io.homeostat.observe.usage;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.ProcessIdentity;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Measures one workload: by its control groups as far as the kernel counts there, else by the processes of its tree. Of these the
 * memory is their resident set, which counts what several share once for each: the proportional set would be exact, but reading it walks
 * through all their pages and holds them up.
 *
 * <p>Used by one thread.
 */
final class UsageMeter {
    private final WorkloadId id;
    private final CgroupLayout layout;
    private final LimitObserver groups;
    private final Ticker ticker;
    private @Nullable UsageFiles files;
    private @Nullable Mark before;
    private TreeMeter tree = new TreeMeter();

    /** Where measuring the processor has come to; of one place nothing can be concluded for another. */
    private record Mark(@Nullable Path file, long at, long nanos) {}

    /** Gives the processes of the machine as they are now, the same all of those who ask at the same time. */
    interface Processes {
        ProcessTable now() throws IOException;
    }

    /**
     * What was measured.
     *
     * @param nanos since the measurement before
     * @param processorNanos that were used since then; null for the first one, which has none to compare with
     */
    record Measured(long nanos, @Nullable Long processorNanos, long memoryBytes) {}

    UsageMeter(WorkloadId id, CgroupLayout layout, Ticker ticker) {
        this.id = id;
        this.layout = layout;
        this.groups = new LimitObserver(layout);
        this.ticker = ticker;
    }

    /** The workload may have come into groups, or out of them. */
    void moved() {
        files = null;
    }

    /**
     * Measures.
     *
     * @return empty when nothing of it runs
     * @throws IOException when it can't be measured; the next measurement is a first one
     */
    Optional<Measured> measure(ImmutableList<Instance> launches, Processes processes) throws IOException {
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
        ProcessTable table = processes.now();
        ImmutableCollection<Stat> members = table.members(launches, grouped());
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
        // A group that was made anew counts from 0.
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
            ProcessIdentity main = launches.getLast().process();
            known = main == null ? new UsageFiles(null, null) : UsageFiles.of(layout, id, main.pid());
            files = known;
        }
        return known;
    }

    private ImmutableSet<Long> grouped() {
        return groups.pids(id) instanceof Observation.Seen<ImmutableSortedSet<Long>>(ImmutableSortedSet<Long> pids)
                ? pids
                : ImmutableSet.of();
    }

    private static long resident(ImmutableCollection<Stat> members) {
        return members.stream()
                        .filter(Stat::alive)
                        .mapToLong(Stat::residentPages)
                        .sum()
                * Libc.pageSize();
    }
}
