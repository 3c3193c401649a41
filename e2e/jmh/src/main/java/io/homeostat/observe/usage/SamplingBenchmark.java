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
import io.homeostat.jmh.AsTheAgentRuns;
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
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What one sample of one workload costs, of a hundred real processes: in real control groups, by their two counters, and of the same
 * processes by a look at the whole machine. Needs root.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 1,
        jvmArgs = {AsTheAgentRuns.GC, AsTheAgentRuns.COMPILER, AsTheAgentRuns.HEAP, AsTheAgentRuns.NATIVE})
public class SamplingBenchmark {
    private static final int WORKLOADS = 100;
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final Path GROUPS = Path.of("/sys/fs/cgroup");

    @Param({"groups", "tree"})
    public String by = "";

    private final List<Process> processes = new ArrayList<>();
    private final List<Path> groups = new ArrayList<>();
    private final ProcFs procFs = new ProcFs();
    private long nanos;
    private UsageSampler sampler = sampler(CgroupLayout.NONE);

    @Setup
    public void start() throws IOException {
        CgroupLayout layout = by.equals("groups") ? layout() : CgroupLayout.NONE;
        sampler = sampler(layout);
        for (int i = 0; i < WORKLOADS; i++) {
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
            sampler.follow(id, new Metrics(INTERVAL, 60), ImmutableList.of(launch(id, process.pid())));
        }
    }

    private UsageSampler sampler(CgroupLayout layout) {
        return new UsageSampler(layout, procFs, Clock.systemUTC(), new Ticker() {
            @Override
            public long read() {
                return nanos;
            }
        });
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

    @Benchmark
    @OperationsPerInvocation(WORKLOADS)
    public void sample() {
        nanos += INTERVAL.toNanos();
        sampler.sample();
    }

    @TearDown
    public void end() throws IOException, InterruptedException {
        int sampled = sampler.latest().size();
        for (Process process : processes) {
            process.destroyForcibly();
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                throw new IOException("process " + process.pid() + " does not end");
            }
        }
        for (Path group : groups.reversed()) {
            Files.deleteIfExists(group);
        }
        if (sampled != WORKLOADS) {
            throw new IllegalStateException("only " + sampled + " of " + WORKLOADS + " were sampled");
        }
    }
}
