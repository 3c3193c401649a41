package io.homeostat.observe.usage;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Lifecycle.Metrics;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Times samples of real processes: in real control groups, by their two counters, and of the same processes by a look at the whole
 * machine. Exits with 1 when a sample in groups costs more than its bound.
 */
final class SamplingBenchmark implements AutoCloseable {
    private static final double BOUND_MILLIS = 0.05;
    private static final int WARM_UP = 100;
    private static final int ROUNDS = 300;
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final Path GROUPS = Path.of("/sys/fs/cgroup");

    private final List<Process> processes = new ArrayList<>();
    private final List<Path> groups = new ArrayList<>();
    private final ProcFs procFs = new ProcFs();
    private long nanos;

    private SamplingBenchmark() {}

    /** The number of workloads is the only argument. */
    public static void main(String[] arguments) throws Exception {
        boolean kept;
        try (SamplingBenchmark benchmark = new SamplingBenchmark()) {
            kept = benchmark.measure(Integer.parseInt(arguments[0]));
        }
        System.exit(kept ? 0 : 1);
    }

    private boolean measure(int workloads) throws IOException {
        CgroupLayout layout = layout();
        ImmutableList.Builder<Instance> launches = ImmutableList.builder();
        for (int i = 0; i < workloads; i++) {
            Process process = new ProcessBuilder("/bin/sleep", "3600").start();
            processes.add(process);
            WorkloadId id = WorkloadId.process("bench-" + i);
            for (CgroupHierarchy hierarchy : layout.hierarchies()) {
                Path group = hierarchy.group(id);
                if (!groups.contains(hierarchy.home())) {
                    groups.add(hierarchy.home());
                }
                groups.add(Files.createDirectories(group));
                Files.writeString(group.resolve("cgroup.procs"), Long.toString(process.pid()));
            }
            launches.add(launch(id, process.pid()));
        }
        ImmutableList<Instance> all = launches.build();
        double grouped = millis(layout, all);
        double tree = millis(CgroupLayout.NONE, all);
        boolean kept = grouped <= BOUND_MILLIS;
        System.out.printf(
                Locale.ROOT,
                "a sample in %s: %.4f ms, bound %.2f ms, %s%n",
                layout.hierarchies().stream().map(CgroupHierarchy::home).toList(),
                grouped,
                BOUND_MILLIS,
                kept ? "kept" : "BROKEN");
        System.out.printf(
                Locale.ROOT,
                "a sample by the tree: %.4f ms of %d workloads, %.2f ms for all at once, of %d processes%n",
                tree,
                workloads,
                tree * workloads,
                procFs.table().size());
        return kept;
    }

    /** Wherever both counters are: version 2, else version 1, in groups of this benchmark's own. */
    private static CgroupLayout layout() {
        if (Files.exists(GROUPS.resolve("cgroup.controllers"))) {
            return CgroupLayout.detect(GROUPS, Path.of("/no-proc"), "homeostat-bench");
        }
        return new CgroupLayout(ImmutableList.of(first("cpuacct"), first("memory")));
    }

    private static CgroupHierarchy first(String controller) {
        return new CgroupHierarchy(
                Version.V1,
                ImmutableSet.of(),
                GROUPS.resolve(controller).resolve("homeostat-bench"),
                ImmutableList.of(),
                ImmutableList.of());
    }

    /** Of one sample, in the median of all rounds. */
    private double millis(CgroupLayout layout, ImmutableList<Instance> launches) {
        UsageSampler sampler = new UsageSampler(layout, procFs, Clock.systemUTC(), new Ticker() {
            @Override
            public long read() {
                return nanos;
            }
        });
        Metrics how = new Metrics(INTERVAL, 60);
        launches.forEach(launch -> sampler.follow(launch.workload(), how, ImmutableList.of(launch)));
        double[] rounds = new double[ROUNDS];
        for (int i = -WARM_UP; i < ROUNDS; i++) {
            nanos += INTERVAL.toNanos();
            long begun = System.nanoTime();
            sampler.sample();
            if (i >= 0) {
                rounds[i] = (System.nanoTime() - begun) / 1e6 / launches.size();
            }
        }
        if (sampler.latest().size() != launches.size()) {
            throw new IllegalStateException(
                    "only " + sampler.latest().size() + " of " + launches.size() + " were sampled");
        }
        Arrays.sort(rounds);
        return rounds[ROUNDS / 2];
    }

    private Instance launch(WorkloadId id, long pid) throws IOException {
        return new Instance(
                "launch-" + id.name(),
                id,
                "target",
                "A",
                null,
                ImmutableSortedMap.of(),
                Instant.EPOCH,
                new ProcessIdentity(pid, procFs.stat(pid).orElseThrow().startTicks(), procFs.bootId()),
                Phase.STARTED,
                "");
    }

    @Override
    public void close() throws IOException, InterruptedException {
        for (Process process : processes) {
            process.destroyForcibly();
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                throw new IOException("process " + process.pid() + " does not end");
            }
        }
        for (Path group : groups.reversed()) {
            Files.deleteIfExists(group);
        }
    }
}
