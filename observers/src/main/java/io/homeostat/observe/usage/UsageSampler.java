package io.homeostat.observe.usage;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Lifecycle.Metrics;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.usage.UsageReport.Usage;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Samples what workloads use, each at its own interval, and keeps the samples until they are delivered or displaced by newer ones.
 * Sampling happens on the one thread that calls {@link #sample}; everything else may be called from any thread.
 *
 * <p>All workloads with the same interval are sampled at the same moments, so that one look at the machine's processes is enough.
 */
public final class UsageSampler {
    private static final Logger LOG = LoggerFactory.getLogger(UsageSampler.class);

    /** The delay, at most, before a new workload is measured for the first time, together with others that are new. */
    private static final Duration DELAY_OF_NEW = Duration.ofSeconds(1);

    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(10);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    private final Function<WorkloadId, Meter> meters;
    private final ProcessTable.Reader processes;
    private final InstantSource clock;
    private final Ticker ticker;
    private final Map<WorkloadId, Followed> followed = new HashMap<>();
    /** Whose meters the sampling thread has yet to close. */
    private final Queue<Followed> forgotten = new ArrayDeque<>();

    private long numbers;

    /** One workload. Guarded by the sampler, except for the meter and its failures, which only the sampling thread touches. */
    private static final class Followed {
        private final WorkloadId id;
        private final Meter meter;
        private final UsageRing ring = new UsageRing();
        private Metrics how;
        private ImmutableList<Instance> launches;
        private boolean moved;
        private long due;
        private @Nullable Usage latest;
        private boolean failing;

        private Followed(WorkloadId id, Meter meter, Metrics how, ImmutableList<Instance> launches, long due) {
            this.id = id;
            this.meter = meter;
            this.how = how;
            this.launches = launches;
            this.due = due;
        }
    }

    /** What is due now, as of that moment. */
    private record Due(Followed workload, ImmutableList<Instance> launches, Duration interval, boolean moved) {}

    /** @param ticker for intervals, which the clock may jump over */
    public UsageSampler(Layout layout, ProcFs procFs, InstantSource clock, Ticker ticker) {
        this(CgroupLayout.detect(layout), procFs, clock, ticker);
    }

    UsageSampler(CgroupLayout groups, ProcFs procFs, InstantSource clock, Ticker ticker) {
        this(groups, procFs, clock, ticker, id -> Optional.empty());
    }

    /** @param others who measures a workload that is no process tree of this host; empty: it is one */
    public UsageSampler(
            CgroupLayout groups,
            ProcFs procFs,
            InstantSource clock,
            Ticker ticker,
            Function<WorkloadId, Optional<Meter>> others) {
        this.meters = id -> others.apply(id).orElseGet(() -> new UsageMeter(id, groups, ticker));
        this.processes = new ProcessTable.Reader(procFs, ticker);
        this.clock = clock;
        this.ticker = ticker;
    }

    /**
     * Samples a workload from now on by its present launches. Without any, earlier samples are kept.
     *
     * @return whether the next {@link #sample} may be due sooner than it was
     */
    public synchronized boolean follow(WorkloadId id, Metrics how, ImmutableList<Instance> launches) {
        Followed known = followed.get(id);
        if (known == null) {
            followed.put(id, new Followed(id, meters.apply(id), how, launches, ticker.read()));
            return true;
        }
        boolean otherwise = !known.how.interval().equals(how.interval());
        if (otherwise) {
            known.due = nextDue(ticker.read(), how.interval());
        }
        known.how = how;
        known.launches = launches;
        known.moved = true;
        if (launches.isEmpty()) {
            known.latest = null;
        }
        return otherwise;
    }

    /** Forgets a workload and its samples. */
    public synchronized void forget(WorkloadId id) {
        Followed known = followed.remove(id);
        if (known != null) {
            forgotten.add(known);
        }
    }

    /** The newest sample of a running workload, delivered or not; empty before the first. */
    public synchronized Optional<Usage> latest(WorkloadId id) {
        Followed known = followed.get(id);
        return known == null ? Optional.empty() : Optional.ofNullable(known.latest);
    }

    /** The newest sample of each workload that has any. */
    public synchronized ImmutableSortedMap<WorkloadId, Usage> latest() {
        ImmutableSortedMap.Builder<WorkloadId, Usage> all = ImmutableSortedMap.naturalOrder();
        followed.forEach((id, known) -> {
            if (known.latest != null) {
                all.put(id, known.latest);
            }
        });
        return all.buildOrThrow();
    }

    /** All samples that have not been delivered. */
    public UsageReport report() {
        return report(Integer.MAX_VALUE);
    }

    /**
     * Samples that have not been delivered, the oldest first when there are many; the rest comes after this report was delivered.
     *
     * @param most samples per workload, at least 1
     */
    public synchronized UsageReport report(int most) {
        ImmutableListMultimap.Builder<WorkloadId, Usage> samples = ImmutableListMultimap.builder();
        ImmutableMap.Builder<WorkloadId, Long> last = ImmutableMap.builder();
        followed.forEach((id, known) -> {
            if (!known.ring.isEmpty()) {
                samples.putAll(id, known.ring.oldest(most));
                last.put(id, known.ring.last(most));
            }
        });
        return new UsageReport(samples.build(), last.buildOrThrow());
    }

    /** Drops what this report contains, because it has arrived. Reports may be delivered in any order. */
    public synchronized void delivered(UsageReport report) {
        report.last().forEach((id, number) -> {
            Followed known = followed.get(id);
            if (known != null) {
                known.ring.dropUpTo(number);
            }
        });
    }

    /** The time until the next {@link #sample}, as far as is known now; see {@link #follow}. */
    public synchronized Duration pause() {
        long now = ticker.read();
        long next = now + LONGEST_PAUSE.toNanos();
        long delayed = (Math.floorDiv(now, DELAY_OF_NEW.toNanos()) + 1) * DELAY_OF_NEW.toNanos();
        for (Followed each : followed.values()) {
            next = Math.min(next, each.due <= now ? delayed : each.due);
        }
        return Duration.ofNanos(Math.max(SHORTEST_PAUSE.toNanos(), next - now));
    }

    public void sample() {
        takeForgotten().forEach(workload -> workload.meter.close());
        Meter.Processes once = new ReadOnce(processes);
        for (Due due : due()) {
            if (due.moved()) {
                due.workload().meter.moved();
            }
            try {
                due.workload()
                        .meter
                        .measure(due.launches(), due.interval(), once)
                        .ifPresent(measured -> keep(due, measured));
                due.workload().failing = false;
            } catch (IOException e) {
                failed(due.workload(), e);
            }
        }
    }

    /** Looks at all processes once at most. */
    static final class ReadOnce implements Meter.Processes {
        private final ProcessTable.Reader processes;
        private @Nullable ProcessTable table;

        ReadOnce(ProcessTable.Reader processes) {
            this.processes = processes;
        }

        @Override
        public ProcessTable now() throws IOException {
            ProcessTable known = table;
            if (known == null) {
                known = processes.read();
                table = known;
            }
            return known;
        }

        @Override
        public ProcessTable of(Set<Long> pids) throws IOException {
            ProcessTable known = table;
            return known == null ? processes.read(pids) : known;
        }
    }

    private synchronized ImmutableList<Followed> takeForgotten() {
        ImmutableList<Followed> taken = ImmutableList.copyOf(forgotten);
        forgotten.clear();
        return taken;
    }

    private synchronized ImmutableList<Due> due() {
        long now = ticker.read();
        ImmutableList.Builder<Due> due = ImmutableList.builder();
        for (Followed each : followed.values()) {
            if (each.due <= now) {
                each.due = nextDue(now, each.how.interval());
                if (!each.launches.isEmpty()) {
                    due.add(new Due(each, each.launches, each.how.interval(), each.moved));
                    each.moved = false;
                }
            }
        }
        return due.build();
    }

    private synchronized void keep(Due due, Meter.Measured measured) {
        Followed workload = due.workload();
        Long used = measured.processorNanos();
        if (used == null || measured.nanos() <= 0 || workload.launches.isEmpty()) {
            return;
        }
        Instant now = clock.instant();
        Usage usage = new Usage(now, used * 100.0 / measured.nanos(), measured.memoryBytes());
        workload.latest = usage;
        workload.ring.add(numbers++, usage, workload.how.maxDatapoints());
    }

    /** Nothing waits for samples: the loop works from other observations. */
    private static void failed(Followed workload, IOException e) {
        if (workload.failing) {
            LOG.debug("[{}] still can't be sampled", workload.id, e);
        } else {
            LOG.warn("[{}] what it uses can't be sampled, and is tried again: {}", workload.id, e.getMessage());
            workload.failing = true;
        }
    }

    /** Not before half an interval has passed: over a shorter time the result is mostly chance. */
    private static long nextDue(long now, Duration interval) {
        long nanos = interval.toNanos();
        return (Math.floorDiv(now + nanos / 2, nanos) + 1) * nanos;
    }

    /** The newest undelivered samples of one workload, oldest first. */
    private static final class UsageRing {
        private record Numbered(long number, Usage usage) {}

        private final Deque<Numbered> samples = new ArrayDeque<>();

        /** @param most samples to keep, including this one */
        void add(long number, Usage usage, int most) {
            samples.add(new Numbered(number, usage));
            while (samples.size() > most) {
                samples.remove();
            }
        }

        boolean isEmpty() {
            return samples.isEmpty();
        }

        /** Number of the last of so many of the oldest samples. */
        long last(int most) {
            return most >= samples.size()
                    ? samples.getLast().number()
                    : samples.stream().skip(most - 1L).findFirst().orElseThrow().number();
        }

        ImmutableList<Usage> oldest(int most) {
            return samples.stream().limit(most).map(Numbered::usage).collect(ImmutableList.toImmutableList());
        }

        void dropUpTo(long number) {
            samples.removeIf(sample -> sample.number() <= number);
        }
    }
}
