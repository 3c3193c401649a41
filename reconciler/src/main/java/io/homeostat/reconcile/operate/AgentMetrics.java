package io.homeostat.reconcile.operate;

import com.google.common.base.Ticker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Usage;
import io.homeostat.reconcile.loop.Next;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.plan.Outcome;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The agent's metrics in Prometheus' text format; fed by the passes, asked by whoever scrapes. The reconciler's README lists them all.
 *
 * <p>Labels are words of ours, of which there are few. Names of workloads are a label of three metrics only: restarts, whose series
 * ends when nothing is left of the workload, and what it uses, whose series ends when it does not run.
 */
public final class AgentMetrics implements PassListener {
    private static final Duration[] PASS_BUCKETS = {
        Duration.ofMillis(5),
        Duration.ofMillis(10),
        Duration.ofMillis(50),
        Duration.ofMillis(100),
        Duration.ofMillis(500),
        Duration.ofSeconds(1),
        Duration.ofSeconds(5),
        Duration.ofSeconds(30),
        Duration.ofMinutes(2)
    };

    private static final Duration[] CONVERGENCE_BUCKETS = {
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofSeconds(5),
        Duration.ofSeconds(15),
        Duration.ofMinutes(1),
        Duration.ofMinutes(5),
        Duration.ofMinutes(30),
        Duration.ofHours(4)
    };

    private enum Standing {
        CONVERGED,
        PROGRESSING,
        STUCK
    }

    /** How one workload stands, and since when it has not been at its desired state; null while it is. */
    private record Course(Standing standing, @Nullable Long since) {}

    private final Ticker ticker;
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Map<WorkloadId, Course> courses = new ConcurrentHashMap<>();
    private final Map<WorkloadId, Long> begun = new ConcurrentHashMap<>();
    private final Map<WorkloadId, Counter> restarts = new ConcurrentHashMap<>();
    private final MultiGauge cpu;
    private final MultiGauge memory;
    private volatile Supplier<? extends Map<WorkloadId, Usage>> usage = Map::of;
    private final Timer passTime;
    private final Timer convergenceTime;

    /** @param started when this process began */
    public AgentMetrics(Ticker ticker, String version, Instant started) {
        this.ticker = ticker;
        this.passTime = Timer.builder("homeostat.pass.duration")
                .description("How long a pass over one workload took, its step included.")
                .serviceLevelObjectives(PASS_BUCKETS)
                .register(registry);
        this.convergenceTime = Timer.builder("homeostat.convergence.duration")
                .description(
                        "From the pass that found a workload not at its desired state to the one that found it there.")
                .serviceLevelObjectives(CONVERGENCE_BUCKETS)
                .register(registry);
        this.cpu = MultiGauge.builder("homeostat.workload.cpu.percent")
                .description(
                        "Processor time of a workload's process tree over its last interval, in percent of one core.")
                .register(registry);
        this.memory = MultiGauge.builder("homeostat.workload.memory.bytes")
                .description("Memory of a workload's process tree.")
                .register(registry);
        gauge(
                "homeostat.convergence.lag.seconds",
                "How long the longest of them has not been at its desired state.",
                m -> m.lagSeconds());
        for (Standing standing : Standing.values()) {
            Gauge.builder("homeostat.workloads", this, m -> m.count(standing))
                    .description("Workloads by how they stand.")
                    .tag("state", word(standing))
                    .register(registry);
        }
        Gauge.builder("homeostat.build.info", () -> 1)
                .description("Always 1; the labels say what runs.")
                .tag("version", version)
                .tag("java", Runtime.version().toString())
                .register(registry);
        gauge(
                "process.start.time.seconds",
                "When the agent began, in seconds since 1970.",
                m -> started.toEpochMilli() / 1000.0);
        gauge("process.resident.memory.bytes", "Memory of the agent itself.", m -> SelfObserver.residentBytes());
        gauge("process.open.fds", "File descriptors the agent has open.", m -> SelfObserver.openDescriptors());
        gauge("process.max.fds", "File descriptors the agent may have open.", m -> SelfObserver.mostDescriptors());
        gauge("process.threads", "Threads of the agent, as the kernel counts.", m -> SelfObserver.threads());
        gauge("homeostat.heap.used.bytes", "Memory that the agent's objects take.", m -> (double)
                (Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()));
        gauge("homeostat.heap.max.bytes", "Memory that the agent's objects may take.", m ->
                (double) Runtime.getRuntime().maxMemory());
    }

    /** Shows how many workloads are due and have no pass yet. */
    public void queueDepth(LongSupplier depth) {
        supplied("homeostat.queue.depth", "Workloads that are due and have no pass yet.", depth::getAsLong);
    }

    /** Shows a source's problems: what it declares and can't be believed. */
    public void sourceProblems(String source, LongSupplier problems) {
        Gauge.builder("homeostat.source.problems", problems, p -> (double) p.getAsLong())
                .description("What of a source's declarations can't be used.")
                .tag("source", source)
                .strongReference(true)
                .register(registry);
    }

    /**
     * Shows what workloads use.
     *
     * @param latest sample of each that runs; asked at each scrape, so a series ends with its workload
     */
    public void usage(Supplier<? extends Map<WorkloadId, Usage>> latest) {
        usage = latest;
    }

