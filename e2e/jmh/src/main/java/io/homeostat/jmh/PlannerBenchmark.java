package io.homeostat.jmh;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Neighbours;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Relations;
import io.homeostat.reconcile.plan.Remembered;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/** Who has to do with whom, and a plan for each of ten thousand workloads, of which all or none run as declared. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 1,
        jvmArgs = {AsTheAgentRuns.GC, AsTheAgentRuns.COMPILER, AsTheAgentRuns.HEAP, AsTheAgentRuns.NATIVE})
public class PlannerBenchmark {
    private static final int WORKLOADS = 10_000;
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final HostFacts HOST = HostFacts.of("boot", "instance");

    @Param({"converged", "new"})
    public String state = "";

    private DesiredState desired = DesiredState.EMPTY;
    private final List<Situation> situations = new ArrayList<>();
    private final Map<WorkloadId, Remembered> memory = new LinkedHashMap<>();

    @Setup
    public void declare() {
        boolean converged = state.equals("converged");
        ImmutableSortedMap.Builder<WorkloadId, Declaration> declarations = ImmutableSortedMap.naturalOrder();
        for (Workload workload : Documents.read(Documents.texts(WORKLOADS)).declared()) {
            Declaration declaration =
                    new Declaration(workload, SourceName.FILES, 1, "hash-" + workload.id(), ImmutableList.of());
            declarations.put(workload.id(), declaration);
            situations.add(situation(declaration, converged));
        }
        desired = new DesiredState(declarations.build());
        Action wanted = converged ? Action.NONE : Action.INSTALL;
        situations.forEach(situation -> require(wanted, Planner.plan(situation)));
    }

    private static void require(Action wanted, WorkloadPlan plan) {
        if (plan.action() != wanted) {
            throw new IllegalStateException("not " + wanted + ", but " + plan);
        }
    }

    private Situation situation(Declaration declared, boolean converged) {
        WorkloadId id = declared.id();
        WorkloadHistory history = WorkloadHistory.NONE.withAttempts(1, Attempts.of(declared.hash()));
        ObservedWorkload seen = ObservedWorkload.absent(id);
        ImmutableList<Instance> instances = ImmutableList.of();
        if (converged) {
            ProcessIdentity process = new ProcessIdentity(4711, 1, "boot");
            Instance instance = new Instance(
                    "launch-" + id.name(),
                    id,
                    declared.hash(),
                    declared.workload().revision(),
                    null,
                    LaunchInputs.of(declared.workload()),
                    NOW.minusSeconds(60),
                    process,
                    Phase.STARTED,
                    "");
            instances = ImmutableList.of(instance);
            ObservedInstance running = new ObservedInstance(
                    instance, true, new Liveness.Running(process, Duration.ofHours(1), true, null));
            ObservedLimits limits = new ObservedLimits(
                    Objects.requireNonNull(declared.workload().lifecycle().limits()),
                    ImmutableSortedSet.of(),
                    LimitObstacles.NONE);
            seen = new ObservedWorkload(
                    id,
                    Observation.seen(ImmutableList.of()),
                    Observation.seen(Optional.empty()),
                    Observation.seen(ImmutableList.of(running)),
                    Observation.seen(limits),
                    Observation.seen(false));
        }
        memory.put(id, new Remembered(history, instances, null));
        return new Situation(
                declared,
                DesiredState.Policy.NONE,
                seen,
                HOST,
                Relations.NONE,
                ImmutableSet.of(),
                history,
                null,
                Checks.NONE,
                7,
                NOW);
    }

    @Benchmark
    public void plan(Blackhole plans) {
        DependencyGraph graph = new DependencyGraph(desired, ImmutableMap::of);
        Neighbours neighbours = new Neighbours(
                id -> Objects.requireNonNull(memory.get(id)), instance -> false, id -> false, id -> false);
        for (Situation one : situations) {
            Relations relations = graph.of(one.id(), HOST, one.history(), neighbours, ending -> false);
            plans.consume(Planner.plan(new Situation(
                    one.declared(),
                    one.policy(),
                    one.seen(),
                    one.host(),
                    relations,
                    one.archives(),
                    one.history(),
                    one.pause(),
                    one.checks(),
                    one.seed(),
                    one.now())));
        }
    }
}