    /** Shows how the control plane is reached; all zero where none is configured. */
    public void controlPlane(
            LongSupplier connected,
            LongSupplier unacknowledged,
            LongSupplier queuedEvents,
            LongSupplier droppedEvents) {
        supplied("homeostat.control.plane.connected", "1 while the control plane is connected.", connected::getAsLong);
        supplied(
                "homeostat.control.plane.unacknowledged",
                "Messages that the control plane has not acknowledged.",
                unacknowledged::getAsLong);
        supplied(
                "homeostat.control.plane.queued.events",
                "Events that the control plane has not acknowledged.",
                queuedEvents::getAsLong);
        FunctionCounter.builder("homeostat.control.plane.dropped.events", this, m -> droppedEvents.getAsLong())
                .description("Events that the control plane will never hear of, because there were too many.")
                .register(registry);
    }

    /** Shows whether {@code /healthz} is well. */
    public void watch(LoopWatch loop) {
        supplied(
                "homeostat.healthy",
                "1 while the loop goes round, 0 while it is stuck.",
                () -> loop.problem().isEmpty() ? 1 : 0);
    }

    /** Shows what the log has lost. */
    public void log(AgentLog log) {
        FunctionCounter.builder("homeostat.log.lines.dropped", log, AgentLog::dropped)
                .description("Lines of the agent's log that were lost because standard error was not read in time.")
                .register(registry);
    }

    @Override
    public void begun(PassId pass) {
        begun.put(pass.workload(), ticker.read());
        registry.counter("homeostat.pass.triggers", "trigger", pass.trigger().word())
                .increment();
    }

    @Override
    public void starting(Step step) {
        // Counted when it ends.
    }

    @Override
    public void finished(WorkloadId id, Next next) {
        long now = ticker.read();
        long from = begunAt(id, now);
        switch (next) {
            case Next.Settled(WorkloadPlan plan) -> {
                passed("settled", now - from);
                settled(id, plan, now);
            }
            case Next.Again(WorkloadPlan plan, Step step, Outcome outcome) -> {
                passed("stepped", now - from);
                stepped(id, plan, step, outcome);
                unsettled(id, Standing.PROGRESSING, from);
            }
            case Next.Later later -> {
                passed("waiting", now - from);
                unsettled(
                        id,
                        later.until().kind() == Step.Wait.Kind.PROGRESS ? Standing.PROGRESSING : Standing.STUCK,
                        from);
            }
        }
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        long now = ticker.read();
        long from = begunAt(id, now);
        passed("broken", now - from);
        unsettled(id, Standing.STUCK, from);
    }

    /** Everything, in Prometheus' text format. */
    public synchronized String scrape() {
        Map<WorkloadId, Usage> latest = usage.get();
        cpu.register(rows(latest, Usage::cpuPercent), true);
        memory.register(rows(latest, Usage::memoryBytes), true);
        return registry.scrape();
    }

    private static List<MultiGauge.Row<?>> rows(Map<WorkloadId, Usage> latest, ToDoubleFunction<Usage> value) {
        List<MultiGauge.Row<?>> rows = new ArrayList<>();
        latest.forEach((id, use) -> rows.add(MultiGauge.Row.of(Tags.of("workload", id.toString()), use, value)));
        return rows;
    }

    private long begunAt(WorkloadId id, long otherwise) {
        Long at = begun.remove(id);
        return at == null ? otherwise : at;
    }

    private void passed(String result, long nanos) {
        passTime.record(nanos, TimeUnit.NANOSECONDS);
        registry.counter("homeostat.passes", "result", result).increment();
    }

    private void settled(WorkloadId id, WorkloadPlan plan, long now) {
        boolean gone = plan.before() == null && plan.after() == null;
        @Nullable Course before = gone ? courses.remove(id) : courses.put(id, new Course(Standing.CONVERGED, null));
        if (before != null && before.since() != null) {
            convergenceTime.record(now - before.since(), TimeUnit.NANOSECONDS);
        }
        if (gone) {
            Counter series = restarts.remove(id);
            if (series != null) {
                registry.remove(series);
            }
        }
    }

    private void unsettled(WorkloadId id, Standing standing, long from) {
        courses.compute(
                id,
                (_, before) -> new Course(standing, before == null || before.since() == null ? from : before.since()));
    }

    private void stepped(WorkloadId id, WorkloadPlan plan, Step step, Outcome outcome) {
        boolean failed = outcome instanceof Outcome.Failed;
        registry.counter("homeostat.steps", "step", step.word(), "outcome", word(outcome))
                .increment();
        if (failed) {
            registry.counter("homeostat.failures", "step", step.word(), "reason", word(plan.reason()))
                    .increment();
        } else if (step instanceof Step.Launch && plan.reason().isDrift()) {
            restarts.computeIfAbsent(id, this::restarts).increment();
        }
    }

    private Counter restarts(WorkloadId id) {
        return Counter.builder("homeostat.restarts")
                .description("Processes that were started again because the machine was not as declared.")
                .tag("workload", id.toString())
                .register(registry);
    }

    private double lagSeconds() {
        long now = ticker.read();
        return courses.values().stream()
                        .map(Course::since)
                        .filter(since -> since != null)
                        .mapToLong(since -> now - since)
                        .max()
                        .orElse(0)
                / 1e9;
    }

    private double count(Standing standing) {
        return courses.values().stream()
                .filter(course -> course.standing() == standing)
                .count();
    }

    private void gauge(String name, String description, ToDoubleFunction<AgentMetrics> value) {
        Gauge.builder(name, this, value).description(description).register(registry);
    }

    private void supplied(String name, String description, Supplier<Number> value) {
        Gauge.builder(name, value).description(description).register(registry);
    }

    private static String word(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Done done -> "done";
            case Outcome.Failed failed -> "failed";
            case Outcome.Unsupported unsupported -> "unsupported";
            case Outcome.Interrupted interrupted -> "interrupted";
        };
    }

    private static String word(Enum<?> word) {
        return word.name().toLowerCase(Locale.ROOT);
    }
}
